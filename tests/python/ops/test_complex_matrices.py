"""Systems, inverses, powers and values of complex matrices."""

from __future__ import annotations

import torch

from tests.python.ops.harness import c64, case, f32, suite

A, B = c64(3, 4, 4), c64(3, 4, 2)


def definite(x):
    """Return positive definite matrices."""
    return x @ x.mH + torch.eye(x.shape[-1], dtype=x.dtype)


def factor(x):
    """Return lower triangular matrices with a positive diagonal."""
    return torch.linalg.cholesky(definite(x))


def singular(x):
    """Return matrices of rank 1 and more."""
    return x[..., :1] @ x[..., :1, :]


def solved(upper, left=True, unit=False):
    """Return a function that solves triangular systems."""

    def solve(a, b):
        a = a + 4 * torch.eye(4)
        return torch.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)

    return solve


def by_factors(left=True, adjoint=False):
    """Return a function that solves systems whose factors are given."""

    def solve(lu, b):
        pivots = torch.tensor([3, 2, 4, 4], dtype=torch.int32).expand(3, 4)
        return torch.linalg.lu_solve(lu + 4 * torch.eye(4), pivots, b, left=left, adjoint=adjoint)

    return solve


test_ops = suite(
    __file__,
    [
        case("aten.linalg_solve.default", torch.linalg.solve, A, B, dynamic=True, tolerance=40),
        case(
            "aten.linalg_solve.default",
            torch.linalg.solve,
            c64(4, 4),
            c64(4),
            id="vector",
            tolerance=40,
        ),
        case(
            "aten.linalg_solve.default",
            lambda a, b: torch.linalg.solve(a, b, left=False),
            A,
            c64(3, 2, 4),
            id="right",
            tolerance=40,
        ),
        case("aten.linalg_inv_ex.default", lambda a: torch.linalg.inv_ex(a * 0).info, A, id="info"),
        case("aten.linalg_inv.default", torch.linalg.inv, A, dynamic=True, tolerance=40),
        case(
            "aten.linalg_matrix_power.default",
            lambda a: torch.linalg.matrix_power(a, 5),
            A,
            tolerance=40,
        ),
        case(
            "aten.linalg_matrix_power.default",
            lambda a: torch.linalg.matrix_power(a, -2),
            A,
            id="inverse",
            tolerance=400,
        ),
        case(
            "aten.linalg_matrix_power.default",
            lambda a: torch.linalg.matrix_power(a, 0),
            A,
            id="zero",
            dynamic=True,
        ),
        case(
            "aten.linalg_matrix_exp.default", torch.linalg.matrix_exp, A, dynamic=True, tolerance=40
        ),
        case(
            "aten.linalg_matrix_exp.default",
            torch.linalg.matrix_exp,
            f32(2, 4, 4),
            id="real",
            dynamic=True,
            tolerance=40,
        ),
        case(
            "aten.linalg_matrix_exp.default",
            lambda a: torch.linalg.matrix_exp(a * torch.tensor([1e-3, 0, 5]).view(3, 1, 1)),
            f32(3, 4, 4),
            id="sizes",
            tolerance=100,
        ),
        case(
            "aten.matrix_exp.default",
            lambda a: torch.ops.aten.matrix_exp(a),
            f32(4, 4),
            tolerance=40,
        ),
        case("aten.linalg_cholesky.default", factor, A, dynamic=True, tolerance=10),
        case(
            "aten.linalg_cholesky_ex.default",
            lambda a: torch.linalg.cholesky_ex(definite(a), upper=True).L,
            A,
            id="upper",
            tolerance=10,
        ),
        case(
            "aten.cholesky_solve.default",
            lambda a, b: torch.cholesky_solve(b, factor(a)),
            A,
            B,
            tolerance=40,
        ),
        case(
            "aten.cholesky_inverse.default",
            lambda a: torch.cholesky_inverse(factor(a)),
            A,
            tolerance=40,
        ),
        *(
            case(
                "aten.linalg_solve_triangular.default", solved(upper, unit=unit), A, B, tolerance=40
            )
            for upper in (False, True)
            for unit in (False, True)
        ),
        case(
            "aten.linalg_solve_triangular.default",
            solved(True, left=False),
            A,
            c64(3, 2, 4),
            id="right",
            tolerance=40,
        ),
        case(
            "aten.triangular_solve.default",
            lambda a, b: torch.triangular_solve(b, a + 4 * torch.eye(4), transpose=True),
            A,
            B,
            tolerance=40,
        ),
        case(
            "aten.lu_unpack.default",
            lambda a: torch.lu_unpack(a, torch.tensor([3, 2, 3], dtype=torch.int32).expand(3, 3)),
            c64(3, 3, 4),
        ),
        *(
            case("aten.linalg_lu_solve.default", by_factors(adjoint=adjoint), A, B, tolerance=40)
            for adjoint in (False, True)
        ),
        case("aten.linalg_eigvalsh.default", torch.linalg.eigvalsh, A, dynamic=True, tolerance=10),
        case(
            "aten.linalg_eigvalsh.default",
            lambda a: torch.linalg.eigvalsh(a, "U"),
            A,
            id="upper",
            tolerance=10,
        ),
        case("aten.linalg_svdvals.default", torch.linalg.svdvals, B, dynamic=True, tolerance=10),
        case("aten.linalg_pinv.atol_rtol_tensor", torch.linalg.pinv, B, dynamic=True, tolerance=40),
        case(
            "aten.linalg_pinv.atol_rtol_tensor",
            lambda a: torch.linalg.pinv(singular(a)),
            A,
            id="singular",
            tolerance=100,
        ),
    ],
)
