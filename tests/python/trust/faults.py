"""Faults in ONNX models: one node that computes something else, and nothing else changed.

`faults(model)` lists what can be seeded into a model, `seed(model, fault)` returns a copy with it.
Kinds: `axis` (another axis), `bias` (a bias that is dropped), `operand` (operands exchanged),
`cast` (a cast that is lost), `slice` (both ends moved by one).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

KINDS = ("axis", "bias", "operand", "cast", "slice")


@dataclass(frozen=True)
class Fault:
    """A fault, and the node that it is seeded into."""

    kind: str
    node: str
    operator: str


def faults(model: onnx.ModelProto) -> list[Fault]:
    """Return every fault that can be seeded, in the order of the nodes."""
    return [
        Fault(kind, node.name, node.op_type)
        for node in model.graph.node
        for kind in KINDS
        if _SEEDS[kind](copy.deepcopy(node), _Context(model))
    ]


def seed(model: onnx.ModelProto, fault: Fault) -> onnx.ModelProto:
    """Return a copy of `model` with `fault`."""
    made = copy.deepcopy(model)
    (node,) = (node for node in made.graph.node if node.name == fault.node)
    context = _Context(made)
    if not _SEEDS[fault.kind](node, context):
        raise ValueError(f"{fault} cannot be seeded")
    made.graph.initializer.extend(context.added)
    # Stated types may not hold any more.
    del made.graph.value_info[:]
    return made


class _Context:
    """Constants and extents of a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.constants = {tensor.name: tensor for tensor in model.graph.initializer}
        values = (*model.graph.value_info, *model.graph.input, *model.graph.output)
        self.shapes = {
            value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in values
        }
        self.added: list[TensorProto] = []

    def constant(self, name: str) -> np.ndarray | None:
        tensor = self.constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def replace(self, node: NodeProto, place: int, value: np.ndarray) -> None:
        """Give `node` a constant of its own: others may read the one that it has."""
        name = f"{node.name}.seeded.{place}"
        self.added.append(numpy_helper.from_array(value, name))
        node.input[place] = name


def _axis(node: NodeProto, context: _Context) -> bool:
    rank = len(context.shapes.get(node.input[0], ())) if node.input else 0
    if rank < 2:
        return False
    if node.op_type in ("Softmax", "LogSoftmax"):
        (attribute,) = (a for a in node.attribute if a.name == "axis")
        attribute.i = (attribute.i + 1) % rank
        return True
    axis = context.constant(node.input[1]) if node.op_type == "CumSum" else None
    if axis is not None:
        context.replace(node, 1, (axis + 1) % rank)
    return axis is not None


def _bias(node: NodeProto, context: _Context) -> bool:
    if node.op_type in ("Conv", "ConvTranspose", "Gemm") and len(node.input) == 3:
        del node.input[2]
        return True
    if node.op_type == "Add":
        for place, name in enumerate(node.input):
            constant = context.constant(name)
            if constant is not None and constant.ndim == 1 and constant.size > 1:
                del node.input[place]
                node.op_type = "Identity"
                return True
    return False


def _operand(node: NodeProto, context: _Context) -> bool:
    swapped = node.op_type in ("Sub", "Div") and not any(
        name in context.constants for name in node.input
    )
    if swapped:
        node.input[0], node.input[1] = node.input[1], node.input[0]
    return swapped


def _cast(node: NodeProto, context: _Context) -> bool:
    integers = (TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT16)
    if node.op_type != "Cast" or helper.get_node_attr_value(node, "to") not in integers:
        return False
    node.op_type = "Identity"
    del node.attribute[:]
    return True


def _slice(node: NodeProto, context: _Context) -> bool:
    if node.op_type != "Slice":
        return False
    constants = [context.constant(name) for name in node.input[1:4]]
    shape = context.shapes.get(node.input[0])
    if any(constant is None for constant in constants) or not shape:
        return False
    starts, ends, axes = constants
    extents = np.array([shape[axis] for axis in axes])
    ends = np.where(ends < 0, ends + extents, np.minimum(ends, extents))
    if (starts >= 1).all():
        step = -1
    elif (ends < extents).all():
        step = 1
    else:
        return False
    context.replace(node, 1, starts + step)
    context.replace(node, 2, ends + step)
    return True


_SEEDS: dict[str, Callable[[NodeProto, _Context], bool]] = {
    "axis": _axis,
    "bias": _bias,
    "operand": _operand,
    "cast": _cast,
    "slice": _slice,
}


def chosen(model: onnx.ModelProto, shows: Callable[[onnx.ModelProto], bool]) -> Iterator[Fault]:
    """Yield two faults of each kind whose effect `shows` in the model's outputs."""
    all_of_them = faults(model)
    for kind in KINDS:
        found = 0
        for fault in all_of_them:
            if fault.kind == kind and shows(seed(model, fault)):
                yield fault
                found += 1
                if found == 2:
                    break
