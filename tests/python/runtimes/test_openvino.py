"""OpenVINO as an executor, on real models: verified, bisected and profiled."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.export import Dim
from torchvision.models import resnet18

import onnxport
from tests.python.onnx_runtime import binary, library

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None and not os.environ.get("OPENVINO_DYLIB_PATH"),
    reason="the package openvino is not installed",
)


def run(*arguments: object) -> tuple[int, dict]:
    """Run the command; return its exit code and output."""
    command = [binary(), *map(str, arguments), "--json"]
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "ORT_DYLIB_PATH": str(library())}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, json.loads(done.stdout)


def image_model() -> tuple[nn.Module, tuple[Tensor, ...], object]:
    return resnet18().eval(), (torch.randn(2, 3, 64, 64),), ({0: Dim("batch")},)


def text_model() -> tuple[nn.Module, tuple[Tensor, ...], object]:
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    config.vocab_size = 100
    ids = torch.randint(100, (2, 7))
    axes = {0: Dim("batch"), 1: Dim("length", max=512)}
    model = transformers.BertForSequenceClassification(config).eval()
    return model, (ids, torch.ones_like(ids)), (axes, axes)


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x * x).sum(1)


def converted(
    made: tuple[nn.Module, tuple[Tensor, ...], object], folder: Path
) -> tuple[Path, Path]:
    """Save a program, and convert it with OpenVINO as the runtime that verifies it."""
    module, inputs, axes = made
    torch.manual_seed(0)
    with torch.no_grad():
        program = torch.export.export(module, inputs, dynamic_shapes=axes)
    archive, model = folder / "m.pt2", folder / "m.onnx"
    onnxport.save(program, archive)
    return archive, model


@pytest.mark.parametrize("make", [image_model, text_model])
def test_real_models_agree(make: Callable, tmp_path: Path) -> None:
    archive, model = converted(make(), tmp_path)
    openvino = ["--executor", "openvino"]
    code, said = run("convert", archive, "-o", model, *openvino, "--require-verified")
    assert code == 0, said["diagnostics"]
    assert said["verification"]["executor"].startswith("OpenVINO 20")
    assert len(said["verification"]["cases"]) > 1, "other sizes run as well"
    code, said = run("verify", model, "--against", archive, "--executor", "ort", *openvino)
    assert code == 0, said["diagnostics"]
    code, said = run("bisect", model, *openvino, "--against", "ort")
    assert code == 0, said["diagnostics"]
    assert len(said["bisect"]["values"]["rows"]) > 20, "intermediate values are compared"
    code, said = run("profile", model, *openvino, "--runs", 5)
    assert code == 0, said["diagnostics"]
    nodes = said["profile"]["nodes"]
    named = [node for node in nodes if node["how"] in ("name", "derived")]
    assert len(named) > len(nodes) / 2, "names are the model's, or begin with them"
    assert sum(node["times"]["median"] for node in nodes) > 0


def test_integers_computed_in_32_bits_are_found(tmp_path: Path) -> None:
    x = torch.full((2, 3), 100_000)
    archive, model = converted((Square(), (x,), None), tmp_path)
    assert run("convert", archive, "-o", model)[0] == 0
    np.savez(tmp_path / "x.npz", x=x.numpy())
    inputs = ["--inputs", tmp_path / "x.npz"]
    code, said = run("bisect", model, "--executor", "openvino", "--against", "ort", *inputs)
    assert code == 4, said
    node = said["bisect"]["fault"]["nodes"][0]
    assert node["operator"] == "Mul", said
