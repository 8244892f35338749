"""Layers as local functions: ONNX Runtime computes the same bits."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from tests.python.onnx_runtime import binary, check_model

from .registry import load_all

MODELS = load_all()


def converted(archive: Path, target: Path, *options: str) -> dict:
    command = [binary(), "convert", archive, "-o", target, "--no-verify", "--json", *options]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    check_model(target)
    return json.loads(done.stdout)["optimised"]


def run(path: Path) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(0)
    feeds = {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else 2 for size in value.shape]
        floats = value.type == "tensor(float)"
        drawn = draw.standard_normal(shape) if floats else draw.integers(0, 2, shape)
        feeds[value.name] = drawn.astype(np.float32 if floats else np.int64)
    return session.run(None, feeds)


@pytest.mark.parametrize(("name", "calls", "of"), [("vit_b_16", 12, "EncoderBlock")])
def test_layers_are_calls(name: str, calls: int, of: str, tmp_path: Path) -> None:
    archive = MODELS[name].make()
    plain, parts = tmp_path / "plain.onnx", tmp_path / "parts.onnx"
    converted(archive, plain)
    assert converted(archive, parts, "--outline", "8")["outlined"] == calls
    model = onnx.load(parts, load_external_data=False)
    assert [function.name for function in model.functions] == [of]
    assert sum(node.op_type == of for node in model.graph.node) == calls
    for expected, found in zip(run(plain), run(parts), strict=True):
        assert np.array_equal(expected, found)
