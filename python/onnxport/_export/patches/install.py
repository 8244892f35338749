"""Installs patches in the modules that are loaded, and takes them out again."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from onnxport._export.patches.patch import Function, Patch, Used


class Uses:
    """The replacements that were called, in order."""

    def __init__(self) -> None:
        self._calls: dict[tuple[Patch, str], None] = {}

    def add(self, patch: Patch, path: str) -> None:
        """Record a call."""
        self._calls[patch, path] = None

    def summary(self) -> tuple[Used, ...]:
        """Return the patches that were used."""
        paths: dict[Patch, list[str]] = {}
        for patch, path in self._calls:
            paths.setdefault(patch, []).append(path)
        return tuple(
            Used(patch.name, patch.version, patch.reason, tuple(found))
            for patch, found in paths.items()
        )


@contextlib.contextmanager
def installed(patches: Sequence[Patch]) -> Iterator[Uses]:
    """Replace the functions of `patches` for calls of this thread, as long as this lasts.

    Libraries that are not loaded stay so: a model cannot call them.
    """
    uses = Uses()
    with contextlib.ExitStack() as stack:
        for patch in patches:
            for path, function in patch.functions.items():
                if (owner := _owner(path)) is not None:
                    name = path.rpartition(".")[2]
                    # A static method of a class is not what an access to it returns.
                    look = inspect.getattr_static if isinstance(owner, type) else getattr
                    original = look(owner, name)
                    replacement = _replacement(original, patch, path, function, uses)
                    _replace(stack, owner, name, original, replacement)
        yield uses


def _owner(path: str) -> Any:
    """Return the module or class that has the function at `path`, None where there is none."""
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        owner: Any = sys.modules.get(".".join(parts[:count]))
        if owner is None:
            continue
        for name in parts[count:-1]:
            owner = getattr(owner, name, None)
        if owner is not None and hasattr(owner, parts[-1]):
            return owner
    return None


def _replacement(original: Any, patch: Patch, path: str, function: Function, uses: Uses) -> Any:
    is_static = isinstance(original, staticmethod)
    called = original.__func__ if is_static else original
    thread = threading.get_ident()

    # A builtin function has no signature of its own to copy.
    @functools.wraps(called, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def replacement(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            try:
                result = function(called, *args, **kwargs)
            except BaseException:
                uses.add(patch, path)
                raise
            if result is not NotImplemented:
                uses.add(patch, path)
                return result
        return called(*args, **kwargs)

    return staticmethod(replacement) if is_static else replacement


def _replace(
    stack: contextlib.ExitStack, owner: Any, name: str, original: Any, replacement: Any
) -> None:
    if isinstance(owner, type):
        own = name in vars(owner)
        setattr(owner, name, replacement)
        stack.callback(setattr, owner, name, original) if own else stack.callback(
            delattr, owner, name
        )
        return
    # `from library import function` makes further references to it.
    for module in list(sys.modules.values()):
        try:
            names = [key for key, value in vars(module).items() if value is original]
        except TypeError:
            continue
        for key in names:
            setattr(module, key, replacement)
            stack.callback(setattr, module, key, original)
