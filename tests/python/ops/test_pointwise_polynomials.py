"""Orthogonal polynomials."""

from __future__ import annotations

from functools import partial

import torch

from tests.python.ops.harness import case, f32, f64, suite

FAMILIES = (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
)
DEGREES = torch.tensor([-2.0, 0.0, 1.0, 2.0, 3.0, 5.7, 12.0], dtype=torch.float64)


def of_degree(name, degree, x):
    """Return the polynomial of one degree."""
    return getattr(torch.special, name)(x, degree)


def at(name, x, degrees):
    """Return the polynomials at one number."""
    return getattr(torch.special, name)(x, degrees)


test_ops = suite(
    __file__,
    [
        *(
            case(
                f"aten.special_{name}.default",
                getattr(torch.special, name),
                f64(5, 1, low=-1.5, high=1.5),
                DEGREES,
                dynamic=True,
            )
            for name in FAMILIES
        ),
        *(
            case(f"aten.special_{name}.n_scalar", partial(of_degree, name, 4), f32(6), tolerance=10)
            for name in FAMILIES
        ),
        *(
            case(f"aten.special_{name}.x_scalar", partial(at, name, 0.25), DEGREES)
            for name in FAMILIES
        ),
        case(
            "aten.special_legendre_polynomial_p.default",
            torch.special.legendre_polynomial_p,
            torch.tensor([-1.0, 1.0, 0.0]),
            torch.tensor([3.0, 3.0, 3.0]),
            id="ends",
        ),
        case(
            "aten.special_hermite_polynomial_h.default",
            torch.special.hermite_polynomial_h,
            f32(0),
            f32(0),
            id="empty",
        ),
        case(
            "aten.special_spherical_bessel_j0.default", torch.special.spherical_bessel_j0, f32(20)
        ),
        case(
            "aten.special_spherical_bessel_j0.default",
            torch.special.spherical_bessel_j0,
            torch.tensor([0.0, 1e-20, -0.4999, torch.inf, -torch.inf, torch.nan, 700.0]),
            id="ends",
        ),
    ],
)
