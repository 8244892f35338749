"""PyTorch's logs about attempts whose failures are reported anyway."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import torch

_TORCH = os.path.dirname(torch.__file__)
_LOGGING = os.path.dirname(logging.__file__)


class _Stream:
    """The standard error, without PyTorch's own output from one thread."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """Write `text`, unless PyTorch does."""
        if threading.get_ident() == self._thread and _is_torch(sys._getframe(1)):
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _is_torch(frame: Any) -> bool:
    """Whether PyTorch writes, by itself or through `logging`."""
    while frame is not None and frame.f_code.co_filename.startswith(_LOGGING):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_TORCH)


@contextlib.contextmanager
def quiet(active: bool = True) -> Iterator[None]:
    """Keep PyTorch from writing to the standard error; output of the user's code stays."""
    if not active or sys.stderr is None:
        yield
        return
    with contextlib.redirect_stderr(_Stream(sys.stderr)):
        yield
