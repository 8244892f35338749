"""Our own models are the same after they were read."""

from pathlib import Path

import pytest

from tests.python import known_failures
from tests.python.importing import same, sources
from tests.python.models.registry import load_all
from tests.python.onnx_runtime import convert, read_cases

MODELS = load_all()
KNOWN = known_failures.load(Path(__file__).parents[1] / "models/known_failures.toml")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=known_failures.marks(KNOWN, name)) for name in MODELS]
)
def test_our_own_models(name, tmp_path):
    archive = MODELS[name].make()
    source = tmp_path / "source.onnx"
    convert(archive, source)
    for case in read_cases(archive):
        values = sources.inputs(case)
        assert same.judge(source, tmp_path / "copy.onnx", values) in ("equal", "not run", "random")
