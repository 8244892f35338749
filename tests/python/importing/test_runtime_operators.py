"""Models as ONNX Runtime's optimizers and onnxruntime-genai's builder write them, optimised."""

import json
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

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


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def codes(*shape, high=256):
    return np.random.default_rng(1).integers(0, high, shape).astype(np.uint8)


ANGLES = [np.cos(floats(9, 4)), np.sin(floats(9, 4))]

# An operator, its attributes, and its inputs; `None` for an absent one.
NODES = [
    ("BiasGelu", {}, [floats(2, 3, 4), floats(4, seed=1)]),
    ("FastGelu", {}, [floats(2, 4)]),
    ("FastGelu", {}, [floats(2, 4), floats(4, seed=1)]),
    ("Gelu", {}, [floats(2, 4)]),
    ("QuickGelu", {"alpha": 1.5}, [floats(2, 4)]),
    ("FusedMatMul", {"alpha": 0.5}, [floats(2, 3, 4), floats(4, 5)]),
    ("FusedMatMul", {"transA": 1, "transB": 1}, [floats(2, 4, 3), floats(2, 5, 4)]),
    ("FusedMatMul", {"transBatchA": 1}, [floats(3, 2, 4), floats(2, 4, 5)]),
    ("FusedMatMul", {"transBatchB": 1, "transB": 1}, [floats(2, 3, 4), floats(5, 2, 4)]),
    ("FusedGemm", {"activation": "Relu", "transB": 1}, [floats(3, 4), floats(5, 4), floats(5)]),
    (
        "FusedGemm",
        {"activation": "LeakyRelu", "activation_alpha": 0.3, "beta": 2.0},
        [floats(3, 4), floats(4, 5), floats(5)],
    ),
    ("FusedConv", {"activation": "Relu"}, [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)]),
    (
        "FusedConv",
        {"activation": "Clip", "activation_params": [-0.5, 0.5], "pads": [1, 1, 1, 1]},
        [floats(1, 2, 5, 5), floats(3, 2, 3, 3), None, floats(1, 3, 5, 5, seed=1)],
    ),
    (
        "MatMulNBits",
        {"K": 40, "N": 6, "bits": 4, "block_size": 16},
        [floats(2, 3, 40), codes(6, 3, 8), floats(6, 3, seed=1).reshape(-1)],
    ),
    (
        "MatMulNBits",
        {"K": 32, "N": 3, "bits": 4, "block_size": 16},
        [floats(2, 32), codes(3, 2, 8), floats(6, seed=1), codes(3), None, floats(3)],
    ),
    (
        "MatMulNBits",
        {"K": 32, "N": 3, "bits": 8, "block_size": 16},
        [floats(2, 32), codes(3, 2, 16), floats(6, seed=1), codes(6)],
    ),
    (
        "SkipLayerNormalization",
        {"epsilon": 1e-3},
        [floats(2, 3, 4), floats(2, 3, 4, seed=1), floats(4), floats(4, seed=2), floats(4, seed=3)],
    ),
    ("SkipLayerNormalization", {}, [floats(2, 3, 4), floats(1, 3, 4, seed=1), floats(4)]),
    (
        "SkipSimplifiedLayerNormalization",
        {"epsilon": 1e-3},
        [floats(2, 3, 4), floats(2, 3, 4, seed=1), floats(4), floats(4, seed=3)],
    ),
    ("RotaryEmbedding", {}, [floats(2, 3, 16), np.array([2]), *ANGLES]),
    (
        "RotaryEmbedding",
        {"interleaved": 1},
        [floats(2, 2, 3, 8), np.array([[0, 4, 8], [1, 1, 0]]), *ANGLES],
    ),
    (
        "RotaryEmbedding",
        {"num_heads": 2, "rotary_embedding_dim": 8},
        [floats(2, 3, 24), np.array([[0, 4, 8], [1, 1, 0]]), *ANGLES],
    ),
]


@pytest.mark.parametrize(("op", "attributes", "inputs"), NODES)
def test_the_evaluator_computes_what_the_runtime_computes(op, attributes, inputs, tmp_path):
    path, given, found = (
        tmp_path / name for name in ("m.onnx", "in.safetensors", "out.safetensors")
    )
    feeds = {f"x{at}": value for at, value in enumerate(inputs) if value is not None}
    names = ["" if value is None else f"x{at}" for at, value in enumerate(inputs)]
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    ends = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in feeds.items()
    ]
    result = helper.make_tensor_value_info("y", F32, None)
    constants = [
        numpy_helper.from_array(feeds[end.name], end.name)
        for end in ends
        if op == "MatMulNBits" and end.name != "x0"
    ]
    held = {constant.name for constant in constants}
    ends = [end for end in ends if end.name not in held]
    graph = helper.make_graph([node], "g", ends, [result], constants)
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), str(path))
    feeds = {name: value for name, value in feeds.items() if name not in held}
    save_file(feeds, given)
    command = [binary(), "run", path, "--inputs", given, "-o", found, "--executor", "reference"]
    subprocess.run([*command, "--quiet"], check=True)
    got = load_file(found)["y"]
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    [expected] = session.run(None, feeds)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
