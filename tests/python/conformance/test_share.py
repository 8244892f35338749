"""A share of PyTorch's samples; `python -m tests.python.conformance` runs all of them."""

from __future__ import annotations

import pytest

from tests.python.conformance import samples
from tests.python.conformance.judge import judge

# One operator in this many, by their names in order.
SHARE = 24
KINDS = ("float32", "int64", "modules")


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in samples.names(kind)[::SHARE]]
)
def test_a_sample_is_right_or_refused(kind, name):
    for sample in samples.samples(kind, name, 1):
        found = judge(sample)
        assert found.verdict in ("right", "refused", "not judged"), found.reason
