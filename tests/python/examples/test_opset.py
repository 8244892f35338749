"""`examples/opset`, as its README runs it: built, exported, converted with the plugin, compared."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary, convert

EXAMPLE = ROOT / "examples" / "opset"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIBRARY = {"linux": "libopset.so", "darwin": "libopset.dylib", "win32": "opset.dll"}


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


@pytest.mark.parametrize(
    ("opset", "form"), [("18", []), ("20", []), ("20", ["--decompose"])], ids=str
)
def test_the_model_equals_pytorch(tmp_path, library, opset, form):
    archive, model = tmp_path / "model.pt2", tmp_path / "model.onnx"
    run("export.py", archive, *form)
    with zipfile.ZipFile(archive) as parts:
        name = next(name for name in parts.namelist() if name.endswith("/model.json"))
        assert (b"auto_functionalized_v2" in parts.read(name)) == bool(form)
    convert(archive, model, "--plugin", library, "--opset", opset)
    text = run("compare.py", model)
    assert "local functions: example::Swish\n" in text
    assert text.count("equal") == 2


def test_a_refusal_has_the_code_of_the_plugin(tmp_path, library):
    archive = tmp_path / "model.pt2"
    script = EXAMPLE / "export.py"
    source = script.read_text().replace("Model()", "Refused()")
    refused = "class Refused(Model):\n    def forward(self, x):\n        y = x + 0\n"
    refused += "        torch.ops.example.clip_rows_(y, -1.0)\n        return y\n"
    source = source.replace("batch = ", refused + "batch = ", 1)
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE)}
    command = [forked.python(), "-c", source, archive]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    command = [binary(), "check", archive, "--plugin", library]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "error[example:E01]" in result.stderr + result.stdout
    assert "argument `limit` is negative" in result.stderr + result.stdout
