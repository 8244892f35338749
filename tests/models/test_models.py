"""Every registered model converts from its raw archive and agrees in ONNX Runtime."""

from pathlib import Path

import pytest

from tests import known_failures
from tests.models.registry import load_all
from tests.onnx_runtime import check_model, convert, read_cases, run_cases

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
    run_cases(target, list(read_cases(archive)), model.tolerance)


def test_known_failures_name_models():
    assert not known_failures.strays(KNOWN, set(MODELS))
