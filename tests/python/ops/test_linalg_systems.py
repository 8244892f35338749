"""Systems of equations, inverses and the factors that they need."""

from __future__ import annotations

import torch

from tests.python.ops.harness import case, f32, f64, suite


def definite(x):
    """Return positive definite matrices."""
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


def lower(x):
    """Return factors with a diagonal that is not small."""
    return torch.tril(x, -1) + torch.diag_embed(1 + x.diagonal(dim1=-2, dim2=-1).abs())


def exchanged(x):
    """Return matrices whose first pivots are zero."""
    return x.flip(-1).triu(1).flip(-1) + torch.eye(x.shape[-1], dtype=x.dtype).flip(-1)


ATEN = torch.ops.aten
test_ops = suite(
    __file__,
    [
        case("aten.linalg_inv.default", torch.linalg.inv, f32(4, 4), tolerance=10),
        case("aten.linalg_inv.default", torch.linalg.inv, f64(3, 4, 4), dynamic=True, id="batch"),
        case("aten.linalg_inv.default", torch.linalg.inv, f32(0, 4, 4), id="no-matrix"),
        case("aten.linalg_inv.default", torch.linalg.inv, f32(2, 0, 0), id="no-rows"),
        case(
            "aten.linalg_inv.default",
            lambda x: torch.linalg.inv(exchanged(x)),
            f64(5, 5),
            id="zero-pivots",
        ),
        case(
            "aten.linalg_inv_ex.default",
            lambda x: torch.linalg.inv_ex(x * 0).info,
            f32(2, 3, 3),
            id="singular",
        ),
        case("aten.linalg_solve.default", torch.linalg.solve, f64(4, 4), f64(4), id="vector"),
        case(
            "aten.linalg_solve.default",
            torch.linalg.solve,
            f64(3, 4, 4),
            f64(3, 4, 2),
            dynamic=True,
            id="batch",
        ),
        case(
            "aten.linalg_solve.default",
            torch.linalg.solve,
            f64(2, 1, 4, 4),
            f64(3, 4, 2),
            id="broadcast",
        ),
        case(
            "aten.linalg_solve.default",
            lambda a, b: torch.linalg.solve(a, b, left=False),
            f64(3, 4, 4),
            f64(3, 2, 4),
            id="right",
        ),
        case("aten.linalg_inv_ex.default", lambda x: ATEN.linalg_inv_ex(x), f64(3, 3)),
        case("aten.inverse.default", lambda x: ATEN.inverse(x), f64(3, 3)),
        case(
            "aten._linalg_solve_ex.default",
            lambda a, b: ATEN._linalg_solve_ex(a, b)[::3],
            f64(3, 3),
            f64(3, 2),
        ),
        case(
            "aten.linalg_cholesky_ex.default",
            lambda x: ATEN.linalg_cholesky_ex(definite(x)),
            f64(3, 3),
        ),
        case("aten.linalg_solve_ex.default", torch.linalg.solve_ex, f64(3, 3), f64(3, 2)),
        case("aten.linalg_lu.default", torch.linalg.lu, f64(4, 4), dynamic=True),
        case("aten.linalg_lu.default", torch.linalg.lu, f64(2, 3, 5), id="wide"),
        case("aten.linalg_lu.default", torch.linalg.lu, f64(2, 5, 3), id="tall"),
        case(
            "aten.linalg_lu.default",
            lambda x: torch.linalg.lu(exchanged(x)),
            f64(4, 4),
            id="pivots",
        ),
        case("aten.linalg_lu_factor.default", torch.linalg.lu_factor, f64(2, 4, 4)),
        case(
            "aten.linalg_lu_factor_ex.default", torch.linalg.lu_factor_ex, f64(2, 3, 4), id="info"
        ),
        case(
            "aten.lu_unpack.default",
            lambda x: torch.lu_unpack(*torch.linalg.lu_factor(x)),
            f64(2, 4, 3),
        ),
        *(
            case(
                "aten.linalg_lu_solve.default",
                lambda a, b, left=left, adjoint=adjoint: torch.linalg.lu_solve(
                    *torch.linalg.lu_factor(a), b, left=left, adjoint=adjoint
                ),
                f64(2, 4, 4),
                f64(2, 4, 3) if left else f64(2, 3, 4),
                id=f"left-{left}-adjoint-{adjoint}",
                tolerance=10,
            )
            for left in (True, False)
            for adjoint in (True, False)
        ),
        case(
            "aten.linalg_cholesky.default",
            lambda x: torch.linalg.cholesky(definite(x)),
            f64(3, 4, 4),
            dynamic=True,
        ),
        case(
            "aten.linalg_cholesky.default",
            lambda x: torch.linalg.cholesky(definite(x), upper=True),
            f32(4, 4),
            id="upper",
        ),
        case(
            "aten.linalg_cholesky_ex.default",
            lambda x: torch.linalg.cholesky_ex(-definite(x)).info,
            f32(2, 4, 4),
            id="not-definite",
        ),
        case(
            "aten.cholesky_solve.default",
            lambda b, x: torch.cholesky_solve(b, lower(x)),
            f64(2, 4, 3),
            f64(2, 4, 4),
        ),
        case(
            "aten.cholesky_solve.default",
            lambda b, x: torch.cholesky_solve(b, lower(x).mT, upper=True),
            f64(4, 3),
            f64(4, 4),
            id="upper",
        ),
        case(
            "aten.cholesky_inverse.default",
            lambda x: torch.cholesky_inverse(lower(x)),
            f64(2, 4, 4),
        ),
        *(
            case(
                "aten.linalg_solve_triangular.default",
                lambda a, b, upper=upper, left=left: torch.linalg.solve_triangular(
                    lower(a).mT if upper else lower(a), b, upper=upper, left=left
                ),
                f64(2, 4, 4),
                f64(2, 4, 3) if left else f64(2, 3, 4),
                id=f"upper-{upper}-left-{left}",
            )
            for upper in (True, False)
            for left in (True, False)
        ),
        case(
            "aten.linalg_solve_triangular.default",
            lambda a, b: torch.linalg.solve_triangular(a, b, upper=False, unitriangular=True),
            f64(4, 4),
            f64(3, 4, 2),
            id="unit-with-another-triangle",
        ),
        case(
            "aten.triangular_solve.default",
            lambda b, a: torch.triangular_solve(b, lower(a), upper=False, transpose=True),
            f64(2, 4, 3),
            f64(2, 4, 4),
        ),
    ],
)
