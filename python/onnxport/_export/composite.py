"""Operators that PyTorch makes of others, such as those that users register."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxport._diagnostics import Diagnostic
from onnxport._export.rewritten import rewritten

# Operators without a lowering, and calls that a lowering refuses for their arguments.
_NO_LOWERING, REFUSED = "OP301", "OP302"
# The operators of `vmap`, which PyTorch removes with every other decomposition.
_VMAP = "torch._functorch.predispatch."


def decomposed(program: ExportedProgram, problems: Iterable[Diagnostic]) -> ExportedProgram | None:
    """Return the program with operators that are not lowered written as PyTorch makes them.

    None where there are none among `problems`, or where others are wrong as well.
    """
    problems = [one for one in problems if one.severity == "error"]
    if any(one.code not in (_NO_LOWERING, REFUSED) for one in problems):
        return None
    wanted = {one.target for one in problems}
    table = torch.export.default_decompositions()
    chosen = {
        one: table[one]
        for one in _targets(program)
        if isinstance(one, torch._ops.OpOverload)
        and str(one) in wanted
        and one._can_decompose()
        and one in table
    }
    if not chosen and not any((one or "").startswith(_VMAP) for one in wanted):
        return None
    try:
        changed = rewritten(program.run_decompositions(chosen))
    except Exception:
        return None
    left = _targets(changed)
    is_left = chosen.keys() & left or any(_name(one).startswith(_VMAP) for one in left)
    return None if is_left else changed


def _targets(program: ExportedProgram) -> set[Any]:
    """Return the operators that a program calls, including those in nested graphs."""
    parts = program.graph_module.modules()
    graphs = [part.graph for part in parts if isinstance(part, torch.fx.GraphModule)]
    return {node.target for graph in graphs for node in graph.nodes if node.op == "call_function"}


def _name(target: Any) -> str:
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', '')}"
