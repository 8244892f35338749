"""The modules that become local functions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from onnxport import _commands, _errors


def selected(functions: Any, as_torch: Any) -> str | list[str] | None:
    """Return the option `functions` of a call, also from `export_modules_as_functions`.

    None leaves the choice to the file of options.
    """
    if functions is None:
        if as_torch is False:
            return None
        return "auto" if as_torch is True else _names(as_torch, "export_modules_as_functions")
    if as_torch:
        message = "`functions` and `export_modules_as_functions` select modules both"
        raise _errors.usage(message, "pass `functions` only")
    return functions if isinstance(functions, str) else _names(functions, "functions")


def name(kind: type) -> str:
    """Return the name of a class as exported programs record it."""
    return _commands.text(kind)


def _names(kinds: Any, argument: str) -> list[str]:
    if not isinstance(kinds, Collection) or isinstance(kinds, (str, bytes)):
        message = f"`{argument}={kinds!r}` is not a collection of classes"
        raise _errors.usage(message, 'pass `functions="auto"` or a list of classes of modules')
    for kind in kinds:
        if not isinstance(kind, (str, type)):
            message = f"`{argument}` has a {type(kind).__name__} where a class is expected"
            raise _errors.usage(message, "pass classes of modules or their names")
    # A set has no order of its own.
    names = [kind if isinstance(kind, str) else name(kind) for kind in kinds]
    return sorted(set(names))
