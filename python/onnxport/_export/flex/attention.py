"""One call of `flex_attention`, written as PyTorch computes it without a compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from onnxport._export.flex.emit import Emitter
from onnxport._export.flex.functions import Function, Uniform, Value, Varying, refused, result_of

aten = torch.ops.aten
_INFINITY = float("inf")


class Attention:
    """The scores of an attention, and its results, which are computed on request."""

    def __init__(
        self, graph: Graph, call: Node, known: Mapping[Node, Any], module: GraphModule
    ) -> None:
        query, key, value, score, mask, scale, _, *others = call.args
        self._known = known
        self._query, self._key, self._value = known[query], known[key], known[value]
        self._emit = Emitter(graph, call, query.meta["val"].fake_mode)
        self._indices: dict[int, Varying] = {}
        captured = [[self._captured(one) for one in given] for given in (*others, (), ())[:2]]
        self._scores = self._masked(
            self._changed(self._products(scale), getattr(module, score.target), captured[0]),
            getattr(module, mask[-1].target),
            captured[1],
        )

    def result(self, node: Node) -> Node:
        """Emit the result that the node `node` of the program selects, under its name."""
        if node.args[1] > 1:
            # PyTorch computes them on devices only.
            message = "`flex_attention` cannot be converted: its largest scores are a result"
            raise self._refused(message)
        made = (self._output, self._logarithm)[node.args[1]](node)
        known, stated = made.meta["val"], node.meta["val"]
        if known.dtype is not stated.dtype or known.shape != stated.shape:
            message = f"`flex_attention` gives {stated.dtype} {tuple(stated.shape)}, and its dense "
            message += f"form {known.dtype} {tuple(known.shape)}"
            raise self._refused(message)
        made.meta.update(node.meta)
        return made

    def _output(self, node: Node) -> Node:
        kind = self._query.meta["val"].dtype
        weights = self._emit.cast(self._weights, kind)
        values = self._emit.cast(self._for_each_head(self._value), kind)
        return self._emit.call(aten.matmul.default, weights, values, name=node.name)

    def _logarithm(self, node: Node) -> Node:
        sums = self._emit.call(aten.logsumexp.default, self._scores, [-1])
        empty = self._emit.call(aten.squeeze.dim, self._closed, -1)
        sums = self._emit.call(aten.where.ScalarSelf, empty, -_INFINITY, sums)
        # The program has it in float32, whatever type it is computed in.
        sums = self._emit.cast(sums, node.meta["val"].dtype)
        return self._emit.call(aten.div.Tensor, sums, math.log(2), name=node.name)

    @cached_property
    def _closed(self) -> Node:
        """The rows without a key that may be attended to."""
        none = self._emit.call(aten.eq.Scalar, self._scores, -_INFINITY)
        return self._emit.call(aten.all.dim, none, -1, True)

    @cached_property
    def _weights(self) -> Node:
        weights = self._emit.call(aten.softmax.int, self._scores, -1)
        return self._emit.call(aten.where.ScalarSelf, self._closed, 0.0, weights)

    def _products(self, scale: Any) -> Node:
        """Return the scaled scores, in the type that PyTorch computes them in."""
        kind = self._query.meta["val"].dtype
        kind = torch.float64 if kind is torch.float64 else torch.float32
        query = self._emit.cast(self._query, kind)
        key = self._emit.cast(self._for_each_head(self._key), kind)
        key = self._emit.call(aten.transpose.int, key, -2, -1)
        scores = self._emit.call(aten.matmul.default, query, key)
        scale = self._known[scale] if isinstance(scale, Node) else scale
        return self._emit.cast(self._emit.call(aten.mul.Tensor, scores, scale), kind)

    def _for_each_head(self, tensor: Node) -> Node:
        """Repeat the heads of keys or values that several heads of the query share."""
        heads, own = (one.meta["val"].shape[1] for one in (self._query, tensor))
        if type(heads) is not int or type(own) is not int:
            if heads != own:
                message = "`flex_attention` cannot be converted: it has a dynamic number of heads"
                raise self._refused(message)
            return tensor
        if heads == own:
            return tensor
        return self._emit.call(aten.repeat_interleave.self_int, tensor, heads // own, 1)

    def _changed(self, scores: Node, module: GraphModule, captured: list[Value]) -> Node:
        used = _used(module)
        given = [Varying(scores), *self._positions(scores, used[1:5]), *captured]
        return self._broadcast(Function(self._emit, module, "`score_mod`")(given))

    def _masked(self, scores: Node, module: GraphModule, captured: list[Value]) -> Node:
        if _is_always_true(module):
            return scores
        given = [*self._positions(scores, _used(module)[:4]), *captured]
        mask = self._broadcast(Function(self._emit, module, "`mask_mod`")(given))
        return self._emit.call(aten.where.ScalarOther, mask, scores, -_INFINITY)

    def _positions(self, scores: Node, used: list[bool]) -> list[Value]:
        """Return the indices of the scores along their four axes, where they are used."""
        return [
            self._position(scores, axis) if is_used else Uniform(None)
            for axis, is_used in enumerate(used)
        ]

    def _position(self, scores: Node, axis: int) -> Varying:
        if axis not in self._indices:
            count = self._emit.size(scores, axis)
            kind = {"dtype": torch.int64, "device": torch.device("cpu"), "pin_memory": False}
            index = self._emit.call(aten.arange.default, count, **kind)
            shape = [-1 if other == axis else 1 for other in range(4)]
            self._indices[axis] = Varying(self._emit.call(aten.view.default, index, shape))
        return self._indices[axis]

    def _broadcast(self, value: Value) -> Node:
        """Return the result of a function as a tensor of four axes."""
        if isinstance(value, Varying):
            return value.node
        held = value.value.meta["val"] if isinstance(value.value, Node) else None
        if not isinstance(held, torch.Tensor) or held.dim() != 0:
            raise self._refused(
                "`flex_attention` cannot be converted: its functions give no scalar"
            )
        return self._emit.call(aten.view.default, value.value, [1, 1, 1, 1])

    def _captured(self, value: Any) -> Value:
        return Uniform(self._known[value] if isinstance(value, Node) else value)

    def _refused(self, message: str) -> Exception:
        help = "compute it by `scaled_dot_product_attention` with a mask"
        return refused(self._emit.place, message, help)


def _used(module: GraphModule) -> list[bool]:
    """Return which parameters of a function it uses."""
    return [bool(node.users) for node in module.graph.find_nodes(op="placeholder")]


def _is_always_true(module: GraphModule) -> bool:
    """Tell whether a mask is PyTorch's own where none was given."""
    *_, output = module.graph.nodes
    made = result_of(output)
    return made.target is aten.new_ones.default and made.meta["val"].dtype is torch.bool
