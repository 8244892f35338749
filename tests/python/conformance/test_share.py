"""A tenth of PyTorch's operators in every kind; `cargo xtask conformance ops` runs all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.python import known_failures
from tests.python.conformance import samples
from tests.python.conformance.judge import judge

# One operator in this many, by their names in order.
SHARE = 10
SHARED = [(kind, name) for kind in samples.KINDS for name in samples.names(kind)[::SHARE]]
KNOWN = known_failures.load(Path(__file__).with_name("known_failures.toml"))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=known_failures.marks(KNOWN, f"{kind}/{name}"))
        for kind, name in SHARED
    ],
)
def test_a_sample_is_right_or_refused(kind, name):
    for sample in samples.samples(kind, name, 1):
        found = judge(sample)
        assert found.verdict in ("right", "refused", "not judged"), found.reason


def test_known_failures_name_samples():
    assert not known_failures.strays(KNOWN, {f"{kind}/{name}" for kind, name in SHARED})
