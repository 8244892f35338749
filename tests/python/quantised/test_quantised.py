"""Programs that torchao quantised keep their codes, run in integers, and agree to one code."""

import platform
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from tests.python.onnx_runtime import (
    binary,
    check_model,
    convert,
    library,
    read_cases,
    run_cases,
    session,
)

HERE = Path(__file__).parent
STATIC = ("conv_static", "conv_channels", "linear_channels")
DYNAMIC = ("linear_dynamic", "linear_dynamic_channels")
# The kernels that ONNX Runtime's optimizer uses for each, except those with scales found at run
# time.
KERNELS = {
    "conv_static": {"QLinearConv": 3, "QLinearGlobalAveragePool": 1, "QGemm": 1},
    "conv_channels": {"QLinearConv": 3, "QLinearGlobalAveragePool": 1, "QGemm": 1},
    "linear_channels": {"QGemm": 2},
    "linear_dynamic": {"MatMulIntegerToFloat": 2},
    "linear_dynamic_channels": {"MatMulIntegerToFloat": 2},
}
FLOAT_KERNELS = {"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"}
# Nodes of the model. `torch.onnx.export` of torch 2.15.0 writes 26, 26 and 11, and refuses the
# dynamic ones.
NODES = {
    "conv_static": 26,
    "conv_channels": 26,
    "linear_channels": 11,
    "linear_dynamic": 37,
    "linear_dynamic_channels": 37,
}


# Without VNNI, sums of ONNX Runtime's integer kernels for x86 can saturate.
CPU = Path("/proc/cpuinfo")
SATURATES = platform.machine() == "x86_64" and CPU.exists() and "vnni" not in CPU.read_text()
exact = pytest.mark.skipif(SATURATES, reason="ONNX Runtime's sums of codes saturate without VNNI")


@pytest.fixture(params=STATIC + DYNAMIC)
def name(request):
    return request.param


@pytest.fixture
def model(name, tmp_path):
    target = tmp_path / f"{name}.onnx"
    convert(HERE / f"{name}.pt2", target)
    check_model(target)
    return target


def test_runs_in_integers(name, model, tmp_path):
    session(model, tmp_path / "optimised.onnx")
    found = Counter(node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node)
    assert {op: found[op] for op in KERNELS[name]} == KERNELS[name]
    assert not FLOAT_KERNELS & found.keys()


def test_codes_of_weights_are_stored(name, model):
    graph = onnx.load(model).graph
    matrices = [tensor for tensor in graph.initializer if len(tensor.dims) > 1]
    layers = 4 if name.startswith("conv") else 2
    assert [tensor.data_type for tensor in matrices] == [onnx.TensorProto.INT8] * layers
    assert len(graph.node) == NODES[name]


@exact
@pytest.mark.parametrize("name", STATIC, indirect=True)
def test_agrees_to_one_code(name, model):
    graph = onnx.load(model).graph
    scale = next(t for t in graph.initializer if t.name == graph.node[-1].input[1])
    scale = numpy_helper.to_array(scale).item()
    runner = session(model)
    codes = []
    for case in read_cases(HERE / f"{name}.pt2"):
        (got,) = runner.run(None, {key: value.numpy() for key, value in case.inputs.items()})
        codes.append(((torch.from_numpy(got) - case.outputs[0]) / scale).flatten())
    codes = torch.cat(codes)
    assert codes.abs().max() < 1.001
    assert (codes.abs() < 1e-3).float().mean() > 0.9


@pytest.mark.parametrize("name", DYNAMIC, indirect=True)
def test_dynamic_agrees_as_floats_do(name, model):
    tolerances = {torch.float32: (1e-5, 1e-6)}
    run_cases(model, list(read_cases(HERE / f"{name}.pt2")), tolerances=tolerances)


@pytest.mark.parametrize(
    ("name", "shift", "code"),
    [pytest.param("conv_static", 0, 0, marks=exact), ("conv_static", 2, 1)],
)
def test_one_code_is_no_mismatch(name, shift, code, model):
    loaded = onnx.load(model)
    last = loaded.graph.node[-1].input[2]
    point = next(t for t in loaded.graph.initializer if t.name == last)
    moved = numpy_helper.to_array(point) + np.int8(shift)
    loaded.graph.initializer.append(numpy_helper.from_array(moved, "moved"))
    loaded.graph.node[-1].input[2] = "moved"
    onnx.save(loaded, model)
    command = [binary(), "verify", model, "--against", HERE / f"{name}.pt2"]
    command += ["--ort-library", library()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    by_one_step = "differ by one quantization step" in said
    assert (by_one_step, "MISMATCH" in said) == (not shift, bool(shift)), said
    assert bool(done.returncode) == bool(code), said
