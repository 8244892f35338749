"""Programs whose attentions are replaced."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from onnxport._export.flex import attention, unused
from onnxport._export.flex.emit import is_result
from onnxport._export.programs import with_graph

_ATTENTION = getattr(torch.ops.higher_order, "flex_attention", None)


def dense(program: ExportedProgram) -> ExportedProgram:
    """Return the program with dense attention, or `program` itself where there is none to replace.

    Raises:
        UnsupportedError: A function of an attention is not computed score by score.
    """
    if _ATTENTION is None or not _has_attention(program.graph_module):
        return program
    return with_graph(program, _replaced(program.graph_module))


def _has_attention(module: GraphModule) -> bool:
    parts = (one for one in module.modules() if isinstance(one, GraphModule))
    return any(
        node.target is _ATTENTION
        for part in parts
        for node in part.graph.find_nodes(op="call_function", target=_ATTENTION)
    )


def _replaced(module: GraphModule) -> GraphModule:
    """Return a copy with dense attention, in nested graphs as well."""
    copy = GraphModule(module, Graph())
    copy.meta.update(module.meta)
    for name, child in module.named_children():
        if isinstance(child, GraphModule):
            setattr(copy, name, _replaced(child) if _has_attention(child) else child)
    known: dict[Node, Any] = {}
    calls: dict[Node, attention.Attention] = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is _ATTENTION:
            calls[node] = attention.Attention(copy.graph, node, known, module)
        elif is_result(node) and node.args[0] in calls:
            if node.users:
                known[node] = calls[node.args[0]].result(node)
        else:
            known[node] = copy.graph.node_copy(node, known.__getitem__)
            # The signature and the text of the module call graph go by names.
            known[node]._rename(node.name)
    unused.remove(copy.graph)
    copy.recompile()
    return copy
