"""Source lines of helpers: PyTorch records only frames of `forward`."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.fx.proxy import TracerBase

from onnxport import _guards

_FILTER = "_filter_traceback_frames"
_TORCH = os.path.dirname(torch.__file__) + os.sep
_STANDARD = os.path.dirname(os.__file__) + os.sep
_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
_PATCHES = os.path.join(os.path.dirname(__file__), "patches") + os.sep


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Record the lines of guards, and the frames of functions that modules call.

    PyTorch keeps the filter in a private attribute, which another release may not have.
    """
    with _guards.located(_called), _of_calls():
        yield


@contextlib.contextmanager
def _of_calls() -> Iterator[None]:
    known = getattr(TracerBase, _FILTER, None)
    if known is None:
        yield
        return

    def frames(tracer: Any, stack: traceback.StackSummary) -> traceback.StackSummary:
        chosen = set(map(id, [*known(tracer, stack), *_called(stack)]))
        return traceback.StackSummary.from_list(frame for frame in stack if id(frame) in chosen)

    setattr(TracerBase, _FILTER, frames)
    try:
        yield
    finally:
        setattr(TracerBase, _FILTER, known)


def _called(stack: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """Return the frames of the module, which onnxport calls: those of the user and of libraries."""
    own = (index for index, frame in enumerate(stack) if _is_of_export(frame.filename))
    called = max(own, default=len(stack))
    return [frame for frame in stack[called + 1 :] if _is_users(frame.filename)]


def _is_of_export(path: str) -> bool:
    """Tell whether a file calls the user's code; patches are called by it."""
    return path.startswith(_OWN) and not path.startswith(_PATCHES)


def _is_users(path: str) -> bool:
    """Tell whether a file belongs to the user, or to a library that they installed."""
    if path.startswith((_TORCH, _OWN, "<")):
        return False
    return "site-packages" in path or not path.startswith(_STANDARD)
