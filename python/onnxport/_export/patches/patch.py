"""A patch: functions that PyTorch cannot trace, and traceable ones that return the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxport import _errors

Function = Callable[..., Any]


class Patch:
    """Replacements for functions that PyTorch cannot trace.

    ::

        patch = onnxport.Patch("mylib-pad", reason="`pad_to` loops over lengths")

        @patch.replaces("mylib.ops.pad_to")
        def pad_to(original, x, lengths):
            ...

        onnxport.register_patch(patch)

    A replacement receives the original function, then the arguments of the call. It must return
    the same as the original for every input that it accepts, and `NotImplemented` for a call that
    it leaves to the original.
    """

    def __init__(self, name: str, *, reason: str, version: int = 1) -> None:
        """Name a patch.

        Args:
            name: Its name in `patches=` and in reports.
            reason: Why PyTorch cannot trace the original, as a sentence for the report.
            version: To be increased whenever the traced program changes.
        """
        if not name or not reason:
            raise _errors.usage("a patch needs a name and a reason")
        self.name = name
        self.reason = reason
        self.version = version
        self._functions: dict[str, Function] = {}

    @property
    def functions(self) -> Mapping[str, Function]:
        """The replacements by the dotted paths of the originals."""
        return self._functions

    def replaces(self, *paths: str) -> Callable[[Function], Function]:
        """Decorate the replacement for the functions at `paths`, such as `torch.nn.LSTM.forward`.

        It is called instead of the original wherever modules refer to that by a global name or an
        attribute of a class.
        """
        if not paths or not all(isinstance(path, str) and "." in path for path in paths):
            raise _errors.usage("`replaces` takes the dotted paths of functions")

        def decorate(function: Function) -> Function:
            self._functions.update(dict.fromkeys(paths, function))
            return function

        return decorate

    def __repr__(self) -> str:
        return f"Patch({self.name!r}, version={self.version})"


@dataclass(frozen=True)
class Used:
    """A patch that a capture used: its name and version, the reason, and the replaced functions."""

    name: str
    version: int
    reason: str
    functions: tuple[str, ...]

    def __str__(self) -> str:
        functions = ", ".join(f"`{path}`" for path in self.functions)
        return f"patch `{self.name}` (version {self.version}) replaced {functions}: {self.reason}"
