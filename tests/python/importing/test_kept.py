"""Rare parts of models, read and written again: training information, six bits, missing weights."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import save_file
from torch import nn

import onnxport
from tests.python.importing import same
from tests.python.onnx_runtime import reported


def checked(model: onnx.ModelProto, path) -> None:
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def test_training_information_is_the_same(tmp_path):
    info = TensorProto.FLOAT
    x, y = (helper.make_tensor_value_info(name, info, [2]) for name in "xy")
    weight = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    rate = numpy_helper.from_array(np.array([0.5], np.float32), "rate")
    nodes = [
        helper.make_node("Mul", ["rate", "y"], ["step"]),
        helper.make_node("Sub", ["w", "step"], ["w_new"]),
    ]
    new = helper.make_tensor_value_info("w_new", info, [2])
    algorithm = helper.make_graph(nodes, "algorithm", [], [new], [rate])
    start = helper.make_node("RandomNormal", [], ["w_start"], shape=[2])
    first = helper.make_tensor_value_info("w_start", info, [2])
    initialization = helper.make_graph([start], "initialization", [], [first])
    training = helper.make_training_info(
        algorithm, [("w", "w_new")], initialization, [("w", "w_start")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    model.training_info.append(training)
    checked(model, tmp_path / "m.onnx")
    assert same.judge(tmp_path / "m.onnx", tmp_path / "copy.onnx") == "equal"
    copied = onnx.load(str(tmp_path / "copy.onnx"))
    assert copied.training_info == model.training_info
    onnx.checker.check_model(copied)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT6E2M3, TensorProto.FLOAT6E3M2])
@pytest.mark.parametrize("raw", [False, True])
def test_elements_of_six_bits_are_the_same(dtype, raw, tmp_path):
    numbers = np.array([0, 0.25, -0.5, 1, 2, -7.5, 3], np.float32)
    values = numbers.astype(helper.tensor_dtype_to_np_dtype(dtype))
    weight = helper.make_tensor("w", dtype, [7], values, raw=raw)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [7])
    graph = helper.make_graph([node], "g", [], [out], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=14)
    checked(model, tmp_path / "m.onnx")
    same.copy(tmp_path / "m.onnx", tmp_path / "copy.onnx")
    copied = onnx.load(str(tmp_path / "copy.onnx")).graph.initializer[0]
    assert copied.raw_data == numpy_helper._pack_6bit(values.view(np.uint8)).tobytes()
    assert np.array_equal(numpy_helper.to_array(copied), values)


def test_a_model_that_waits_for_weights_takes_them_later(tmp_path):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(300, 200), nn.ReLU(), nn.Linear(200, 3))
    onnxport.save(torch.export.export(module, (torch.randn(2, 300),)), tmp_path / "m.pt2")
    save_file(module.state_dict(), tmp_path / "w.safetensors")
    waiting, copied = tmp_path / "waiting.onnx", tmp_path / "copied.onnx"
    reported("convert", tmp_path / "m.pt2", "-o", waiting, "--no-verify", "--weightless")
    assert reported("optimize", waiting, "-o", copied)["unbound"] == 4
    outputs = []
    for model in (waiting, copied):
        bound = model.with_suffix(".bound.onnx")
        reported("weights", "bind", model, "-o", bound, "--from", tmp_path / "w.safetensors")
        outputs.append(same.outcome(bound, None))
    assert same.equal(*outputs)
    assert outputs[0][0].shape == (2, 3)
