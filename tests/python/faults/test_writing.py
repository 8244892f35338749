import random

import pytest

from tests.python.faults.bench import Bench
from tests.python.faults.scenarios import SCENARIOS


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("writing"), layers=6)


@pytest.mark.parametrize("name", SCENARIOS)
def test_old_or_new_remains(bench, name):
    scenario, times, _ = SCENARIOS[name]
    assert scenario(bench, times, random.Random(0)).total() > 0
