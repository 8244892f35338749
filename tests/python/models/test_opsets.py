"""Small models are converted for every opset that can be emitted, and agree with PyTorch."""

import json
import subprocess

import onnx
import pytest

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import (
    ConvertError,
    binary,
    check_model,
    convert,
    read_cases,
    run_cases,
)

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

# Models of these are translated from opset 18; ONNX Runtime loads them still.
OLDER = (11, 13, 15, 17)

# The IR versions of the releases of ONNX that brought these opsets.
IR_VERSIONS = {11: 6, 13: 7, 15: 8, 17: 8}

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


@pytest.mark.parametrize("opset", OLDER)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "integers"])
def test_older_opset(name, opset, tmp_path):
    model = load_all()[name]
    archive = model.make()
    target = tmp_path / "m.onnx"
    convert(archive, target, "--opset", str(opset))
    check_model(target)
    written = onnx.load(str(target))
    assert {o.domain: o.version for o in written.opset_import}[""] == opset
    assert written.ir_version == IR_VERSIONS[opset]
    run_cases(target, list(read_cases(archive)), model.tolerance)


def test_operator_without_an_older_form(tmp_path):
    archive = load_all()["integers"].make()
    with pytest.raises(ConvertError, match=r"OP417.*`BitwiseAnd` in 1 node(?s:.)*awkward.py"):
        convert(archive, tmp_path / "m.onnx", "--opset", "17")
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize(
    ("version", "refusal"), [(7, None), (3, "is not one of"), (15, "is not one of")]
)
def test_ir_version(version, refusal, tmp_path):
    archive, target = load_all()["mlp"].make(), tmp_path / "m.onnx"
    options = ("--opset", "18", "--ir-version", str(version))
    if refusal:
        with pytest.raises(ConvertError, match=rf"OP306.*{refusal}"):
            convert(archive, target, *options)
        return
    convert(archive, target, *options)
    assert onnx.load(str(target)).ir_version == version


def test_every_opset_is_tried():
    assert max(OPSETS) == onnx.defs.onnx_opset_version()
