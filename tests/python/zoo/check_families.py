"""Families of transformers that generate text, exported from two plain calls of `generate`.

Each phase of the observed calls becomes a model. It must compute the same as the module in
every step of other calls of `generate`, with other batches and lengths. Not found by pytest by
itself: `python -m pytest tests/python/zoo/check_families.py`, an hour.
"""

from __future__ import annotations

import pytest
import torch

from tests.python import known_failures
from tests.python.zoo import families, generating

KNOWN = {family: reason for family, reason in families.results().items() if reason}


def marks(family: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a family: a known failure must fail; some are not tried."""
    reason = KNOWN.get(family, "")
    if families.is_untried(reason):
        return [pytest.mark.skip(reason=reason)]
    return known_failures.marks(KNOWN, family)


@pytest.mark.parametrize(
    "family", [pytest.param(family, marks=marks(family)) for family in families.FAMILIES]
)
def test_every_step_of_other_calls_is_the_same(family, tmp_path):
    torch.manual_seed(0)
    model = generating.prepare(families.build(family))
    assert not generating.problems(model, tmp_path / "models")
