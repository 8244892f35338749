"""ONNX Runtime as onnxport opens it: options, providers, models that no kernel takes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file

from tests.python.onnx_runtime import binary, library

F16, BF16, F32 = TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT


def run(*arguments: object) -> tuple[int, dict]:
    """Run a model; return the exit code and the output."""
    chosen = ["--executor", "ort", "--ort-library", library(), "--json"]
    command = [binary(), "run", *map(str, arguments), *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, json.loads(done.stdout)


def first(said: dict) -> tuple[str, str, str]:
    """Return the code, the message and the help of the first diagnostic."""
    problem = said["diagnostics"][0]
    return problem["code"], problem["message"], problem.get("help") or ""


def dense(kind: int, folder: Path) -> Path:
    """Write a model of a product, a reduction and a cast, with weights of `kind`."""
    draw = np.random.default_rng(0)
    matrix = draw.standard_normal((64, 32)).astype(np.float32)
    weight = helper.make_tensor("w", kind, matrix.shape, matrix.ravel())
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Gelu", ["h"], ["g"]),
        helper.make_node("Cast", ["g"], ["c"], to=kind),
        helper.make_node("LayerNormalization", ["c", "one"], ["y"], stash_type=F32),
        helper.make_node("ReduceMax", ["y", "axis"], ["m"], keepdims=0),
    ]
    one = helper.make_tensor("one", kind, (32,), np.ones(32, np.float32))
    axis = numpy_helper.from_array(np.array([1]), "axis")
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", kind, ["n", 64])],
        [helper.make_tensor_value_info(name, kind, None) for name in ("y", "m")],
        [weight, one, axis],
    )
    path = folder / "m.onnx"
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


@pytest.fixture
def relu(tmp_path: Path) -> Path:
    """Return a model that ONNX Runtime runs."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [helper.make_tensor_value_info("x", F32, [2, 3])],
        [helper.make_tensor_value_info("y", F32, [2, 3])],
    )
    path = tmp_path / "relu.onnx"
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


@pytest.mark.parametrize(
    "option",
    [
        "optimisation=none",
        "optimisation=basic",
        "optimisation=extended",
        "optimisation=layout",
        "threads=1",
        "inter_threads=2",
        "session_options=session.set_denormal_as_zero=1,session.use_env_allocators=0",
        "provider=cpu",
    ],
)
def test_options_are_taken(relu: Path, option: str) -> None:
    code, said = run(relu, "--random", "--executor-option", option)
    assert code == 0, said


@pytest.mark.parametrize(
    ("option", "message", "step"),
    [
        ("optimization=none", "takes no option `optimization`", "did you mean `optimisation`?"),
        ("thread=2", "takes no option `thread`", "did you mean `threads`?"),
        ("colour=red", "takes no option `colour`", "there are threads, inter_threads, provider"),
        ("optimisation=most", 'cannot be "most"', "none, basic, extended, layout, all"),
        ("provider=tpu", 'cannot be "tpu"', "it can be cpu, cuda"),
        ("threads=many", 'cannot be "many"', ""),
        ("session_options=fast", '"fast", not NAME=VALUE', ""),
        ("provider_options=device_id=1", "the CPU takes no `provider_options`", "provider=cuda"),
    ],
)
def test_what_is_no_option_is_refused(relu: Path, option: str, message: str, step: str) -> None:
    code, said = run(relu, "--random", "--executor-option", option)
    assert (code, first(said)[0]) == (6, "OP702")
    assert message in first(said)[1]
    assert step in first(said)[2]


def test_a_plugin_s_options_hold_for_what_says_nothing_else(relu: Path) -> None:
    refused = ["--plugin-option", "ort.optimisation=most"]
    code, said = run(relu, "--random", *refused)
    assert (code, first(said)[0]) == (70, "OP820"), said
    cuda = ["--plugin-option", "ort.provider=cuda"]
    assert run(relu, "--random", *cuda, "--executor-option", "provider=cpu")[0] == 0


def test_cuda_is_an_error_where_the_library_has_none(relu: Path) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has a CUDA provider")
    for more in ([], ["--isolate"]):
        code, said = run(relu, "--random", "--executor-option", "provider=cuda", *more)
        assert (code, first(said)[0]) == (6, "OP702")
        assert "has no CUDA provider" in first(said)[1]
        assert "onnxruntime-gpu" in first(said)[2]


@pytest.mark.parametrize("kind", [F16, BF16])
@pytest.mark.parametrize("more", [[], ["--isolate"]])
def test_a_short_model_is_computed_in_float32_where_there_is_no_kernel(
    kind: int, more: list[str], tmp_path: Path
) -> None:
    model = dense(kind, tmp_path)
    out = tmp_path / "y.safetensors"
    given = ["--random", "--dim", "n=5", "--output", out]
    code, said = run(model, *given, *more)
    assert code == 0, said
    exact = tmp_path / "exact.safetensors"
    command = [binary(), "run", model, *given[:-1], exact, "--executor", "reference"]
    subprocess.run(list(map(str, command)), check=True, timeout=300, capture_output=True)
    ours, theirs = load_file(out), load_file(exact)
    # The steps between numbers of about 2, at which intermediate values are rounded or not.
    dtype, step = (torch.float16, 2**-9) if kind == F16 else (torch.bfloat16, 2**-6)
    for name in ("y", "m"):
        assert ours[name].dtype == theirs[name].dtype == dtype
        torch.testing.assert_close(ours[name].float(), theirs[name].float(), rtol=0, atol=4 * step)
    widened = [d for d in said["diagnostics"] if "runs in float32" in d["message"]]
    refused, without = run(model, *given[:3], "--executor-option", "upcast=false", *more)
    assert (refused == 0) == (not widened), without
    if kind == BF16:
        assert first(without)[0] == "OP702"
        assert "bfloat16" in widened[0]["message"]
