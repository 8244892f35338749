"""Every architecture of the zoo converts and agrees in ONNX Runtime.

Not found by pytest by itself: `python -m pytest tests/python/zoo/check.py`.
"""

from pathlib import Path

import pytest

from tests.python import known_failures
from tests.python.onnx_runtime import convert, read_cases, run_cases
from tests.python.zoo.registry import load_zoo

ZOO = load_zoo()
KNOWN = known_failures.load(Path(__file__).with_name("known_failures.toml"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=known_failures.marks(KNOWN, name)) for name in ZOO]
)
def test_architecture(name, tmp_path):
    model = ZOO[name]
    # Not into the cache: together they would fill a disk.
    archive = model.make(tmp_path)
    target = tmp_path / f"{name}.onnx"
    convert(archive, target)
    run_cases(target, list(read_cases(archive)), model.tolerance)


def test_known_failures_name_architectures():
    assert not known_failures.strays(KNOWN, set(ZOO))
