"""One capture at a time, during which modules are told that they are exported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch

_LOCK = threading.RLock()


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Keep other threads from capturing: PyTorch's tracers share state across threads.

    The thread that holds this may enter it again.
    """
    with _LOCK:
        yield


@contextlib.contextmanager
def in_onnx_export() -> Iterator[None]:
    """Have `torch.onnx.is_in_onnx_export()` return True, under every tracer.

    PyTorch keeps the answers in private attributes, which another release may not have.
    """
    with exclusive(), contextlib.ExitStack() as stack:
        if flags := _flags():
            stack.callback(setattr, flags, "_is_onnx_exporting", flags._is_onnx_exporting)
            flags._is_onnx_exporting = True
        table = _constants_of_dynamo()
        asked = torch.onnx.is_in_onnx_export
        if asked in table:
            stack.callback(table.__setitem__, asked, table[asked])
            table[asked] = True
        yield


def _flags() -> Any:
    try:
        from torch.onnx._internal.exporter import _flags
    except ImportError:
        return None
    return _flags if hasattr(_flags, "_is_onnx_exporting") else None


def _constants_of_dynamo() -> dict[Any, Any]:
    """Return the functions with the constants that strict export uses instead of calling them."""
    try:
        from torch._dynamo.variables.torch import tracing_state_functions
    except ImportError:
        return {}
    return tracing_state_functions()
