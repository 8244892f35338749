"""Orthogonal factors, eigenvalues and singular values.

Eigenvectors and singular vectors are unique but for signs: products without signs are compared.
"""

from __future__ import annotations

import torch

from tests.python.ops.harness import case, f32, f64, suite


def symmetric(x):
    """Return symmetric matrices."""
    return x + x.mT


def eigenvalues_and_product(x):
    """Return the eigenvalues, and the matrix that they and the eigenvectors determine."""
    values, vectors = torch.linalg.eigh(symmetric(x))
    return values, (vectors * values.unsqueeze(-2)) @ vectors.mT, vectors.mT @ vectors


def singular_values_and_products(full):
    """Return a function to the singular values, and to products of both factors."""

    def function(x):
        u, s, vh = torch.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        product = (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]
        return s, product, u.mT @ u, vh @ vh.mT

    return function


def scaled(function, scale):
    """Return a function of matrices times `scale`, whose result is divided by it."""
    return lambda x: function(x * scale) / scale


def remultiplied(x):
    """Return the product of the orthogonal and the upper factor."""
    q, r = torch.linalg.qr(x)
    return q @ r


def projection(x):
    """Return a matrix of rank one."""
    return x[..., :1] @ x[..., :1, :]


ATEN = torch.ops.aten
EIGH, EIGVALSH = "aten.linalg_eigh.default", "aten.linalg_eigvalsh.default"
SVD, SVDVALS = "aten.linalg_svd.default", "aten.linalg_svdvals.default"
QR, PINV = "aten.linalg_qr.default", "aten.linalg_pinv.atol_rtol_tensor"
PINV_OF_FLOATS = "aten.linalg_pinv.atol_rtol_float"
test_ops = suite(
    __file__,
    [
        case(QR, torch.linalg.qr, f64(4, 4), dynamic=True),
        case(QR, torch.linalg.qr, f32(2, 5, 3), id="tall", tolerance=10),
        case(QR, torch.linalg.qr, f64(2, 3, 5), id="wide"),
        case(QR, lambda x: torch.linalg.qr(x, mode="complete"), f64(2, 5, 3), id="complete"),
        case(QR, lambda x: torch.linalg.qr(x, mode="r").R, f64(2, 5, 3), id="r"),
        case(QR, lambda x: torch.linalg.qr(x.triu()), f64(4, 4), id="upper"),
        case(QR, torch.linalg.qr, f64(0, 4, 3), id="no-matrix"),
        # Squares of these numbers vanish in float32, or overflow.
        *(
            case(op, scaled(function, scale), f32(5, 5), id=f"times-{scale}", tolerance=20)
            for scale in (1e-25, 1e25)
            for op, function in (
                (QR, remultiplied),
                (EIGVALSH, torch.linalg.eigvalsh),
                (SVDVALS, torch.linalg.svdvals),
                ("aten.geqrf.default", lambda x: torch.geqrf(x).a.triu()),
            )
        ),
        case("aten.geqrf.default", torch.geqrf, f64(2, 5, 3)),
        case(
            "aten.linalg_householder_product.default",
            lambda x: torch.linalg.householder_product(*torch.geqrf(x)),
            f64(2, 5, 3),
        ),
        *(
            case(
                "aten.ormqr.default",
                lambda x, c, left=left, transpose=transpose: torch.ormqr(
                    *torch.geqrf(x), c, left=left, transpose=transpose
                ),
                f64(2, 4, 3),
                f64(2, 4, 3) if left else f64(2, 3, 4),
                id=f"left-{left}-transpose-{transpose}",
            )
            for left in (True, False)
            for transpose in (True, False)
        ),
        case(EIGH, eigenvalues_and_product, f64(5, 5), dynamic=True),
        case(EIGH, eigenvalues_and_product, f32(3, 6, 6), id="batch", tolerance=20),
        case(
            EIGVALSH, lambda x: torch.linalg.eigvalsh(x, UPLO="U"), f64(4, 4), id="upper-triangle"
        ),
        case(EIGVALSH, lambda x: torch.linalg.eigvalsh(x), f64(40, 40), id="lower-triangle-of-40"),
        case(EIGH, lambda x: eigenvalues_and_product(projection(x)), f64(4, 4), id="rank-1"),
        case(EIGH, lambda x: torch.linalg.eigh(x * 0).eigenvalues, f64(2, 4, 4), id="zeros"),
        case(EIGVALSH, lambda x: torch.linalg.eigvalsh(symmetric(x)), f64(1, 1), id="1-by-1"),
        case(SVD, singular_values_and_products(False), f64(4, 4), dynamic=True),
        case(SVD, singular_values_and_products(False), f32(3, 6, 4), id="tall", tolerance=20),
        case(SVD, singular_values_and_products(False), f64(3, 4, 6), id="wide"),
        case(SVD, singular_values_and_products(True), f64(2, 6, 4), id="full-tall"),
        case(SVD, singular_values_and_products(True), f64(2, 4, 6), id="full-wide"),
        case(
            SVD, lambda x: singular_values_and_products(True)(projection(x)), f64(5, 4), id="rank-1"
        ),
        case(SVDVALS, torch.linalg.svdvals, f64(30, 20), id="values-of-30-by-20"),
        case(SVDVALS, torch.linalg.svdvals, f64(0, 3), id="no-rows"),
        case("aten.linalg_matrix_rank.atol_rtol_tensor", torch.linalg.matrix_rank, f32(5, 4)),
        case("aten.linalg_cond.default", torch.linalg.cond, f64(4, 4), tolerance=10),
        case(EIGVALSH, torch.linalg.eigvalsh, f64(2, 0, 0), id="no-rows"),
        case(SVD, singular_values_and_products(True), f64(2, 3, 0), id="no-columns"),
        case(
            "aten.linalg_matrix_rank.atol_rtol_tensor",
            torch.linalg.matrix_rank,
            f64(2, 0, 3),
            id="no-rows",
        ),
        case(
            "aten.linalg_matrix_norm.str_ord",
            lambda x: torch.linalg.matrix_norm(x, "nuc"),
            f64(2, 4, 3),
        ),
        case(
            "aten.linalg_matrix_norm.default",
            lambda x: torch.linalg.matrix_norm(x, 2, dim=(0, 2), keepdim=True),
            f64(4, 2, 3),
            id="2",
        ),
        case(
            "aten.linalg_matrix_norm.default",
            lambda x: torch.linalg.matrix_norm(x, -2),
            f64(4, 3),
            id="-2",
        ),
        case(
            "aten.linalg_matrix_power.default",
            lambda x: torch.linalg.matrix_power(x, -3),
            f64(4, 4),
            tolerance=1000,
        ),
        case(PINV, torch.linalg.pinv, f64(0, 3), id="no-rows"),
        case("aten.linalg_pinv.default", lambda x: ATEN.linalg_pinv.default(x, 1e-9), f64(4, 3)),
        case(
            "aten.linalg_pinv.rcond_tensor",
            lambda x, rcond: ATEN.linalg_pinv.rcond_tensor(x, rcond),
            f64(4, 3),
            torch.tensor(1e-9, dtype=torch.float64),
        ),
        case("aten.pinverse.default", lambda x: ATEN.pinverse.default(x), f64(4, 3)),
        case(
            "aten.linalg_matrix_rank.atol_rtol_float",
            lambda x: ATEN.linalg_matrix_rank.atol_rtol_float(x, atol=0.3),
            f64(4, 4),
        ),
        case(
            "aten.linalg_matrix_rank.default",
            lambda x: ATEN.linalg_matrix_rank.default(x, 0.3),
            f64(4, 4),
        ),
        case(
            "aten.linalg_matrix_rank.tol_tensor",
            lambda x, tol: ATEN.linalg_matrix_rank.tol_tensor(x, tol),
            f64(4, 4),
            torch.tensor(0.3, dtype=torch.float64),
        ),
        case("aten._linalg_svd.default", lambda x: ATEN._linalg_svd(x)[1], f64(4, 3)),
        case("aten.svd.default", lambda x: ATEN.svd(x)[1], f64(4, 3)),
        case("aten._linalg_eigh.default", lambda x: ATEN._linalg_eigh(x)[0], f64(4, 4)),
        case(
            "aten.orgqr.default",
            lambda x, tau: ATEN.orgqr(x, tau),
            f64(4, 3),
            f64(3, low=0.0, high=1.0),
        ),
        case(PINV, torch.linalg.pinv, f64(2, 5, 3), tolerance=10),
        case(
            PINV, lambda x: torch.linalg.pinv(projection(x)), f64(4, 4), id="rank-1", tolerance=10
        ),
        case(
            PINV_OF_FLOATS,
            lambda x: torch.linalg.pinv(x, rtol=0.3),
            f64(4, 4),
            id="rtol",
            tolerance=10,
        ),
        case(
            PINV_OF_FLOATS,
            lambda x: torch.linalg.pinv(x, atol=0.5),
            f64(4, 4),
            id="atol",
            tolerance=10,
        ),
        case(
            PINV,
            lambda x: torch.linalg.pinv(symmetric(x), hermitian=True),
            f64(4, 4),
            id="hermitian",
            tolerance=10,
        ),
        *(
            case(
                "aten.linalg_cond.default",
                lambda x, p=p: torch.linalg.cond(x, p),
                f64(2, 4, 4),
                id=f"{p}",
                tolerance=10,
            )
            for p in (1, -1, float("inf"), float("-inf"))
        ),
        *(
            case(
                "aten.linalg_cond.p_str",
                lambda x, p=p: torch.linalg.cond(x, p),
                f64(2, 4, 4),
                id=p,
                tolerance=10,
                dynamic=({0: torch.export.Dim.AUTO},),
            )
            for p in ("fro", "nuc")
        ),
        case(
            "aten.linalg_cond.p_str",
            lambda x: torch.linalg.cond(x, "fro"),
            torch.zeros(3, 3),
            id="singular",
        ),
    ],
)
