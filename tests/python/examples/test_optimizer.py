"""`examples/optimizer`, as its README runs it: the optimized model equals the plain one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary, convert

EXAMPLE = ROOT / "examples" / "optimizer"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIBRARY = {"linux": "liboptimizer.so", "darwin": "liboptimizer.dylib", "win32": "optimizer.dll"}


@pytest.fixture(scope="module")
def library() -> Path:
    """Return the plugin, built."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "build", "--quiet", "--locked", "--target-dir", TARGET]
    subprocess.run(command, cwd=EXAMPLE, check=True)
    return TARGET / "debug" / LIBRARY[sys.platform]


def run(script: str, *arguments: str | Path) -> str:
    """Run a script of the example and return its output."""
    command = [forked.python(), EXAMPLE / script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


# Convolutions of 1 x 1 and 3 x 3, strides and paddings; grouped ones in the second model.
@pytest.mark.parametrize(
    ("name", "convolutions"), [("squeezenet1_1", 26), ("mobilenet_v3_small", 52)]
)
def test_products_equal_convolutions(tmp_path, library, name, convolutions):
    archive = tmp_path / "model.pt2"
    plain, optimized = tmp_path / "plain.onnx", tmp_path / "optimized.onnx"
    run("export.py", name, archive)
    convert(archive, plain, "--plugin", library, "--no-optimize")
    convert(archive, optimized, "--plugin", library)
    text = run("compare.py", plain, optimized)
    assert f"plain.onnx: {convolutions} Conv, 0 MatMul" in text
    assert f"optimized.onnx: 0 Conv, {convolutions} MatMul" in text
    assert text.count("equal") == 2


def test_a_rule_is_explained(tmp_path, library):
    archive, model = tmp_path / "model.pt2", tmp_path / "model.onnx"
    run("export.py", "squeezenet1_1", archive)
    command = [binary(), "convert", archive, "-o", model, "--no-verify", "--plugin", library]
    command += ["--explain-rule", "relu_behind_pool"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "relu_behind_pool 1 (optimizer), conv_to_matmul 1 (optimizer)" in result.stdout
    places = result.stdout.split("places of relu_behind_pool\n")[1]
    assert places.count("applied") == 1
    assert "found `Concat` instead of `Relu`" in places
