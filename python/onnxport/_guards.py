"""The lines of code that asked for the guards of a program.

PyTorch knows a guard's line while it captures, and drops it when it saves.
"""

from __future__ import annotations

import contextlib
import functools
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._guards import SLoc, TracingContext
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv, ShapeGuardPythonPrinter

from onnxport._program import shape_env

_TORCH = os.path.dirname(torch.__file__) + os.sep
_LOCATE = "_get_sloc"


class _Located(SLoc):
    """The location of a guard, with all frames of the user's code."""

    trace: str = ""


@contextlib.contextmanager
def located(called: Callable[[Sequence[traceback.FrameSummary]], list[Any]]) -> Iterator[None]:
    """Record the frames of the module with each guard: those of the stack that `called` returns.

    PyTorch records the innermost one, also where that is its own. It does so in a private method,
    which another release may not have.
    """
    original = getattr(ShapeEnv, _LOCATE, None)
    if original is None:
        yield
        return

    @functools.wraps(original)
    def locate(env: Any, *args: Any, **kwargs: Any) -> SLoc:
        given = original(env, *args, **kwargs)
        # Strict capture runs no frames of the user's; it knows those that it interprets.
        stack = [*traceback.extract_stack()[:-1], *TracingContext.extract_stack()]
        frames = called(stack)
        # The frame that PyTorch found is this one.
        location = _Located(frames[-1] if frames else None, given.maybe_user_loc)
        location.trace = "".join(traceback.format_list(frames))
        return location

    setattr(ShapeEnv, _LOCATE, locate)
    try:
        yield
    finally:
        setattr(ShapeEnv, _LOCATE, original)


def traces(program: ExportedProgram) -> dict[str, str]:
    """Return a stack trace for each guard whose line is known; none for a loaded program."""
    env = shape_env(program)
    sources = getattr(env, "var_to_sources", {})
    printer = ShapeGuardPythonPrinter(sources, lambda source: source.name, sources)
    texts = set(program._guards_code)
    found: dict[str, str] = {}
    for guard in getattr(env, "guards", ()):
        if not guard.expr.free_symbols.issubset(sources):
            continue
        text = printer.doprint(guard.expr)
        if text in texts and (trace := _trace(guard.sloc)):
            found.setdefault(text, trace)
    return found


def _trace(location: SLoc) -> str:
    if isinstance(location, _Located):
        return location.trace
    frame = location.framework_loc
    if isinstance(frame, traceback.FrameSummary) and not frame.filename.startswith((_TORCH, "<")):
        return "".join(traceback.format_list([frame]))
    return ""
