"""Calls that only the sparse form of a mask was made for.

PyTorch computes which blocks of a mask are empty, by `vmap` and by writing to new tensors. Nothing
of that is needed once the mask itself is computed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten
_PREDISPATCH = "torch._functorch.predispatch"
_FACTORIES = ("new_zeros", "new_ones", "new_empty", "new_full", "zeros", "ones", "empty", "full")


def remove(graph: Graph) -> None:
    """Remove calls whose results nothing uses, and levels of `vmap` that have become empty."""
    for node in reversed(graph.nodes):
        if node.op in ("call_function", "get_attr") and not node.users and _may_go(node):
            graph.erase_node(node)
    open_: list[tuple[Node, bool]] = []
    loads = []
    for node in list(graph.nodes):
        kind = _vmap(node)
        if kind == "lazy_load_decompositions":
            loads.append(node)
        elif kind == "_vmap_increment_nesting":
            open_.append((node, True))
        elif kind == "_vmap_decrement_nesting":
            start, is_empty = open_.pop()
            if is_empty:
                graph.erase_node(node)
                graph.erase_node(start)
        elif kind is not None:
            # Levels are numbers, so a used one keeps the enclosing ones.
            open_ = [(start, False) for start, _ in open_]
    if not any(_vmap(node) for node in graph.nodes if node not in loads):
        for node in loads:
            graph.erase_node(node)


def _vmap(node: Node) -> str | None:
    """Return the function of `vmap` that a node calls."""
    target: Any = node.target
    if node.op != "call_function" or getattr(target, "__module__", None) != _PREDISPATCH:
        return None
    return target.__name__


def _may_go(node: Node) -> bool:
    if kind := _vmap(node):
        return kind in ("_add_batch_dim", "_remove_batch_dim")
    target: Any = node.target
    if target is aten._assert_tensor_metadata.default:
        return True
    if target is aten.index_put_.default:
        # The written tensor is new, and none of its other users reads elements or is a view.
        base = node.args[0]
        return _is_made(base) and all(user is node or _is_made(user) for user in base.users)
    return not node.is_impure()


def _is_made(node: Node) -> bool:
    return getattr(node.target, "__name__", "").split(".")[0] in _FACTORIES
