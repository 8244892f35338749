"""Models are quantized with scales from samples, by the rules of a target, and run in integers."""

import json
import os
import subprocess
from collections import Counter

import numpy as np
import onnx
import pytest
import torch
from onnxruntime import quantization
from safetensors.numpy import save_file
from torch import nn

from tests.python.onnx_runtime import binary, library, session

# Segments of a digit on a display, as rows and columns of a glyph of 11 x 6.
SEGMENTS = {
    "a": (0, slice(0, 6)),
    "d": (10, slice(0, 6)),
    "g": (5, slice(0, 6)),
    "f": (slice(0, 6), 0),
    "b": (slice(0, 6), 5),
    "e": (slice(5, 11), 0),
    "c": (slice(5, 11), 5),
}
DIGITS = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abfgcd"]


def digits(count, seed):
    """Noisy images of digits at random places, and the digits."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    images = random.normal(0, 0.2, (count, 1, 14, 10)).astype(np.float32)
    for image, label in zip(images[:, 0], labels, strict=True):
        glyph = np.zeros((11, 6), np.float32)
        for segment in DIGITS[label]:
            glyph[SEGMENTS[segment]] = 1
        row, column = random.integers(0, 4), random.integers(0, 5)
        image[row : row + 11, column : column + 6] += glyph * random.uniform(0.6, 1.4)
    return images, labels


def trained():
    """A small network that reads digits."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(144, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )
    images, labels = map(torch.tensor, digits(1500, 1))
    optimizer = torch.optim.Adam(net.parameters(), 5e-3)
    for part in torch.arange(1500).split(30) * 2:
        loss = nn.functional.cross_entropy(net(images[part]), labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval()


def command(*words, fails=False):
    environment = {**os.environ, "ORT_DYLIB_PATH": str(library())}
    done = subprocess.run(
        [binary(), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def convert(net, example, path, dynamic=None):
    program = torch.export.export(net, (example,), dynamic_shapes=dynamic)
    torch.export.save(program, path.with_suffix(".pt2"))
    command("convert", path.with_suffix(".pt2"), "-o", path, "--no-verify")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "float.onnx"
    return convert(trained(), torch.zeros(2, 1, 14, 10), path, ({0: torch.export.Dim("n")},))


@pytest.fixture(scope="module")
def samples(model):
    path = model.parent / "samples.safetensors"
    save_file({"input": digits(150, 2)[0]}, path)
    return path


def calibrate(model, samples, output, *options, target="onnxruntime"):
    words = ("optimize", model, "-o", output, "--target", target, "--calibrate", samples)
    done = command(*words, "--json", *options)
    return json.loads(done.stdout)["calibration"]


def outputs(path, images):
    model = session(path)
    name = model.get_inputs()[0].name
    return np.concatenate([model.run(None, {name: image[None]})[0] for image in images])


def kernels(path, folder):
    session(path, folder / "kernels.onnx")
    return Counter(node.op_type for node in onnx.load(folder / "kernels.onnx").graph.node)


def ratio(expected, got):
    """The signal-to-noise ratio in decibels."""
    noise = np.square(expected - got, dtype=np.float64).sum()
    return 10 * np.log10(np.square(expected, dtype=np.float64).sum() / noise)


class Reader(quantization.CalibrationDataReader):
    def __init__(self, name, images):
        self.rest = iter([{name: image[None]} for image in images])

    def get_next(self):
        return next(self.rest, None)


def test_a_network_keeps_its_accuracy_in_integers(model, samples, tmp_path):
    images, labels = digits(1000, 3)
    expected = outputs(model, images)
    accuracy = np.mean(expected.argmax(1) == labels)
    assert accuracy > 0.9
    quantized = tmp_path / "int8.onnx"
    told = calibrate(model, samples, quantized)
    got = outputs(quantized, images)
    assert abs(np.mean(got.argmax(1) == labels) - accuracy) <= 0.005
    assert np.mean(got.argmax(1) == expected.argmax(1)) >= 0.995
    found = kernels(quantized, tmp_path)
    assert found["QLinearConv"] == 2
    assert found["QGemm"] == 2
    assert not {"Conv", "FusedConv", "Gemm", "DequantizeLinear"} & set(found)
    # The float weights are gone.
    assert quantized.stat().st_size < 0.6 * model.stat().st_size
    assert [layer["operator"] for layer in told["layers"]] == ["Conv", "Conv", "Gemm", "Gemm"]
    assert told["samples"] == 150
    assert told["compared"] == 64

    rival = tmp_path / "rival.onnx"
    quantization.quantize_static(
        model,
        rival,
        Reader("input", digits(150, 2)[0]),
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
    )
    assert ratio(expected, got) >= ratio(expected, outputs(rival, images))
    # The reported ratio is that of other samples.
    assert abs(told["outputs"][0]["sqnr"] - ratio(expected, got)) < 6


def test_the_same_samples_give_the_same_file(model, samples, tmp_path):
    one, two = tmp_path / "one.onnx", tmp_path / "two.onnx"
    for path in (one, two):
        calibrate(model, samples, path, "--calibrate-method", "mse")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("method", ["percentile=99.9", "entropy", "mse"])
def test_methods_choose_ranges(model, samples, tmp_path, method):
    told = calibrate(model, samples, tmp_path / "int8.onnx", "--calibrate-method", method)
    assert told["method"] == method
    assert told["outputs"][0]["sqnr"] > 30


def test_symmetric_codes_have_no_zero_point(model, samples, tmp_path):
    quantized = tmp_path / "int8.onnx"
    calibrate(model, samples, quantized, "--sensitivity", target="tensorrt")
    graph = onnx.load(quantized).graph
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    zeros = [node.input[2] for node in graph.node if node.op_type.endswith("izeLinear")]
    assert zeros
    assert all(stored[name].dtype == np.int8 and not stored[name].any() for name in zeros)


def test_layers_that_a_block_needs_as_floats_stay(tmp_path):
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True).eval()
    path = convert(block, torch.zeros(1, 6, 32), tmp_path / "block.onnx")
    values = torch.randn(48, 6, 32).numpy()
    name = onnx.load(path).graph.input[0].name
    save_file({name: values[:24]}, tmp_path / "samples.safetensors")
    quantized = tmp_path / "int8.onnx"
    told = calibrate(path, tmp_path / "samples.safetensors", quantized)
    assert {layer["operator"] for layer in told["layers"]} <= {"MatMul", "Gemm"}
    assert len(told["layers"]) == 4
    found = kernels(quantized, tmp_path)
    assert found["QLinearMatMul"] == 4, found
    assert ratio(outputs(path, values[24:]), outputs(quantized, values[24:])) > 25


def test_what_cannot_be_quantized_is_refused(model, samples, tmp_path):
    images = digits(4, 2)[0]
    bad = images.copy()
    bad[2, 0, 3, 3] = np.nan
    refused = {
        "name": ({"x": images}, "onnxruntime", "OP670"),
        "dtype": ({"input": images.astype(np.float64)}, "onnxruntime", "OP670"),
        "shape": ({"input": images[:, :, :, :9].copy()}, "onnxruntime", "OP670"),
        "empty": ({"input": images[:0]}, "onnxruntime", "OP670"),
        "nan": ({"input": bad}, "onnxruntime", "OP671"),
        "target": ({"input": images}, "onnx", "OP672"),
    }
    for name, (tensors, target, code) in refused.items():
        path, output = tmp_path / f"{name}.safetensors", tmp_path / f"{name}.onnx"
        save_file(tensors, path)
        words = ("optimize", model, "-o", output, "--target", target, "--calibrate", path)
        done = command(*words, fails=True)
        assert f"error[{code}]" in done.stderr, (name, done.stderr)
        assert not output.exists()
    output = tmp_path / "bad.onnx"
    words = ("optimize", model, "-o", output, "--target", "onnxruntime", "--calibrate", samples)
    assert "error[OP674]" in command(*words, "--min-sqnr", 90, fails=True).stderr
    assert (
        "`calibrate` cannot be used with `verify`" in command(*words, "--verify", fails=True).stderr
    )
    assert not output.exists()


class Label(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x).argmax(1)


def test_a_model_without_float_outputs_is_judged_by_its_layers(tmp_path):
    torch.manual_seed(1)
    net = Label(nn.Sequential(nn.Flatten(), nn.Linear(140, 16), nn.ReLU(), nn.Linear(16, 10)))
    axes = ({0: torch.export.Dim("n")},)
    path = convert(net.eval(), torch.zeros(2, 1, 14, 10), tmp_path / "label.onnx", axes)
    name = session(path).get_inputs()[0].name
    save_file({name: digits(8, 4)[0]}, tmp_path / "own.safetensors")
    words = ("optimize", path, "-o", tmp_path / "int8.onnx", "--target", "onnxruntime")
    words = (*words, "--calibrate", tmp_path / "own.safetensors", "--min-sqnr")
    done = command(*words, 90, fails=True)
    assert "error[OP674]" in done.stderr
    assert not (tmp_path / "int8.onnx").exists()
    command(*words, 10)


def test_a_table_of_ones_own_has_rules(model, samples, tmp_path):
    table = tmp_path / "chip.txt"
    table.write_text(
        "target chip\nsource test\nquantize activations=i8 weights=i8 bias=i32\n"
        "quantize Conv weighted fused=Relu\nquantize MaxPool shares\nquantize Gemm weighted\n"
    )
    quantized = tmp_path / "int8.onnx"
    told = calibrate(model, samples, quantized, target=str(table))
    assert [layer["operator"] for layer in told["layers"]] == ["Conv", "Conv", "Gemm", "Gemm"]
    # The output of the model has codes, and its name.
    nodes = {
        output: node.op_type for node in onnx.load(quantized).graph.node for output in node.output
    }
    assert nodes[session(model).get_outputs()[0].name] == "DequantizeLinear"
    images = digits(50, 4)[0]
    assert ratio(outputs(model, images), outputs(quantized, images)) > 30
    stored = {tensor.name: tensor for tensor in onnx.load(quantized).graph.initializer}
    codes = [tensor for name, tensor in stored.items() if name.endswith("_codes")]
    assert {onnx.TensorProto.INT8, onnx.TensorProto.INT32} == {codes.data_type for codes in codes}
