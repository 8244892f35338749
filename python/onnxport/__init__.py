"""PyTorch models as ONNX.

`export` takes the place of `torch.onnx.export`. Nothing is loaded before it is used: neither
PyTorch nor NumPy nor the library itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxport import testing
    from onnxport._diagnostics import Diagnostic
    from onnxport._errors import (
        CaptureError,
        Error,
        FileError,
        InternalError,
        MismatchError,
        UnsupportedError,
        UnverifiedError,
        UsageError,
    )
    from onnxport._export.api import export
    from onnxport._observe import Observer, observe
    from onnxport._onnx_program import ONNXProgram
    from onnxport._program import SaveError
    from onnxport._save import Inputs, save
    from onnxport._sidecar import SIDECAR_FORMAT, sidecar_path

# Where each name comes from.
_PLACES = {
    "Diagnostic": "_diagnostics",
    "CaptureError": "_errors",
    "Error": "_errors",
    "FileError": "_errors",
    "InternalError": "_errors",
    "MismatchError": "_errors",
    "UnsupportedError": "_errors",
    "UnverifiedError": "_errors",
    "UsageError": "_errors",
    "export": "_export.api",
    "Observer": "_observe",
    "observe": "_observe",
    "ONNXProgram": "_onnx_program",
    "SaveError": "_program",
    "Inputs": "_save",
    "save": "_save",
    "SIDECAR_FORMAT": "_sidecar",
    "sidecar_path": "_sidecar",
}

__all__ = [
    "SIDECAR_FORMAT",
    "CaptureError",
    "Diagnostic",
    "Error",
    "FileError",
    "Inputs",
    "InternalError",
    "MismatchError",
    "ONNXProgram",
    "Observer",
    "SaveError",
    "UnsupportedError",
    "UnverifiedError",
    "UsageError",
    "export",
    "observe",
    "save",
    "sidecar_path",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        found = getattr(importlib.import_module(f"onnxport.{_PLACES[name]}"), name)
    elif name == "testing":
        found = importlib.import_module("onnxport.testing")
    else:
        raise AttributeError(f"module 'onnxport' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
