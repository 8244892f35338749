"""Relative errors of special functions over their domain, and their values at its ends.

The other tests compare with absolute tolerances, which small results pass whatever they are.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn, special

import onnxport

INF, NAN = float("inf"), float("nan")
TINY = torch.cat([sign * torch.logspace(-30, -0.31, 200) for sign in (1, -1)])
TAIL = torch.linspace(0.0, 9.0, 181)
SMALL = torch.logspace(-35, -0.01, 200)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def computed(function, *tensors):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onnxport.export(Function(function).eval(), tensors)(*tensors)[0]


@pytest.mark.parametrize(
    ("function", "x", "bound"),
    [
        (torch.log1p, TINY, 3e-7),
        (torch.log1p, torch.linspace(-0.99, 50, 300), 3e-7),
        (torch.expm1, TINY, 1e-6),
        (torch.erfc, TAIL, 2e-5),
        (special.erfcx, torch.linspace(0.0, 30.0, 100), 5e-6),
        (special.ndtri, SMALL, 2e-6),
        (special.ndtri, torch.linspace(0.01, 0.49, 97), 2e-6),
        (special.i1e, TINY.abs() * 20, 2e-6),
        (special.i1e, torch.linspace(0.05, 300.0, 500), 2e-6),
        (special.i0e, torch.linspace(0.0, 300.0, 500), 2e-6),
        (special.scaled_modified_bessel_k0, torch.logspace(-30, 4, 500), 3e-7),
        (special.scaled_modified_bessel_k1, torch.logspace(-30, 4, 500), 3e-7),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_relative_error_is_bounded(function, x, bound):
    exact = function(x.double())
    error = ((computed(function, x).double() - exact) / exact).abs()
    worst = error.nan_to_num(0.0).argmax()
    assert error[worst] <= bound, f"{error[worst]:.1e} at {x[worst]}"


def test_a_product_with_log1p_keeps_its_digits():
    x, y = torch.full_like(TINY, 3.0), TINY
    found, exact = computed(special.xlog1py, x, y), special.xlog1py(x.double(), y.double())
    assert ((found.double() - exact) / exact).abs().max() <= 3e-7


@pytest.mark.parametrize(
    ("function", "points"),
    [
        (torch.log1p, [[-1.0, -2.0, 0.0, INF, -INF, NAN]]),
        (torch.sign, [[NAN, INF, -INF, 0.0]]),
        (torch.sgn, [[NAN, -3.0]]),
        (torch.erfc, [[INF, -INF, NAN, 30.0]]),
        (special.ndtri, [[0.0, 1.0, 0.5, -0.1, 1.1, NAN]]),
        (torch.lgamma, [[INF, -INF, NAN, 0.0, -1.0]]),
        (torch.digamma, [[0.0, -0.0, -1.0, INF, NAN]]),
        (torch.hypot, [[INF, NAN, -INF, NAN, 1e30], [NAN, -INF, 1.0, 1.0, 1e30]]),
        (
            torch.atan2,
            [
                [INF, INF, -INF, -INF, 0.0, -0.0, 0.0, 0.0, NAN, 2.0, 2.0],
                [INF, -INF, INF, -INF, 0.0, -0.0, -0.0, NAN, 1.0, -INF, 2.0],
            ],
        ),
        (torch.floor_divide, [[1.0, -1.0, 1.0, -1.0, 0.0], [-INF, INF, INF, -INF, -INF]]),
        (
            special.zeta,
            [[1.0, 1.0, 2.0, 2.0, 3.5, 0.5, 3.0], [2.0, INF, 0.0, -3.0, -0.5, 1.0, -0.5]],
        ),
        (
            nn.functional.binary_cross_entropy_with_logits,
            [[INF, -INF, 100.0, -100.0, 0.0], [1.0, 0.0, 0.0, 1.0, 0.5]],
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_ends_of_a_domain_have_pytorchs_values(function, points):
    if function is nn.functional.binary_cross_entropy_with_logits:
        original = function
        function = lambda x, y: original(x, y, reduction="none")  # noqa: E731
    tensors = tuple(map(torch.tensor, points))
    expected = function(*tensors)
    found = computed(function, *tensors)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    known = found == 0
    assert torch.equal(found.signbit()[known], expected.signbit()[known])
