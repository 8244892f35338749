"""Models with channels at the end, as exporters of other frameworks write them.

Each convolution and each pool stands between two transposes; the rest computes with channels last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.python.importing.same import copy, session

FRONT, LAST = [0, 3, 1, 2], [0, 2, 3, 1]


class Net:
    """A network under construction; ``x`` is its latest value."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)
        self.x = "x"

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def drawn(self, *shape: int) -> str:
        return self.constant(self.random.standard_normal(shape).astype(np.float32) / 4)

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        self.x = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [self.x], **attributes))
        return self.x

    def front(self, op: str, *inputs: str, **attributes: object) -> str:
        turned = self.add("Transpose", self.x, perm=FRONT)
        self.add(op, turned, *inputs, **attributes)
        return self.add("Transpose", self.x, perm=LAST)

    def conv(self, channels: int, out: int, group: int = 1) -> str:
        weight = self.drawn(out, channels // group, 3, 3)
        self.front("Conv", weight, pads=[1, 1, 1, 1], group=group)
        self.add("Mul", self.x, self.drawn(out))
        self.add("Add", self.x, self.drawn(1, 1, 1, out))
        return self.add("Clip", self.x, *[self.constant(np.array(n, np.float32)) for n in (0, 6)])


def classifier(net: Net) -> list[int | str]:
    """Write residual blocks with gates, and the largest of an image."""
    first = net.conv(3, 8)
    for _ in range(4):
        block = net.conv(8, 8, group=8)
        most = net.add("ReduceMax", block, net.constant(np.array([1, 2])), keepdims=1)
        gate = net.add("HardSigmoid", most)
        net.add("Mul", block, gate)
        first = net.add("Add", first, net.x)
    net.front("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.add("ReduceMax", net.x, net.constant(np.array([1, 2])), keepdims=0)
    net.add("MatMul", net.x, net.drawn(8, 5))
    return ["n", 5]


def decoder(net: Net) -> list[int | str]:
    """Write a pad, a branch that is joined, an enlarged image, and a parameter for each channel."""
    net.add("Pad", net.x, net.constant(np.array([0, 1, 1, 0, 0, 1, 1, 0])))
    skip = net.conv(3, 4)
    net.front("AveragePool", kernel_shape=[2, 2], strides=[2, 2])
    net.conv(4, 4)
    net.front("Resize", "", net.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    net.add("Concat", net.x, skip, axis=-1)
    net.add("PRelu", net.x, net.drawn(1, 1, 8))
    net.conv(8, 2)
    return ["n", 18, 18, 2]


def transposes(path: Path) -> int:
    """Return how many values are turned when a model runs: runtimes turn constants in advance."""
    graph = onnx.load(path).graph
    constants = {weight.name for weight in graph.initializer}
    for node in graph.node:
        if node.op_type == "Unsqueeze" and node.input[0] in constants:
            constants.update(node.output)
    found = [node for node in graph.node if node.op_type == "Transpose"]
    return sum(node.input[0] not in constants for node in found)


@pytest.mark.parametrize(("build", "left"), [(classifier, 1), (decoder, 2)])
def test_transposes_are_left_at_the_ends(
    build: Callable[[Net], list[int | str]], left: int, tmp_path: Path
) -> None:
    net = Net()
    shape = build(net)
    ends = [("x", ["n", 16, 16, 3]), (net.x, shape)]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in ends]
    graph = helper.make_graph(net.nodes, "net", infos[:1], infos[1:], net.weights)
    opset = helper.make_opsetid("", 20)
    path, output = tmp_path / "model.onnx", tmp_path / "optimised.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    copy(path, output, optimise=True)
    assert transposes(path) >= 8
    assert transposes(output) == left
    x = net.random.standard_normal((2, 16, 16, 3)).astype(np.float32)
    wanted, found = (session(file).run(None, {"x": x})[0] for file in (path, output))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
