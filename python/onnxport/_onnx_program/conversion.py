"""The way into the extension module: programs that are to be converted."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _errors

if TYPE_CHECKING:
    from onnxport import _native
    from onnxport._export.serialize import Parts

Source = Callable[[Mapping[str, Any]], "_native.Model"]


@contextlib.contextmanager
def public_errors() -> Iterator[None]:
    """Turn the errors of the extension module into those of the package."""
    from onnxport import _native

    try:
        yield
    except _native.Error as error:
        _errors.raise_native(error)


def of_file(path: Path, plugins: Sequence[str] = ()) -> Source:
    """Return what converts the program at `path`."""
    from onnxport import _native

    with public_errors():
        return _source(_native.Conversion.open(path), plugins)


def of_parts(parts: Parts, dims: Mapping[str, str], plugins: Sequence[str] = ()) -> Source:
    """Return what converts a program in memory, with names for some of its symbols."""
    from onnxport import _native
    from onnxport._export import serialize

    with public_errors():
        given = serialize.native(parts, _native.Tensor)
        return _source(_native.Conversion.from_parts(**given, dims=dict(dims)), plugins)


def _source(conversion: _native.Conversion, plugins: Sequence[str]) -> Source:
    def convert(options: Mapping[str, Any]) -> _native.Model:
        # What a model computes is compared on this side, where the module is.
        given = {"verify": False, **named(options)}
        if plugins:
            given["plugin"] = [*plugins, *given.get("plugin", ())]
        with public_errors():
            return conversion.run(json.dumps(given))

    return convert


def named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by the names that the command has for them."""
    return {{"optimize": "optimise"}.get(name, name): value for name, value in options.items()}
