"""New calls in a graph that was exported."""

from __future__ import annotations

import operator
import re
from typing import Any

import torch
from torch.fx import Graph, Node, map_arg

from onnxport._export import places

_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom", "from_node")


class Emitter:
    """Emits calls that replace one call of the program, and computes the types of results."""

    def __init__(self, graph: Graph, call: Node, mode: Any) -> None:
        self._graph = graph
        self._call = call
        self._mode = mode

    def call(self, target: Any, *args: Any, name: str | None = None, **kwargs: Any) -> Node:
        """Emit a call, and return its node."""
        values = map_arg((args, kwargs), lambda node: node.meta["val"])
        with self._mode, torch.no_grad():
            value = target(*values[0], **values[1])
        own = target.__name__.split(".")[0].strip("_")
        name = name or f"{self._call.name}_{own}"
        node = self._graph.create_node("call_function", target, args, kwargs, name=name)
        node.meta.update({key: self._call.meta[key] for key in _ORIGIN if key in self._call.meta})
        node.meta["val"] = value
        return node

    def size(self, tensor: Node, axis: int) -> int | Node:
        """Return a size, which needs a call unless it is known."""
        size = tensor.meta["val"].shape[axis]
        return size if type(size) is int else self.call(torch.ops.aten.sym_size.int, tensor, axis)

    def cast(self, tensor: Node, dtype: torch.dtype) -> Node:
        """Return a tensor in another type."""
        if tensor.meta["val"].dtype is dtype:
            return tensor
        return self.call(torch.ops.aten.to.dtype, tensor, dtype)

    @property
    def place(self) -> dict[str, Any]:
        """The user's line of the call that is replaced."""
        return _line(self._call)

    def origin(self, node: Node) -> dict[str, Any]:
        """Return the user's line of a call, or that of the replaced call."""
        return _line(node) or self.place


def is_result(node: Node) -> bool:
    """Tell whether a node picks one of several results."""
    return node.op == "call_function" and node.target is operator.getitem


def _line(node: Node) -> dict[str, Any]:
    frames = re.findall(r'File "(.+?)", line (\d+)', node.meta.get("stack_trace") or "")
    return places.of_stack((file, int(line)) for file, line in frames)
