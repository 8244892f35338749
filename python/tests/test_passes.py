"""Passes that are written in Python, and what `onnxport.optimize` leaves as it is."""

import numpy as np
import onnx
import pytest

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

from test_rules import SILU, diagnostics, kinds, model

import onnxport


def test_a_pass_that_breaks_the_graph_or_raises_is_taken_back(tmp_path):
    @onnxport.graph_pass(register=False)
    def breaks(op, graph):
        [product] = [node for node in graph.nodes if node.op == "Mul"]
        graph.before(product)
        graph.set_input(product, 1, op.cast(product.inputs[0], "int64"))

    @onnxport.graph_pass(register=False)
    def raises(op, graph):
        graph.remove(graph.nodes[-1])

    @onnxport.graph_pass(register=False)
    def refuses(op, graph):
        graph.set_attribute(graph.nodes[0], "alpha", 1.0)
        raise onnxport.Refusal("the batch is not known")

    found, after = diagnostics(SILU, tmp_path, passes=[breaks, raises, refuses])
    assert kinds(after) == kinds(SILU)
    texts = {one.message.split("`")[1]: (one.code, "\n".join(one.notes)) for one in found}
    assert texts["breaks"][0] == "OP404"
    assert texts["refuses"] == ("OP406", "the batch is not known")
    assert "its result is still read" in texts["raises"][1]


def test_what_a_pass_reads_and_writes():
    before = model(
        ("LeakyRelu", "x", "a", {"alpha": 0.5}),
        ("Add", "a w", "b"),
        ("Constant", "", "c", {"value": onnx.numpy_helper.from_array(np.float32([2.0]))}),
        ("Mul", "b c", "y"),
        constants=(("w", np.ones((2, 3), np.float32)),),
    )
    seen = {}

    @onnxport.graph_pass(after_rules=True, register=False)
    def look(op, graph):
        leaky, add, *_ = graph.nodes
        seen["inputs"] = [value.name for value in graph.inputs]
        seen["outputs"] = [name for name, _ in graph.outputs]
        seen["opset"] = graph.opset, op.opset, graph.opset_of("none")
        seen["attributes"] = leaky.attributes
        seen["weight"] = add.inputs[1].is_initializer, add.inputs[1].constant, add.inputs[1].name
        seen["uses"] = [(node.op, index) for node, index in leaky.output.uses]
        seen["producer"] = add.inputs[0].producer == leaky, graph.inputs[0].producer
        seen["kept"] = [node.attributes["value"].constant for node in graph.nodes
                        if node.op == "Constant"]  # fmt: skip
        graph.set_attribute(leaky, "alpha", 0.25)
        graph.set_input(add, 1, graph.inputs[0])
        graph.note(leaky, "looked at")

    after = onnxport.optimize(before, passes=[look])
    assert seen["inputs"] == ["x"]
    assert seen["outputs"] == ["y"]
    assert seen["opset"] == (20, 20, 0)
    assert seen["attributes"] == {"alpha": 0.5}
    assert seen["weight"] == (True, None, "w")
    assert seen["uses"] == [("Add", 0)]
    assert seen["producer"] == (True, None)
    assert seen["kept"] in ([], [[2.0]])
    leaky = after.graph.node[0]
    assert leaky.attribute[0].f == 0.25
    assert list(after.graph.node[1].input) == [
        leaky.output[0],
        "x",
    ]


def test_names_foreign_operators_and_quantisation_stay():
    scale, zero = np.float32(0.1), np.int8(0)
    before = model(
        ("Identity", "x", "i"),
        ("QuantizeLinear", "i s z", "q"),
        ("DequantizeLinear", "q s z", "d"),
        ("DequantizeLinear", "wq s z", "w"),
        ("Foo", "d w", "f", {"domain": "a.b"}),
        ("Identity", "f", "y"),
        constants=(("s", scale), ("z", zero), ("wq", np.ones((2, 3), np.int8))),
    )
    after = onnxport.optimize(before)
    assert [one.name for one in after.graph.input] == ["x"]
    assert [one.name for one in after.graph.output] == ["y"]
    assert [k for k in kinds(after) if k != "Identity"] == [
        "QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Foo",
    ]  # fmt: skip
    assert {one.name for one in after.graph.initializer} == {"s", "z", "wq"}


def test_parameters_keep_their_names_and_ties():
    ones = np.ones((3, 3), np.float32)
    before = model(
        ("MatMul", "x a", "p"),
        ("Transpose", "a", "t"),
        ("MatMul", "p t", "q"),
        ("MatMul", "q b", "y"),
        constants=(("a", ones), ("b", ones)),
    )
    after = onnxport.optimize(before)
    # A small weight that is used both ways is stored both ways.
    assert {one.name for one in after.graph.initializer} == {"a", "a.T", "b"}
    assert kinds(after) == ["MatMul"] * 3
