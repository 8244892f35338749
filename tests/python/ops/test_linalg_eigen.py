"""Eigenvalues of matrices without symmetry, and factors of symmetric ones that are indefinite.

Eigenvalues have no order: symmetric functions of them are compared.
"""

from __future__ import annotations

import torch

from tests.python.ops.harness import c64, c128, case, f32, f64, suite

ATEN = torch.ops.aten


def complex_of(x):
    """Return complex matrices."""
    return x if x.is_complex() else torch.complex(x, torch.zeros_like(x))


def rebuilt(x):
    """Return the matrices that eigenvalues and eigenvectors determine, and the vectors' lengths."""
    values, vectors = torch.linalg.eig(x)
    product = (vectors * values.unsqueeze(-2)) @ torch.linalg.inv(vectors)
    return product, torch.linalg.vector_norm(vectors, dim=-2)


def residual(x):
    """Return the difference of both sides of the definition, and the vectors' lengths."""
    values, vectors = torch.linalg.eig(x)
    difference = complex_of(x) @ vectors - vectors * values.unsqueeze(-2)
    return difference + 1, torch.linalg.vector_norm(vectors, dim=-2)


def symmetric_functions(x):
    """Return the sums of powers of eigenvalues, and their sizes in order."""
    values = torch.linalg.eigvals(x)
    powers = [values.sum(-1), (values * values).sum(-1), (values * values * values).sum(-1)]
    return (*powers, values.abs().sort().values)


def nilpotent(x):
    """Return a matrix with a chain of equal eigenvalues."""
    return x * 0 + torch.diag(torch.ones(3, dtype=x.dtype), 1)


def cyclic(x):
    """Return the permutation of a cycle, on which QR steps without shifts do nothing."""
    return x * 0 + torch.eye(4, dtype=x.dtype).roll(1, 0)


def symmetric(x):
    """Return symmetric matrices, which are indefinite."""
    return x + x.mT


def hermitian(x):
    """Return Hermitian matrices, which are indefinite."""
    return x + x.mH


def hollow(x):
    """Return symmetric matrices with zeros on the diagonal, which need pivots of two rows."""
    return symmetric(x) * (1 - torch.eye(x.shape[-1]))


def factored(form, hermitian=False):
    """Return a function to the factors and pivots."""
    return lambda x: torch.linalg.ldl_factor_ex(form(x), hermitian=hermitian)


def solved(form, hermitian=False):
    """Return a function that solves systems by factors."""

    def function(x, b):
        factors, pivots = torch.linalg.ldl_factor(form(x), hermitian=hermitian)
        return torch.linalg.ldl_solve(factors, pivots, b, hermitian=hermitian)

    return function


EIG, EIGVALS = "aten.linalg_eig.default", "aten.linalg_eigvals.default"
LDL, SOLVE = "aten.linalg_ldl_factor_ex.default", "aten.linalg_ldl_solve.default"
SLOGDET = "aten.linalg_slogdet.default"
test_ops = suite(
    __file__,
    [
        case(EIG, rebuilt, f32(3, 4, 4), dynamic=True, tolerance=100),
        case(EIG, rebuilt, f64(2, 5, 5), id="double", tolerance=10),
        case(EIG, rebuilt, c64(2, 4, 4), id="complex", tolerance=100),
        case(EIG, rebuilt, c128(6, 6), id="complex-double", tolerance=10),
        case(EIG, residual, f64(20, 20), id="larger", tolerance=10),
        case(EIG, residual, f32(2, 1, 1), id="one-row"),
        case(EIG, lambda x: residual(nilpotent(x)), f64(4, 4), id="chain", tolerance=10),
        case(EIG, lambda x: residual(cyclic(x)), f64(4, 4), id="cycle", tolerance=10),
        case(EIG, lambda x: residual(symmetric(x)), f64(5, 5), id="symmetric", tolerance=10),
        case(EIG, lambda x: residual(x.triu()), f64(5, 5), id="upper", tolerance=10),
        case(EIG, lambda x: residual(x * 0), f64(3, 3), id="zero"),
        case(EIG, torch.linalg.eig, f32(2, 0, 0), id="no-rows"),
        case(EIG, torch.linalg.eig, c64(0, 3, 3), id="no-matrix"),
        case(EIGVALS, symmetric_functions, f64(2, 5, 5), dynamic=True, tolerance=10),
        case(EIGVALS, symmetric_functions, c128(4, 4), id="complex", tolerance=10),
        case(
            EIGVALS,
            lambda x: torch.linalg.eigvals(x * 1e25).sum(-1) / 1e25,
            f32(3, 3),
            id="large",
            tolerance=20,
        ),
        case(
            "aten._linalg_eigvals.default",
            lambda x: ATEN._linalg_eigvals(x).sum(-1),
            f64(4, 4),
            tolerance=10,
        ),
        case(LDL, factored(symmetric), f64(3, 5, 5), dynamic=True),
        case(LDL, factored(hollow), f32(3, 5, 5), id="hollow", tolerance=20),
        case(LDL, factored(symmetric), c128(3, 5, 5), id="complex"),
        case(LDL, factored(hermitian, True), c128(3, 5, 5), id="hermitian"),
        case(LDL, factored(lambda x: x * 0), f64(3, 3), id="zero"),
        case(LDL, factored(symmetric), f64(0, 3, 3), id="no-matrix"),
        case(LDL, factored(symmetric), f64(0, 0), id="no-rows"),
        case(
            "aten.linalg_ldl_factor.default",
            lambda x: ATEN.linalg_ldl_factor(symmetric(x)),
            f64(4, 4),
        ),
        case(SOLVE, solved(symmetric), f64(3, 5, 5), f64(3, 5, 2), dynamic=True, tolerance=10),
        case(SOLVE, solved(hollow), f64(3, 4, 4), f64(3, 4, 2), id="hollow", tolerance=10),
        case(SOLVE, solved(symmetric), c64(4, 4), c64(4, 3), id="complex", tolerance=200),
        case(
            SOLVE,
            solved(hermitian, True),
            c128(3, 6, 6),
            c128(3, 6, 2),
            id="hermitian",
            tolerance=10,
        ),
        case(SLOGDET, torch.linalg.slogdet, f64(3, 4, 4), dynamic=True),
        # The determinant itself would overflow.
        case(
            SLOGDET, lambda x: torch.linalg.slogdet(x * 1e15), f32(4, 4), id="large", tolerance=10
        ),
        case("aten.logdet.default", torch.logdet, f64(5, 3, 3)),
        case("aten._linalg_slogdet.default", lambda x: ATEN._linalg_slogdet(x)[:2], f64(5, 3, 3)),
        # ONNX Runtime computes determinants of float64 in float32.
        case("aten.linalg_det.default", torch.linalg.det, f64(3, 6, 6), dynamic=True),
    ],
)
