"""Every registered model converts from its raw archive and agrees in ONNX Runtime."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.python import known_failures
from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary, check_model, convert, read_cases, run_cases

MODELS = load_all()
KNOWN = known_failures.load(Path(__file__).with_name("known_failures.toml"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=known_failures.marks(KNOWN, name)) for name in MODELS]
)
def test_model(name, tmp_path):
    model = MODELS[name]
    archive = model.make()
    target = tmp_path / f"{name}.onnx"
    convert(archive, target)
    check_model(target)
    check_size(archive, target)
    run_cases(target, list(read_cases(archive)), model.tolerance)


def check_size(archive, target):
    command = [binary(), "inspect", archive, "--json"]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    weights = json.loads(said)["program"]["weight_bytes"]
    # Below, the graph is as large as its weights.
    if weights > 4_000_000:
        written = sum(path.stat().st_size for path in target.parent.iterdir())
        assert written <= 1.02 * weights


def test_known_failures_name_models():
    assert not known_failures.strays(KNOWN, set(MODELS))
