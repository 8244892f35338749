"""Models of other exporters, of the ONNX package and our own are the same after they were read."""

import re
from pathlib import Path

import onnx
import pytest

from tests.python import known_failures
from tests.python.importing import exported, same
from tests.python.models.registry import load_all
from tests.python.onnx_runtime import convert, read_cases

MODELS = load_all()
KNOWN = known_failures.load(Path(__file__).parents[1] / "models/known_failures.toml")
PACKAGE = Path(onnx.__file__).parent / "backend" / "test" / "data"
NODES = exported.ROOT / "target" / "onnx-tests" / "node"


def test_models_of_torch_onnx(tmp_path):
    exported.main()
    known = [export for export in exported.exports() if export.path.exists()]
    assert len(known) >= 200
    counts = same.judge_all(((e.path.parent.name, e.path, None) for e in known), tmp_path)
    assert counts["equal"] >= 195


def test_models_of_the_onnx_package(tmp_path):
    paths = sorted(PACKAGE.rglob("model.onnx")) + sorted(NODES.glob("*/model.onnx"))
    models = ((path.parent.name, path, same.recorded(path.parent)) for path in paths)
    counts = same.judge_all(models, tmp_path)
    # The others use operators that ONNX Runtime has no kernel for, or come without inputs.
    assert counts["equal"] > 0.6 * len(paths)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=known_failures.marks(KNOWN, name)) for name in MODELS]
)
def test_our_own_models(name, tmp_path):
    archive = MODELS[name].make()
    source = tmp_path / "source.onnx"
    convert(archive, source)
    for case in read_cases(archive):
        if any(re.search("bfloat16|float8", str(t.dtype)) for t in case.inputs.values()):
            values = None
        else:
            values = {key: tensor.numpy() for key, tensor in case.inputs.items()}
        assert same.judge(source, tmp_path / "copy.onnx", values) in ("equal", "not run", "random")
