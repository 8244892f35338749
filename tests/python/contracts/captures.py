"""How a program is captured by PyTorch before it is converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram, export

from tests.python.contracts.registry import Call


def strict(module: nn.Module, call: Call, dynamic: Any) -> ExportedProgram:
    """Export through dynamo."""
    return export(module, call.args, dict(call.kwargs), dynamic_shapes=dynamic, strict=True)


def strict_functional(module: nn.Module, call: Call, dynamic: Any) -> ExportedProgram:
    """Export through dynamo, without writes."""
    return strict(module, call, dynamic).run_decompositions({})


def decomposed(module: nn.Module, call: Call, dynamic: Any) -> ExportedProgram:
    """Export and decompose to core operators."""
    return export(module, call.args, dict(call.kwargs), dynamic_shapes=dynamic).run_decompositions()


def functional(module: nn.Module, call: Call, dynamic: Any) -> ExportedProgram:
    """Export without writes, and without further decompositions."""
    program = export(module, call.args, dict(call.kwargs), dynamic_shapes=dynamic)
    return program.run_decompositions({})


def without(*kept: Any) -> Callable[[nn.Module, Call, Any], ExportedProgram]:
    """Export and decompose all operators but these."""

    def capture(module: nn.Module, call: Call, dynamic: Any) -> ExportedProgram:
        table = torch.export.default_decompositions()
        for one in kept:
            del table[one]
        program = export(module, call.args, dict(call.kwargs), dynamic_shapes=dynamic)
        return program.run_decompositions(table)

    return capture


def exported_again(module: nn.Module, call: Call, dynamic: Any) -> ExportedProgram:
    """Export a program that was exported."""
    first = export(module, call.args, dict(call.kwargs), dynamic_shapes=dynamic)
    return export(first.module(), call.args, dict(call.kwargs), dynamic_shapes=dynamic)
