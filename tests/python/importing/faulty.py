"""Nodes that no run can compute: operators that work, and a fault of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21

# An input: a shape of floats that a caller gives, a constant, or nothing.
Given = tuple[Any, ...] | np.ndarray | None


@dataclass(frozen=True)
class Node:
    """A model of one node."""

    op: str
    inputs: Sequence[Given]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = OPSET
    dtype: int = TensorProto.FLOAT

    def changed(self, what: dict[int | str, Any]) -> Node:
        """Return the node with other inputs, attributes or number of outputs."""
        inputs, attributes, outputs = list(self.inputs), dict(self.attributes), self.outputs
        for key, value in what.items():
            if key == "outputs":
                outputs = value
            elif isinstance(key, int):
                inputs[key:] = [value, *inputs[key + 1 :]]
            elif value is None:
                attributes.pop(key)
            else:
                attributes[key] = value
        return Node(self.op, inputs, attributes, outputs, self.opset, self.dtype)

    def model(self) -> onnx.ModelProto:
        """Return the model; the result of its node has no declared type."""
        names, inputs, constants = [], [], []
        for index, given in enumerate(self.inputs):
            names.append("" if given is None else f"in{index}")
            if isinstance(given, np.ndarray):
                constants.append(numpy_helper.from_array(given, names[-1]))
            elif given is not None:
                kind = self.dtype
                if given and isinstance(given[0], type):
                    kind, given = helper.np_dtype_to_tensor_dtype(np.dtype(given[0])), given[1:]
                inputs.append(helper.make_tensor_value_info(names[-1], kind, list(given)))
        outputs = [f"out{index}" for index in range(self.outputs)]
        nodes = [helper.make_node(self.op, names, outputs, name="faulty", **self.attributes)]
        ends = []
        for index, output in enumerate(outputs):
            # The output has a known type, whatever is wrong with the node.
            nodes.append(helper.make_node("Size", [output], [f"size{index}"]))
            ends.append(helper.make_tensor_value_info(f"size{index}", TensorProto.INT64, []))
        graph = helper.make_graph(nodes, "g", inputs, ends, constants)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10
        )


def ints(*items: int) -> np.ndarray:
    """Return a constant of sizes or axes."""
    return np.array(items, np.int64)


def one(item: int) -> np.ndarray:
    """Return a constant without axes."""
    return np.array(item, np.int64)


# Valid nodes, and the edits that make each invalid.
TABLE: list[tuple[Node, list[dict[int | str, Any]]]] = []


def add(ops: str, inputs: Sequence[Given], wrong: list[dict[int | str, Any]], **more: Any) -> None:
    """Add every operator in `ops` with its fault."""
    outputs, opset = more.pop("outputs", 1), more.pop("opset", OPSET)
    dtype = more.pop("dtype", TensorProto.FLOAT)
    TABLE.extend((Node(op, inputs, more, outputs, opset, dtype), wrong) for op in ops.split())


UNFIT: list[dict[int | str, Any]] = [{1: (4,)}, {0: (5, 2, 3), 1: (4, 1, 3)}, {0: (2, 2)}]
add("Add Sub Mul Div Max Min Mean Sum Pow Less Greater Equal PRelu", [(2, 3), (3,)], UNFIT)
add("And Or Xor", [(2, 3), (3,)], UNFIT[:2], dtype=TensorProto.BOOL)
add("BitwiseAnd Mod", [(2, 3), (3,)], UNFIT[:2], dtype=TensorProto.INT32)
add("Where", [(np.bool_, 2, 3), (2, 3), (3,)], [{2: (4,)}, {1: (3, 3)}, {0: (np.bool_, 5)}])
add("Expand", [(2, 1), ints(2, 3)], [{1: ints(3, 3)}, {0: (4,)}])
add(
    "MatMul",
    [(2, 3), (3, 4)],
    [{1: (4, 4)}, {0: (3, 2, 3), 1: (2, 3, 4)}, {0: ()}, {1: (2,)}, {0: (2,)}],
)
add(
    "Gemm",
    [(2, 3), (3, 4), (4,)],
    [{1: (4, 3)}, {0: (2, 3, 1)}, {2: (3,)}, {2: (3, 4)}, {"transA": 1}],
)
add("Gemm", [(3, 2), (4, 3)], [{"transA": 0}, {"transB": 0}, {1: (3, 4)}], transA=1, transB=1)
add("Det", [(2, 3, 3)], [{0: (2, 3)}, {0: (3,)}])
add(
    "Einsum",
    [(2, 3), (3, 4)],
    [
        {1: (4, 4)},
        {"equation": "ij,jk,kl->il"},
        {"equation": "ijk,jk->ik"},
        {"equation": "ij,jk->iz"},
        {"equation": "ij,jk->ii"},
        {"equation": "i1,jk->ik"},
        {"equation": "ij,j->i"},
    ],
    equation="ij,jk->ik",
)
add(
    "Transpose",
    [(2, 3, 4)],
    [{"perm": [0, 1]}, {"perm": [0, 0, 1]}, {"perm": [1, 2, 3]}],
    perm=[2, 0, 1],
)
add(
    "Reshape",
    [(2, 3, 4), ints(6, 4)],
    [
        {1: ints(5, 4)},
        {1: ints(-1, 5)},
        {1: ints(-1, -1)},
        {1: ints(-2, 12)},
        {1: ints(2, 3, 4, 0)},
        {1: ints(0, 0)},
        {0: (2, 3, 5)},
    ],
)
add("Flatten", [(2, 3, 4)], [{"axis": 4}, {"axis": -4}], axis=1)
add("Squeeze", [(1, 3, 1), ints(0)], [{1: ints(1)}, {1: ints(3)}, {1: ints(0, 1)}, {0: (2, 1)}])
add("Unsqueeze", [(2, 3), ints(0, 3)], [{1: ints(0, 4)}, {1: ints(0, 0)}, {1: ints(-5)}])
add("Tile", [(2, 3), ints(2, 1)], [{1: ints(2)}, {1: ints(2, 2, 2)}])
add("DepthToSpace", [(1, 8, 2, 2)], [{0: (1, 6, 2, 2)}, {0: (8, 2, 2)}], blocksize=2)
add(
    "SpaceToDepth",
    [(1, 2, 4, 4)],
    [{0: (1, 2, 3, 4)}, {0: (1, 2, 4, 5)}, {0: (2, 4, 4)}],
    blocksize=2,
)
add(
    "Concat",
    [(2, 3), (2, 4)],
    [{1: (3, 4)}, {1: (2,)}, {1: (2, 4, 1)}, {"axis": 2}, {"axis": -3}, {"axis": 0}],
    axis=1,
)
add(
    "Split",
    [(2, 6), ints(2, 4)],
    [
        {1: ints(2, 3)},
        {1: ints(2, 2, 2)},
        {1: ints(7, -1)},
        {"axis": 2},
        {"outputs": 3},
        {0: (2, 5)},
    ],
    axis=1,
    outputs=2,
)
add("Split", [(2, 6)], [{0: (2, 1)}, {"axis": -3}], axis=1, outputs=2, num_outputs=2)
add("Split", [(2, 6)], [{0: (2, 5)}, {"axis": 3}], axis=1, outputs=2, opset=13)
add(
    "Pad",
    [(2, 3), ints(1, 0, 0, 1)],
    [{1: ints(1, 0)}, {1: ints(1, 0, 0)}, {1: ints(-2, 0, -1, 0)}],
)
add(
    "Pad", [(2, 3), ints(1, 1), None, ints(1)], [{1: ints(1, 1, 1, 1)}, {3: ints(2)}, {3: ints(-3)}]
)
add(
    "Slice",
    [(4, 5), ints(1), ints(3), ints(1), ints(1)],
    [{1: ints(1, 1)}, {2: ints(3, 3)}, {3: ints(2)}, {3: ints(-3)}, {4: ints(0)}, {3: ints(0, 1)}],
)
add("CenterCropPad", [(4, 5), ints(2, 2)], [{1: ints(2)}, {1: ints(2, 2, 2)}])
add(
    "Gather", [(4, 5), ints(1, 2)], [{"axis": 2}, {"axis": -3}, {1: ints(9)}, {1: ints(-6)}], axis=1
)
add(
    "GatherElements",
    [(4, 5), (np.int64, 4, 2)],
    [{1: (np.int64, 4)}, {"axis": 2}, {1: (np.int64, 6, 2)}],
    axis=1,
)
add("GatherND", [(4, 5), (np.int64, 3, 2)], [{1: (np.int64, 3, 3)}, {0: (4,)}])
add(
    "ScatterElements",
    [(4, 5), (np.int64, 4, 2), (4, 2)],
    [{1: (np.int64, 4)}, {2: (4, 3)}, {"axis": 2}, {2: (4,)}],
    axis=1,
)
add(
    "ScatterND", [(4, 5), (np.int64, 3, 1), (3, 5)], [{2: (3, 4)}, {2: (3,)}, {1: (np.int64, 3, 3)}]
)
add(
    "OneHot",
    [(np.int64, 3), one(4), (2,)],
    [{2: (3,)}, {"axis": 2}, {"axis": -3}],
    axis=-1,
)
add("TopK", [(4, 5), ints(2)], [{1: ints(6)}, {"axis": 2}, {1: ints(1, 1)}], axis=1, outputs=2)
add("Compress", [(4, 5), (np.bool_, 4)], [{"axis": 2}], axis=0)
for op in ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceProd", "ReduceL2", "ReduceLogSumExp"):
    add(op, [(2, 3), ints(1)], [{1: ints(2)}, {1: ints(-3)}, {1: ints(0, 5)}])
add("ArgMax ArgMin", [(2, 3)], [{"axis": 2}, {"axis": -3}], axis=1)
add("CumSum", [(2, 3), one(1)], [{1: one(2)}, {1: one(-3)}])
add("Softmax LogSoftmax Hardmax", [(2, 3)], [{"axis": 2}, {"axis": -3}], axis=1)
add("LpNormalization", [(2, 3)], [{"axis": 2}], axis=1)
add("Unique", [(2, 3)], [{"axis": 2}], axis=1)
CONV: list[dict[int | str, Any]] = [
    {1: (4, 3, 3)},
    {0: (1, 3, 8)},
    {0: (1, 2, 8, 8)},
    {2: (5,)},
    {2: (4, 1)},
    {"kernel_shape": [3]},
    {"kernel_shape": [2, 2]},
    {"strides": [1]},
    {"pads": [1, 1]},
    {"dilations": [1, 1, 1]},
    {"group": 2},
    {0: (1, 3)},
]
add("Conv", [(1, 3, 8, 8), (4, 3, 3, 3), (4,)], CONV)
add("Conv", [(1, 4, 8), (6, 2, 3)], [{1: (6, 4, 3)}, {1: (5, 2, 3)}, {0: (1, 5, 8)}], group=2)
add(
    "ConvTranspose",
    [(1, 3, 8, 8), (3, 4, 3, 3), (4,)],
    [
        {1: (3, 4, 3)},
        {0: (1, 2, 8, 8)},
        {2: (3,)},
        {"strides": [1]},
        {"kernel_shape": [2, 2]},
        {0: (1, 3, 8)},
    ],
)
POOL: list[dict[int | str, Any]] = [
    {0: (1, 2, 8)},
    {"kernel_shape": [2]},
    {"strides": [1]},
    {"pads": [0, 0]},
    {0: (1, 2)},
]
add("MaxPool AveragePool LpPool", [(1, 2, 8, 8)], POOL, kernel_shape=[2, 2])
STATISTICS: list[dict[int | str, Any]] = [{1: (4,)}, {2: (2,)}, {3: (3, 1)}, {4: (5,)}]
add("BatchNormalization", [(2, 3, 4), (3,), (3,), (3,), (3,)], STATISTICS)
add("InstanceNormalization", [(2, 3, 4), (3,), (3,)], [{1: (4,)}, {2: (2,)}])
add(
    "GroupNormalization",
    [(2, 4, 4), (4,), (4,)],
    [{1: (2,)}, {"num_groups": 3}, {2: (3,)}],
    num_groups=2,
)
add(
    "LayerNormalization", [(2, 3, 4), (4,), (4,)], [{1: (3,)}, {2: (5,)}, {"axis": 3}, {"axis": -4}]
)
LSTM: list[dict[int | str, Any]] = [
    {1: (1, 8, 4)},
    {2: (1, 8, 3)},
    {0: (5, 3)},
    {1: (1, 7, 3)},
    {2: (8, 2)},
]
add("LSTM", [(5, 1, 3), (1, 8, 3), (1, 8, 2)], LSTM, hidden_size=2)
add(
    "GRU",
    [(5, 1, 3), (1, 6, 3), (1, 6, 2)],
    [{1: (1, 6, 4)}, {1: (1, 8, 3)}, {0: (5, 3)}],
    hidden_size=2,
)
add(
    "QuantizeLinear",
    [(2, 3), np.ones(3, np.float32)],
    [{1: np.ones(2, np.float32)}, {"axis": 2}],
    axis=1,
)
add(
    "DequantizeLinear",
    [(np.uint8, 2, 3), np.ones(3, np.float32)],
    [{1: np.ones(4, np.float32)}, {"axis": 2}],
    axis=1,
)
add(
    "Resize",
    [(1, 1, 4, 4), None, None, ints(1, 1, 8, 8)],
    [{3: ints(8, 8)}, {3: ints(1, 1, 8, 8, 1)}],
    mode="nearest",
)
add(
    "GridSample",
    [(1, 2, 4, 4), (1, 3, 3, 2)],
    [{1: (1, 3, 3, 3)}, {1: (2, 3, 3, 2)}, {1: (1, 3, 2)}],
)
add(
    "RoiAlign",
    [(2, 2, 8, 8), (3, 4), (np.int64, 3)],
    [{1: (3, 5)}, {2: (np.int64, 2)}, {0: (2, 8, 8)}],
)
add("NonMaxSuppression", [(1, 6, 4), (1, 2, 6)], [{0: (1, 6, 5)}, {1: (1, 2, 5)}, {0: (6, 4)}])
add("Range", [one(0), one(5), one(1)], [{2: one(0)}])


def faults() -> Iterator[tuple[str, Node]]:
    """Yield each node that cannot be computed, with a name."""
    for at, (node, wrong) in enumerate(TABLE):
        for index, what in enumerate(wrong):
            yield f"{at}-{node.op}-{index}", node.changed(what)
