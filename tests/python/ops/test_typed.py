"""A share of PyTorch's operator samples against the check of types; `typed.py` runs all of them."""

from __future__ import annotations

import pytest

from tests.python.conformance.samples import full_name
from tests.python.ops.typed import operators, refusals

# One operator in this many, by their names in order.
SHARE = 8
# Operators that were refused once, and those whose facts have mechanisms of their own.
NAMED = (
    "masked_scatter",
    "nn.functional.scaled_dot_product_attention",
    "fft.fft",
    "fft.irfftn",
    "fft.rfft2",
    "repeat_interleave",
    "searchsorted",
    "take_along_dim",
    "nn.functional.binary_cross_entropy_with_logits",
)


@pytest.mark.parametrize("name", sorted({full_name(op) for op in operators()})[::SHARE])
def test_samples_are_not_called_contradictions(name):
    for op in operators([name]):
        assert refusals(op, 1, ("static",))[1] == []


@pytest.mark.parametrize("name", NAMED)
def test_samples_of_dynamic_sizes_are_not_called_contradictions(name):
    for op in operators([name]):
        checked, said = refusals(op, 2)
        assert checked
        assert said == []
