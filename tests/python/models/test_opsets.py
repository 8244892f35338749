"""Small models are converted for every opset that can be emitted, and agree with PyTorch."""

import json
import subprocess

import onnx
import pytest

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary, check_model, convert, read_cases, run_cases

# Layers, convolutions, attention, recurrence, branches, loops, integers, half precision.
NAMES = [
    "mlp",
    "mnist_convnet",
    "gpt2",
    "llama_cache",
    "lstm_classifier",
    "cond",
    "while_loop",
    "scan",
    "complex_rope",
    "integers",
    "linear_fp16",
    "mutated_buffer",
]

OPSETS = range(18, 29)

# The newest opset that the pinned ONNX Runtime takes.
RUNTIME = 26


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", NAMES)
def test_opset(name, opset, tmp_path):
    model = load_all()[name]
    archive = model.make()
    target = tmp_path / "m.onnx"
    convert(archive, target, "--opset", str(opset))
    check_model(target)
    imports = {o.domain: o.version for o in onnx.load(str(target)).opset_import}
    assert imports[""] == opset
    if opset <= RUNTIME:
        run_cases(target, list(read_cases(archive)), model.tolerance)
        return
    command = [binary(), "convert", archive, "-o", target, "--json"]
    command += ["--opset", str(opset), "--executor", "reference", "--require-verified"]
    done = subprocess.run(command, capture_output=True, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == 0, said["diagnostics"]
    assert said["verification"]["values_compared"]


def test_every_opset_is_tried():
    assert max(OPSETS) == onnx.defs.onnx_opset_version()
