"""A generated graph as data, and how it becomes a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

# The sizes of `n` and `k` at which graphs run.
SIZES = ((2, 3), (1, 4), (5, 1), (0, 2), (3, 3))
SYMBOLS = ("n", "k")

# A dimension as its value at each of `SIZES`: two of them are equal if they are equal there.
Dim = tuple[int, ...]
N: Dim = tuple(n for n, _ in SIZES)
K: Dim = tuple(k for _, k in SIZES)


def fixed(size: int) -> Dim:
    """Return a dimension that does not depend on symbols."""
    return (size,) * len(SIZES)


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of dimensions."""
    found = fixed(1)
    for dim in dims:
        found = tuple(a * b for a, b in zip(found, dim, strict=True))
    return found


@dataclass(frozen=True)
class Value:
    """A type, and bounds that tell which operators may read the value.

    `most` bounds magnitudes, and is exceeded by no value of an input without special numbers.
    `exact` values do not depend on rounding.
    """

    dtype: str
    dims: tuple[Dim, ...]
    most: float = 2.0
    exact: bool = True

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.dims)

    def static(self, axis: int) -> int | None:
        """Return the size of an axis, if it does not depend on symbols."""
        sizes = set(self.dims[axis])
        return sizes.pop() if len(sizes) == 1 else None

    def type(self) -> tuple[str, tuple[Dim, ...]]:
        """Return the dtype and the dimensions."""
        return self.dtype, self.dims


@dataclass(frozen=True)
class Node:
    """A node. Attributes may be blocks."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """A nested graph: its inputs with their types, its nodes and outputs."""

    inputs: tuple[tuple[str, str, int], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Graph:
    """A graph. `special` ones also get NaN, infinities and the ends of integers as inputs."""

    seed: int
    special: bool
    inputs: Mapping[str, Value] = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()
    outputs: tuple[str, ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def is_half(self) -> bool:
        """Whether some values are floats of 16 bits."""
        return any(value.dtype in ("float16", "bfloat16") for value in self.values.values())

    def replace(self, **changed: Any) -> Graph:
        """Return a copy with some changes."""
        return dataclasses.replace(self, **changed)

    def pruned(self) -> Graph:
        """Return the graph without unused nodes, constants and inputs."""
        read, kept = set(self.outputs), []
        for node in reversed(self.nodes):
            if read.intersection(node.outputs):
                kept.append(node)
                read |= used(node)
        inputs = {name: one for name, one in self.inputs.items() if name in read}
        constants = {name: one for name, one in self.constants.items() if name in read}
        return self.replace(nodes=tuple(reversed(kept)), inputs=inputs, constants=constants)


def used(node: Node) -> set[str]:
    """Return the values that a node reads, also in its blocks."""
    read = {name for name in node.inputs if name}
    for value in node.attributes.values():
        if isinstance(value, Block):
            inner = {name for name, _, _ in value.outputs}
            own = {name for name, _, _ in value.inputs}
            for one in value.nodes:
                inner |= used(one)
                own |= set(one.outputs)
            read |= inner - own
    return read


def element_type(dtype: str) -> int:
    """Return ONNX's number of a dtype."""
    return getattr(
        onnx.TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper())
    )


def model(graphs: Sequence[Graph], opset: int) -> onnx.ModelProto:
    """Return a model of graphs that share nothing but their symbols."""
    nodes, inputs, outputs, constants = [], [], [], []
    for index, graph in enumerate(graphs):
        prefix = f"g{index}_" if len(graphs) > 1 else ""
        nodes += [_node(node, prefix, prefix) for node in graph.nodes]
        for name, value in graph.inputs.items():
            dims = [{N: "n", K: "k"}.get(dim, dim[0]) for dim in value.dims]
            kind = element_type(value.dtype)
            inputs.append(helper.make_tensor_value_info(prefix + name, kind, dims))
        for name, array in graph.constants.items():
            constants.append(numpy_helper.from_array(array, prefix + name))
        for name in graph.outputs:
            value = graph.values[name]
            # Without the names of dimensions, which may be wrong at other sizes.
            dims = [None] * value.rank
            kind = element_type(value.dtype)
            outputs.append(helper.make_tensor_value_info(prefix + name, kind, dims))
    graph = helper.make_graph(nodes, "generated", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 9
    return made


def _node(node: Node, prefix: str, label: str) -> onnx.NodeProto:
    attributes = {
        name: _block(value, prefix, f"{label}{node.outputs[0]}_{name}")
        if isinstance(value, Block)
        else numpy_helper.from_array(value)
        if isinstance(value, np.ndarray)
        else value
        for name, value in node.attributes.items()
    }
    inputs = [prefix + name if name else "" for name in node.inputs]
    made = helper.make_node(node.op, inputs, [prefix + name for name in node.outputs], **attributes)
    made.name = f"{prefix}{node.outputs[0]}"
    return made


def _block(block: Block, prefix: str, label: str) -> onnx.GraphProto:
    def declared(values: Iterable[tuple[str, str, int]]) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(prefix + name, element_type(dtype), [None] * rank)
            for name, dtype, rank in values
        ]

    nodes = [_node(node, prefix, label) for node in block.nodes]
    return helper.make_graph(nodes, label, declared(block.inputs), declared(block.outputs))


def feeds(graph: Graph, sizes: int, special: bool) -> dict[str, np.ndarray]:
    """Return values of the inputs at one of `SIZES`."""
    rng = np.random.default_rng((graph.seed, sizes, special))
    return {
        name: _tensor(rng, one.dtype, tuple(dim[sizes] for dim in one.dims), special)
        for name, one in graph.inputs.items()
    }


_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, -0.5, 1.5, 2.5)


def _tensor(rng: Any, dtype: str, shape: tuple[int, ...], special: bool) -> np.ndarray:
    """Return eighths from -2 to 2, integers from -2 to 2, or special numbers among others."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        found = np.asarray(rng.integers(-16, 17, shape) / 8)
        if special:
            found = np.where(rng.random(shape) < 0.3, rng.choice(_SPECIAL, shape), found)
        return found.astype(dtype)
    found = np.asarray(rng.integers(-2, 3, shape)).astype(dtype)
    if special:
        ends = np.iinfo(dtype)
        found = np.where(
            rng.random(shape) < 0.2, rng.choice([ends.min, ends.max, ends.min + 1], shape), found
        )
    return found.astype(dtype)
