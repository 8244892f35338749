"""PyTorch models as ONNX.

`export` replaces `torch.onnx.export`. Nothing is loaded before it is used: neither PyTorch nor
NumPy nor the library itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxport import testing
    from onnxport._commands import (
        bisect,
        check,
        convert,
        diff,
        draw,
        explain,
        inspect,
        llm,
        ops,
        optimize,
        package,
        plugin_check,
        plugin_info,
        plugin_list,
        plugin_new,
        profile,
        report,
        rules,
        run,
        verify,
        weights_bind,
    )
    from onnxport._diagnostics import Diagnostic, SourceLine, Suggestion
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
    from onnxport._export.patches import Patch, register_patch
    from onnxport._intermediates import record_intermediates
    from onnxport._map import Outcome, Outcomes, Request, map
    from onnxport._native import Block, Dim, Emitter, Graph, Nested, Node, Value
    from onnxport._observe import Observer, observe
    from onnxport._onnx_program import ONNXProgram, save_package
    from onnxport._operators.dtype import DType
    from onnxport._operators.refusal import Refusal
    from onnxport._operators.registry import lowering
    from onnxport._operators.rules import Pass, Rule, graph_pass, rule
    from onnxport._pieces import Pieces, pieces
    from onnxport._program import SaveError
    from onnxport._save import Inputs, save
    from onnxport._sidecar import SIDECAR_FORMAT, sidecar_path

# The module of each name.
_PLACES = {
    "bench": "_commands",
    "bisect": "_commands",
    "check": "_commands",
    "convert": "_commands",
    "diff": "_commands",
    "draw": "_commands",
    "explain": "_commands",
    "inspect": "_commands",
    "legal": "_commands",
    "llm": "_commands",
    "ops": "_commands",
    "optimize": "_commands",
    "package": "_commands",
    "partition": "_commands",
    "plugin_check": "_commands",
    "plugin_info": "_commands",
    "plugin_list": "_commands",
    "plugin_new": "_commands",
    "profile": "_commands",
    "report": "_commands",
    "rules": "_commands",
    "run": "_commands",
    "verify": "_commands",
    "weights_bind": "_commands",
    "Outcome": "_map",
    "Outcomes": "_map",
    "Request": "_map",
    "map": "_map",
    "Block": "_native",
    "Dim": "_native",
    "Emitter": "_native",
    "Graph": "_native",
    "Nested": "_native",
    "Node": "_native",
    "Value": "_native",
    "DType": "_operators.dtype",
    "Refusal": "_operators.refusal",
    "lowering": "_operators.registry",
    "Pass": "_operators.rules",
    "Rule": "_operators.rules",
    "graph_pass": "_operators.rules",
    "rule": "_operators.rules",
    "Diagnostic": "_diagnostics",
    "SourceLine": "_diagnostics",
    "Suggestion": "_diagnostics",
    "CaptureError": "_errors",
    "Error": "_errors",
    "FileError": "_errors",
    "InternalError": "_errors",
    "MismatchError": "_errors",
    "UnsupportedError": "_errors",
    "UnverifiedError": "_errors",
    "UsageError": "_errors",
    "export": "_export.api",
    "Patch": "_export.patches",
    "register_patch": "_export.patches",
    "record_intermediates": "_intermediates",
    "Observer": "_observe",
    "observe": "_observe",
    "ONNXProgram": "_onnx_program",
    "save_package": "_onnx_program",
    "Pieces": "_pieces",
    "pieces": "_pieces",
    "SaveError": "_program",
    "Inputs": "_save",
    "save": "_save",
    "SIDECAR_FORMAT": "_sidecar",
    "sidecar_path": "_sidecar",
}

__all__ = [
    "SIDECAR_FORMAT",
    "Block",
    "CaptureError",
    "DType",
    "Diagnostic",
    "Dim",
    "Emitter",
    "Error",
    "FileError",
    "Graph",
    "Inputs",
    "InternalError",
    "MismatchError",
    "Nested",
    "Node",
    "ONNXProgram",
    "Observer",
    "Outcome",
    "Outcomes",
    "Pass",
    "Patch",
    "Pieces",
    "Refusal",
    "Request",
    "Rule",
    "SaveError",
    "SourceLine",
    "Suggestion",
    "UnsupportedError",
    "UnverifiedError",
    "UsageError",
    "Value",
    "bench",
    "bisect",
    "check",
    "convert",
    "diff",
    "draw",
    "explain",
    "export",
    "graph_pass",
    "inspect",
    "legal",
    "llm",
    "lowering",
    "map",
    "observe",
    "ops",
    "optimize",
    "package",
    "partition",
    "pieces",
    "plugin_check",
    "plugin_info",
    "plugin_list",
    "plugin_new",
    "profile",
    "record_intermediates",
    "register_patch",
    "report",
    "rule",
    "rules",
    "run",
    "save",
    "save_package",
    "sidecar_path",
    "testing",
    "verify",
    "weights_bind",
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
