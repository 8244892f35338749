"""The way into the extension module: programs that are to be converted, again if need be."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from onnxport import _errors
from onnxport._operators import functions
from onnxport._operators.functions import Custom

if TYPE_CHECKING:
    from onnxport import _native
    from onnxport._export.serialize import Parts


@contextlib.contextmanager
def public_errors(
    functions: _native.Functions | None = None, called: Collection[str] = ()
) -> Iterator[None]:
    """Turn the errors of the extension module into those of the package.

    An exception in a Python function is their cause; `called` are the operators that one lowered.
    """
    from onnxport import _native

    try:
        yield
    except _native.Error as error:
        raised = functions.take_raised() if functions is not None else []
        _errors.raise_native(error, next(iter(raised), None), called)


class Source(Protocol):
    """A program that can be converted."""

    def convert(self, options: Mapping[str, Any]) -> _native.Model:
        """Convert it with options of `export`."""

    @property
    def most_bytes(self) -> int:
        """The most bytes that its weights take."""

    @property
    def waits(self) -> bool:
        """Whether some of its weights have no data."""

    def renamed(self, names: Mapping[str, str], axes: Mapping[str, tuple[str, int]]) -> Source:
        """Return it with renamed dimensions; `axes` has their positions in inputs."""

    def reweighted(self, weights: Mapping[str, Any]) -> tuple[Source, list[str]]:
        """Return it with other tensors, and the names that it does not have."""

    def with_files(self, paths: Sequence[str]) -> Source:
        """Return it with the weights of files."""

    def with_functions(self, rules: Sequence[Any], passes: Sequence[Any]) -> Source:
        """Return it with further rules and passes."""


@dataclass(frozen=True)
class _Options:
    plugins: tuple[str, ...] = ()
    custom: Custom = field(default_factory=Custom)
    files: tuple[str, ...] = ()
    dims: tuple[tuple[str, int, str], ...] = ()

    def run(
        self, conversion: _native.Conversion, options: Mapping[str, Any], **more: Any
    ) -> _native.Model:
        """Convert a program with options of the command, and the user's Python functions."""
        with _errors.arguments():
            called: set[str] = set()
            given = functions.collect(self.custom, called)
            text = self.text(options, **more)
        with public_errors(given, called):
            return conversion.run(text, functions=given)

    def text(self, options: Mapping[str, Any], **more: Any) -> str:
        """Return options of the command in JSON."""
        # Results are compared on this side, where the module is.
        given = {"verify": False, **options, **more}
        for option, values in (
            ("plugin", self.plugins),
            ("weights", self.files),
            ("dim", self.dims),
        ):
            if values:
                given[option] = [*given.get(option, ()), *values]
        return json.dumps(given)


@dataclass(frozen=True)
class FileSource:
    """A program in a file."""

    path: Path
    options: _Options = field(default_factory=_Options)

    @cached_property
    def _conversion(self) -> _native.Conversion:
        from onnxport import _native

        with public_errors():
            return _native.Conversion.open(self.path)

    def convert(self, options: Mapping[str, Any]) -> _native.Model:
        """Convert it."""
        return self.options.run(self._conversion, options)

    @property
    def most_bytes(self) -> int:
        """The most bytes that its weights take."""
        return sum(os.stat(path).st_size for path in (self.path, *self.options.files))

    waits = False

    def renamed(self, names: Mapping[str, str], axes: Mapping[str, tuple[str, int]]) -> FileSource:
        """Return it with other names for dimensions, which have to be axes of inputs."""
        dims = [(*axes[old], new) for old, new in names.items() if old in axes]
        kept = [dim for dim in self.options.dims if dim[2] not in names]
        return self._with(dims=(*kept, *dims))

    def reweighted(self, weights: Mapping[str, Any]) -> tuple[Source, list[str]]:
        """Return it with other tensors, and the names that it does not have."""
        import torch

        from onnxport._export import serialize, shapes

        program = torch.export.load(self.path)
        named = shapes.names(program, shapes.Wanted((None,)))
        source = PartsSource(serialize.parts(program), named, self.options)
        return source.reweighted(weights)

    def with_files(self, paths: Sequence[str]) -> FileSource:
        """Return it with the weights of files."""
        return self._with(files=tuple(paths))

    def with_functions(self, rules: Sequence[Any], passes: Sequence[Any]) -> FileSource:
        """Return it with further rules and passes."""
        return self._with(custom=self.options.custom.more(rules, passes))

    def _with(self, **changed: Any) -> FileSource:
        return FileSource(self.path, dataclasses.replace(self.options, **changed))


@dataclass(frozen=True)
class PartsSource:
    """A program in memory, with names for its symbols."""

    parts: Parts
    dims: Mapping[str, str]
    options: _Options = field(default_factory=_Options)

    @cached_property
    def _conversion(self) -> _native.Conversion:
        from onnxport import _native
        from onnxport._export import serialize

        given = serialize.native(self.parts, _native.Tensor)
        with public_errors():
            return _native.Conversion.from_parts(**given, dims=dict(self.dims))

    def convert(self, options: Mapping[str, Any]) -> _native.Model:
        """Convert it."""
        more = {"weightless": True} if self.waits and not self.options.files else {}
        return self.options.run(self._conversion, options, **more)

    @property
    def most_bytes(self) -> int:
        """The most bytes that its weights take."""
        tensors = [*self.parts.weights.values(), *self.parts.constants.values()]
        files = sum(os.stat(path).st_size for path in self.options.files)
        return files + sum(one.dense_bytes for one in tensors if one is not None)

    @property
    def waits(self) -> bool:
        """Whether some of its weights have no data."""
        return any(tensor is None for tensor in self.parts.weights.values())

    def renamed(self, names: Mapping[str, str], axes: Mapping[str, tuple[str, int]]) -> PartsSource:
        """Return it with other names for dimensions."""
        dims = {symbol: names.get(name, name) for symbol, name in self.dims.items()}
        dims |= {old: new for old, new in names.items() if old not in self.dims.values()}
        return dataclasses.replace(self, dims=dims)

    def reweighted(self, weights: Mapping[str, Any]) -> tuple[PartsSource, list[str]]:
        """Return it with other tensors, and the names that it does not have."""
        from onnxport._export import serialize

        changed, strangers = serialize.replaced(self.parts, weights)
        return dataclasses.replace(self, parts=changed), strangers

    def with_files(self, paths: Sequence[str]) -> PartsSource:
        """Return it with the weights of files."""
        return self._with(files=tuple(paths))

    def with_functions(self, rules: Sequence[Any], passes: Sequence[Any]) -> PartsSource:
        """Return it with further rules and passes."""
        return self._with(custom=self.options.custom.more(rules, passes))

    def _with(self, **changed: Any) -> PartsSource:
        return dataclasses.replace(self, options=dataclasses.replace(self.options, **changed))


def of_file(path: Path, plugins: Sequence[str] = (), custom: Custom | None = None) -> FileSource:
    """Return the program at `path`, with its own functions."""
    return FileSource(path, _Options(tuple(plugins), custom or Custom()))


def of_parts(
    parts: Parts,
    dims: Mapping[str, str],
    plugins: Sequence[str] = (),
    custom: Custom | None = None,
) -> PartsSource:
    """Return a program in memory, with names for some of its symbols and its own functions."""
    return PartsSource(parts, dims, _Options(tuple(plugins), custom or Custom()))
