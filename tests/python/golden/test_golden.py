"""Archives of older torch versions convert and agree."""

from pathlib import Path

import pytest

from tests.python.onnx_runtime import check_model, convert, read_cases, run_cases

HERE = Path(__file__).parents[2] / "files/golden"
ARCHIVES = sorted(HERE.glob("torch-*/*.pt2"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden(archive, tmp_path):
    target = tmp_path / "model.onnx"
    convert(archive, target)
    check_model(target)
    run_cases(target, list(read_cases(archive)))


def test_every_version_has_the_same_programs():
    programs = {path.stem for path in ARCHIVES}
    for folder in HERE.glob("torch-*"):
        assert {path.stem for path in folder.glob("*.pt2")} == programs
