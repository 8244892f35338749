"""Small models agree with PyTorch in the reference evaluator, as they do in ONNX Runtime."""

import json
import subprocess

import pytest

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary

# A network of each kind whose evaluation takes a second or less.
NAMES = [
    "mlp",
    "mnist_convnet",
    "gpt2",
    "llama_cache",
    "lstm_classifier",
    "mutated_buffer",
    "nested_views",
    "cond",
    "while_loop",
    "integers",
]


@pytest.mark.parametrize("name", NAMES)
def test_reference(name, tmp_path):
    archive = load_all()[name].make()
    command = [binary(), "convert", archive, "-o", tmp_path / "m.onnx", "--json"]
    command += ["--executor", "reference", "--require-verified"]
    done = subprocess.run(command, capture_output=True, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == 0, said["diagnostics"]
    verification = said["verification"]
    assert verification["executor"].startswith("the reference evaluator")
    assert verification["values_compared"]
    assert verification["cases"]
