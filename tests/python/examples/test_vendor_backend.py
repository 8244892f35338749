"""The pretend accelerator of `examples/vendor-backend`: the same numbers with it and without."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from tests.python.onnx_runtime import ROOT

FOLDER = ROOT / "examples/vendor-backend"
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


@pytest.fixture(scope="module")
def example():
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    build = ["cargo", "build", "--quiet", "--workspace"]
    subprocess.run(build, cwd=FOLDER, env=environment, check=True)
    os.environ["CARGO_TARGET_DIR"] = str(TARGET)
    spec = importlib.util.spec_from_file_location("vendor_backend", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["vendor_backend"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def programs(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    paths = {name: folder / f"{name}.pt2" for name in example.SIZES}
    for name, path in paths.items():
        example.save(name, path)
    return paths


def nodes(path):
    return [node for node in onnx.load(path).graph.node if node.domain == "com.example.npu"]


@pytest.mark.parametrize(("blobs", "data"), [("auto", "auto"), ("file", "external")])
@pytest.mark.parametrize("name", ["encoder", "classifier", "classifier_static"])
def test_numbers_are_the_same_at_every_size(
    example, programs, tmp_path, monkeypatch, name, blobs, data
):
    plain, npu = tmp_path / "plain.onnx", tmp_path / "npu.onnx"
    example.onnxport("convert", programs[name], "-o", plain, "--no-verify")
    said = example.convert(programs[name], npu, "--blobs", blobs, "--external-data", data)
    assert said.count("verified  ") == 1, "onnxport compared what the runtime gives with PyTorch"
    monkeypatch.setenv("NPU_FOLDER", str(tmp_path))
    for shape, difference, largest in example.compare(name, plain, npu):
        assert difference <= 1e-5 * max(largest, 1.0), (shape, difference)
    assert len(nodes(npu)) == {"encoder": 7}.get(name, 1)
    files = sorted(path.name for path in tmp_path.glob("*.bin"))
    assert bool(files) == (blobs == "file")


def test_what_stays_is_listed_with_reasons(example, programs):
    def explain(name):
        plugin = ["--plugin", example.library("npu_plugin"), "--backend", "npu"]
        asked = ["--explain-partition", "--json"]
        said = json.loads(example.onnxport("convert", programs[name], *plugin, *asked))
        (backend,) = said["backends"]
        reasons = {(r["op"], r["stage"]): (r["count"], r["reason"]) for r in backend["refusals"]}
        return sum(region["nodes"] for region in backend["regions"]), said["nodes"], reasons

    taken, all_of_them, reasons = explain("encoder")
    assert (taken, all_of_them) == (61, 70)
    assert reasons["Softmax", "capability"] == (2, "a size of an input is dynamic")
    assert reasons["LayerNormalization", "capability"][0] == 5
    assert reasons["Gather", "claim"] == (1, "it looks up more than one slice")
    _, _, reasons = explain("classifier")
    assert reasons["Softmax", "capability"][1] == "a size of an input is dynamic"
    assert reasons["Relu", "claim"] == (2, "it hangs together with no product of matrices")
    _, _, reasons = explain("classifier_static")
    assert ("Softmax", "capability") not in reasons, "its extents are numbers here"


def test_weights_are_shared_and_equal_programs_are_one_file(example, programs, tmp_path):
    path = tmp_path / "npu.onnx"
    example.convert(programs["encoder"], path, "--blobs", "file")
    model = onnx.load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    given = {name for node in nodes(path) for name in node.input}
    assert {"layers.0.linear1.weight.T", "head.weight"} <= weights & given
    # The two layers are equal, and so are their programs: 3 of each, and the head's.
    assert len(nodes(path)) == 7
    assert len(list(tmp_path.glob("*.bin"))) == 4


def test_a_damaged_program_does_not_load(example, programs, tmp_path, monkeypatch):
    path = tmp_path / "npu.onnx"
    example.convert(programs["classifier"], path, "--blobs", "file")
    monkeypatch.setenv("NPU_FOLDER", str(tmp_path))
    (blob,) = tmp_path.glob("*.bin")
    content = bytearray(blob.read_bytes())
    content[20] ^= 1
    blob.write_bytes(content)
    with pytest.raises(Exception, match="is not the program of this model"):
        example.session(path, npu=True)
    blob.unlink()
    with pytest.raises(Exception, match="NPU_FOLDER names the model's folder"):
        example.session(path, npu=True)
    example.convert(programs["classifier"], path)
    model = onnx.load(path)
    (node,) = (node for node in model.graph.node if node.domain)
    (program,) = (a for a in node.attribute if a.name == "program")
    program.t.raw_data = program.t.raw_data[:-1]
    program.t.dims[0] -= 1
    onnx.save(model, path)
    with pytest.raises(Exception, match="the program cannot be used: it is damaged"):
        example.session(path, npu=True)


def test_extents_that_do_not_fit_are_an_error_and_no_crash(example, programs, tmp_path):
    path = tmp_path / "npu.onnx"
    example.convert(programs["classifier"], path)
    session = example.session(path, npu=True)
    (port,) = session.get_inputs()
    image = np.zeros((2, 3, 32, 16), np.float32)
    with pytest.raises(Exception, match=r"cannot be multiplied|INVALID_ARGUMENT|cannot become"):
        session.run(None, {port.name: image})


def test_the_plugin_passes_its_check(example):
    said = example.onnxport("plugin", "check", example.library("npu_plugin"))
    assert "backend/1 npu profile" in said
    assert "it takes 4 of 10 nodes" in said


def test_the_runtime_is_asked_for_by_name(example, programs, tmp_path):
    plugin = ["--plugin", example.library("npu_plugin"), "--backend", "npu"]
    said = example.onnxport("convert", programs["classifier"], "-o", tmp_path / "m.onnx", *plugin)
    assert "not verified" in said
    assert "--executor-option custom_ops=PATH" in said
    missing = [*plugin, "--executor-option", "custom_ops=/nowhere"]
    with pytest.raises(RuntimeError, match="no library of custom operators"):
        example.onnxport("convert", programs["classifier"], "-o", tmp_path / "m.onnx", *missing)
