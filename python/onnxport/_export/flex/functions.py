"""The user's functions of a score and its position, as calls on tensors of four axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_aggregate

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._export.flex.emit import Emitter

aten = torch.ops.aten
_ONE = [1, 1, 1, 1]


@dataclass(frozen=True)
class Uniform:
    """A value that is the same for all scores: a node, a number or None."""

    value: Any


@dataclass(frozen=True)
class Varying:
    """A scalar of each score, as a tensor of four axes. Axes of size 1 are broadcast."""

    node: Node


@dataclass(frozen=True)
class Picked:
    """Elements of a uniform tensor, by an index of each score for its first axes."""

    table: Node
    indices: tuple[Node, ...]


Value = Uniform | Varying | Picked


class Function:
    """A function that is applied to all scores at once."""

    def __init__(self, emit: Emitter, graph: GraphModule, what: str) -> None:
        self._emit = emit
        self._graph = graph
        self._what = what

    def __call__(self, given: Sequence[Value]) -> Value:
        """Emit the calls of the function, and return its result.

        Raises:
            UnsupportedError: One of the calls does not work on each score by itself.
        """
        rest = iter(given)
        known: dict[Node, Value] = {}
        for node in self._graph.graph.nodes:
            if node.op == "placeholder":
                known[node] = next(rest)
            elif node.op == "get_attr":
                known[node] = self._constant(node)
            elif node.op == "output":
                result = (
                    node.args[0][0] if isinstance(node.args[0], (tuple, list)) else node.args[0]
                )
                return self._scalar(node, known[result])
            elif node.op == "call_function" and node.target is not _CHECK:
                known[node] = self._called(node, known)
            elif node.op != "call_function":
                raise self._refused(node)
        raise AssertionError("a graph without an output")

    def _constant(self, node: Node) -> Value:
        held = getattr(self._graph, node.target)
        if not isinstance(held, torch.Tensor):
            return Uniform(held)
        if held.dim() != 0 or isinstance(held, FakeTensor):
            raise self._refused(node)
        made = self._emit.call(aten.full.default, [], held.item(), dtype=held.dtype)
        return Uniform(made)

    def _called(self, node: Node, known: dict[Node, Value]) -> Value:
        if node.target in _SAME:
            return known[node.args[0]]
        if node.target is _APPLIED and str(node.args[2]).endswith(".ModIndex"):
            leaves = list(node.args[2:])
            (_, table, indices), _ = pytree.tree_unflatten(leaves, known[node.args[1]].value)
            return self._picked(node, known, table, indices)
        values = [known[one] for one in node.all_input_nodes]
        if all(isinstance(value, Uniform) for value in values):
            if _is_mutable(node.target):
                raise self._refused(node)
            args = map_aggregate((node.args, node.kwargs), lambda x: _plain(known, x))
            return Uniform(self._emit.call(node.target, *args[0], **args[1]))
        if node.target is aten.index.Tensor:
            return self._picked(node, known, *node.args)
        if node.target is aten.select.int and node.args[1] == 0:
            return self._picked(node, known, node.args[0], [node.args[2]])
        shaped = node.target in _SHAPED
        pointwise = node.target in _POINTWISE or torch.Tag.pointwise in getattr(
            node.target, "tags", ()
        )
        if not (shaped or pointwise) or _is_mutable(node.target) or _rank(node) != 0:
            raise self._refused(node)
        args, kwargs = map_aggregate(
            (node.args, node.kwargs),
            lambda x: self._scalar(node, known[x], broadcast=True) if isinstance(x, Node) else x,
        )
        args, kwargs = map_aggregate((args, kwargs), _bare)
        if shaped:
            args = (args[0], _ONE, *args[2:])
        return Varying(self._emit.call(node.target, *args, **kwargs))

    def _picked(self, node: Node, known: dict[Node, Value], table: Any, given: Any) -> Value:
        """Return elements of a tensor, by scalars for its first axes."""
        source = known[table]
        if isinstance(source, Varying) or any(_rank(one) not in (0, None) for one in given):
            raise self._refused(node)
        indices: list[Node] = []
        for one in given:
            if type(one) is int:
                index = self._emit.call(aten.full.default, _ONE, one, dtype=torch.int64)
            else:
                index = _bare(self._scalar(node, known.get(one), broadcast=True))
            if not isinstance(index, Node) or index.meta["val"].dtype is torch.bool:
                raise self._refused(node)
            indices.append(index)
        before = source.indices if isinstance(source, Picked) else ()
        held = source.table if isinstance(source, Picked) else source.value
        picked = Picked(held, (*before, *indices))
        return self._scalar(node, picked) if _rank(node) == 0 else picked

    def _scalar(self, node: Node, value: Value, *, broadcast: bool = False) -> Value:
        """Return a value of which there is one number for each score.

        Where a tensor without axes is to be `broadcast`, it gets axes: types are promoted as if all
        were alike.
        """
        if isinstance(value, Picked):
            if value.table.meta["val"].dim() != len(value.indices):
                raise self._refused(node)
            return Varying(self._emit.call(aten.index.Tensor, value.table, list(value.indices)))
        if isinstance(value, Uniform) and broadcast and isinstance(value.value, Node):
            held = value.value.meta["val"]
            if isinstance(held, torch.Tensor):
                if held.dim() != 0:
                    raise self._refused(node)
                return Varying(self._emit.call(aten.view.default, value.value, _ONE))
        return value

    def _refused(self, node: Node) -> _errors.UnsupportedError:
        shown = node.target if node.op == "call_function" else node.op
        return refused(
            self._emit.origin(node),
            f"`flex_attention` cannot be converted: `{shown}` in its {self._what} does not "
            "compute each score separately",
            "compute with numbers of the scores and with elements of tensors, which are picked by "
            "the indices that the function is given",
        )


def refused(place: dict[str, Any], message: str, help: str) -> _errors.UnsupportedError:
    """Return the error for an attention that cannot be written densely."""
    return _errors.UnsupportedError(
        diagnostics=[Diagnostic("error", "OP210", message, **place, help=help)]
    )


def result_of(output: Node) -> Any:
    """Return the result of a function, which may be the only one of a list."""
    given: Any = output.args[0]
    return given[0] if isinstance(given, (tuple, list)) else given


_APPLIED = getattr(torch.ops.higher_order, "flat_apply", None)
_CHECK = aten._assert_tensor_metadata.default

# Operators that return their argument.
_SAME = (
    aten.alias.default,
    aten.clone.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.detach_.default,
    aten.lift_fresh_copy.default,
)

# The second argument is a shape.
_SHAPED = (aten.new_full.default, aten.new_ones.default, aten.new_zeros.default)

# Elementwise operators that PyTorch does not mark as such.
_POINTWISE = (
    aten.__and__.Scalar,
    aten.__and__.Tensor,
    aten.__or__.Scalar,
    aten.__or__.Tensor,
    aten._to_copy.default,
    aten.floor_divide.default,
    aten.floor_divide.Scalar,
    aten.full_like.default,
    aten.greater.Scalar,
    aten.greater.Tensor,
    aten.greater_equal.Scalar,
    aten.greater_equal.Tensor,
    aten.less.Scalar,
    aten.less.Tensor,
    aten.less_equal.Scalar,
    aten.less_equal.Tensor,
    aten.multiply.Scalar,
    aten.multiply.Tensor,
    aten.not_equal.Scalar,
    aten.not_equal.Tensor,
    aten.ones_like.default,
    aten.to.dtype,
    aten.to.dtype_layout,
    aten.true_divide.Scalar,
    aten.true_divide.Tensor,
    aten.type_as.default,
    aten.where.Scalar,
    aten.where.ScalarOther,
    aten.where.ScalarSelf,
    aten.zeros_like.default,
)


def _plain(known: dict[Node, Value], value: Any) -> Any:
    return known[value].value if isinstance(value, Node) else value


def _bare(value: Any) -> Any:
    if isinstance(value, Varying):
        return value.node
    return value.value if isinstance(value, Uniform) else value


def _is_mutable(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is None or schema.is_mutable


def _rank(node: Any) -> int | None:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return value.dim() if isinstance(value, torch.Tensor) else None
