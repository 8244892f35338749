"""Models as ONNX Runtime's optimizers and onnxruntime-genai's builder write them, optimised."""

import json
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from tests.python.onnx_runtime import binary, library, reported

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def written(path, opset, norm, *more, recorded=()):
    """Write a model with a normalisation of `[b, 4]`, scaled, in front of a negation."""
    scale = numpy_helper.from_array(np.array([0.5, 2, -1, 3], np.float32), "scale")
    nodes = [
        helper.make_node(norm, ["x", "scale"], ["n"], axis=-1, epsilon=1e-3),
        *more,
        helper.make_node("Neg", ["n" if not more else "m"], ["a"]),
        helper.make_node("Neg", ["a"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, F32, ["b", 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [scale], value_info=recorded)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), str(path))


def ran(path, x):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def test_operators_of_the_runtime_in_the_domain_of_onnx(tmp_path):
    source, target = tmp_path / "m.onnx", tmp_path / "o.onnx"
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    for norm, opset in (("SimplifiedLayerNormalization", 20), ("LayerNormalization", 13)):
        written(source, opset, norm)
        said = reported("optimize", source, "-o", target, "--verify", "--ort-library", library())
        assert said["nodes"] == 1, said
        assert [node.op_type for node in onnx.load(str(target)).graph.node] == [norm]
        np.testing.assert_array_equal(ran(target, x), ran(source, x))
        # The evaluator computes them as well.
        reported("optimize", source, "-o", target, "--verify", "--executor", "reference")


def test_recorded_shapes_that_cannot_be_are_left_out(tmp_path):
    source, target = tmp_path / "m.onnx", tmp_path / "o.onnx"
    one = numpy_helper.from_array(np.array([2.0], np.float32))
    more = [
        helper.make_node("Constant", [], ["c"], value=one),
        helper.make_node("Mul", ["n", "c"], ["m"]),
    ]
    wrong = [helper.make_tensor_value_info("c", F32, [])]
    written(source, 20, "SimplifiedLayerNormalization", *more, recorded=wrong)
    said = reported("optimize", source, "-o", target, "--verify", "--ort-library", library())
    assert [found["code"] for found in said["diagnostics"]] == ["OP110"]
    assert "recorded as f32[], but the node makes f32[1]" in said["diagnostics"][0]["message"]
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    np.testing.assert_array_equal(ran(target, x), ran(source, x))


def test_nothing_is_written_where_nothing_was_compared(tmp_path):
    source, target = tmp_path / "m.onnx", tmp_path / "o.onnx"
    # No drawn value of `at` is an index of `x`.
    gather = helper.make_node("GatherND", ["x", "places"], ["y"])
    x = helper.make_tensor_value_info("x", F32, [4])
    at = helper.make_tensor_value_info("at", I64, ["b", 2, 1])
    y = helper.make_tensor_value_info("y", F32, ["b", 2])
    offset = helper.make_node("Add", ["at", "far"], ["places"])
    far = numpy_helper.from_array(np.array([1 << 40]), "far")
    graph = helper.make_graph([offset, gather], "g", [x, at], [y], [far])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, str(source))
    command = [binary(), "optimize", source, "-o", target, "--verify", "--json"]
    command += ["--ort-library", library()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    found = [one["message"] for one in json.loads(done.stdout)["diagnostics"]]
    assert any("--verify compared nothing" in message for message in found), found
    assert not target.exists()
