"""Factors of complex matrices, their eigenvectors and singular vectors.

Factors that are unique are compared, and products where phases are free.
"""

from __future__ import annotations

import torch

from tests.python.ops.harness import c64, c128, case, f32, suite

A, WIDE, TALL = c64(3, 4, 4), c64(2, 3, 5), c64(2, 5, 3)
EXACT = c128(2, 4, 4)
ATEN = torch.ops.aten


def hermitian(x):
    """Return Hermitian matrices."""
    return x + x.mH


def eigenvalues_and_product(x):
    """Return the eigenvalues, and the matrix that they and the eigenvectors determine."""
    values, vectors = torch.linalg.eigh(hermitian(x))
    return values, (vectors * values.unsqueeze(-2)) @ vectors.mH, vectors.mH @ vectors


def singular_values_and_products(full):
    """Return a function to the singular values, and to products of both factors."""

    def function(x):
        u, s, vh = torch.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        product = (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]
        return s, product, u.mH @ u, vh @ vh.mH

    return function


def reflected(left, transpose):
    """Return a function that multiplies by the orthogonal factor."""

    def function(a, c):
        factors, tau = torch.geqrf(a)
        return torch.ormqr(factors, tau, c, left, transpose)

    return function


def polar(x):
    """Return both factors, their product, and whether the columns are orthonormal."""
    u, h = torch.linalg.polar(x)
    return u, h, u @ h, u.mH @ u


def projection(x):
    """Return a matrix of rank one."""
    return x[..., :1] @ x[..., :1, :]


LU, LU_FACTOR = "aten.linalg_lu.default", "aten.linalg_lu_factor_ex.default"
QR, EIGH, SVD = "aten.linalg_qr.default", "aten.linalg_eigh.default", "aten.linalg_svd.default"
test_ops = suite(
    __file__,
    [
        case(LU, torch.linalg.lu, A, dynamic=True, tolerance=10),
        case(LU, torch.linalg.lu, WIDE, id="wide", tolerance=10),
        case(LU, torch.linalg.lu, TALL, id="tall", tolerance=10),
        case(LU, torch.linalg.lu, EXACT, id="double"),
        case(LU, lambda x: torch.linalg.lu(x * 0), A, id="zero"),
        case(LU_FACTOR, torch.linalg.lu_factor_ex, A, dynamic=True, tolerance=10),
        case(
            "aten.linalg_lu_factor.default",
            lambda x: ATEN.linalg_lu_factor(x),
            EXACT,
        ),
        case(
            "aten.linalg_det.default", lambda x: ATEN.linalg_det(x), A, dynamic=True, tolerance=10
        ),
        case("aten.linalg_det.default", torch.linalg.det, EXACT, id="double"),
        case("aten._linalg_det.default", lambda x: ATEN._linalg_det(x), A, id="all", tolerance=10),
        case("aten.linalg_det.default", lambda x: torch.linalg.det(x * 0), A, id="zero"),
        case("aten.linalg_det.default", torch.linalg.det, c64(2, 0, 0), id="no-rows"),
        case("aten.linalg_slogdet.default", torch.linalg.slogdet, A, dynamic=True, tolerance=10),
        case(
            "aten._linalg_slogdet.default",
            lambda x: ATEN._linalg_slogdet(x),
            A,
            id="all",
            tolerance=10,
        ),
        # The determinant itself would overflow.
        case(
            "aten.linalg_slogdet.default",
            lambda x: torch.linalg.slogdet(x * 1e15),
            A,
            id="large",
            tolerance=10,
        ),
        case("aten.slogdet.default", lambda x: torch.slogdet(x * 0), A, id="zero"),
        case("aten.slogdet.default", lambda x: ATEN.slogdet(x), A, tolerance=10),
        case("aten.logdet.default", lambda x: ATEN.logdet(x), A, tolerance=10),
        case("aten.det.default", lambda x: ATEN.det(x), A, tolerance=10),
        case(QR, torch.linalg.qr, A, dynamic=True, tolerance=10),
        case(QR, torch.linalg.qr, EXACT, id="double"),
        case(QR, torch.linalg.qr, WIDE, id="wide", tolerance=10),
        case(QR, torch.linalg.qr, TALL, id="tall", tolerance=10),
        case(QR, lambda x: torch.linalg.qr(x, mode="complete"), TALL, id="complete", tolerance=10),
        case(QR, lambda x: torch.linalg.qr(x, mode="r"), TALL, id="r", tolerance=10),
        case(QR, torch.linalg.qr, c64(0, 4, 3), id="no-matrix"),
        case("aten.geqrf.default", torch.geqrf, TALL, tolerance=10),
        case(
            "aten.linalg_householder_product.default",
            lambda x: torch.linalg.householder_product(*torch.geqrf(x)),
            TALL,
            tolerance=10,
        ),
        *(
            case(
                "aten.ormqr.default",
                reflected(left, transpose),
                c64(5, 5),
                c64(5, 5),
                id=f"{left}-{transpose}",
                tolerance=10,
            )
            for left in (True, False)
            for transpose in (True, False)
        ),
        case(EIGH, eigenvalues_and_product, A, dynamic=True, tolerance=20),
        case(EIGH, eigenvalues_and_product, EXACT, id="double"),
        case(EIGH, eigenvalues_and_product, c64(12, 12), id="larger", tolerance=40),
        case(EIGH, lambda x: eigenvalues_and_product(x * 0), A, id="zero"),
        case(
            EIGH,
            lambda x: eigenvalues_and_product(x * 1e-25)[0] / 1e-25,
            A,
            id="tiny",
            tolerance=20,
        ),
        case("aten._linalg_eigh.default", lambda x: ATEN._linalg_eigh(x, "U")[0], A, tolerance=10),
        case(SVD, singular_values_and_products(False), A, dynamic=True, tolerance=20),
        case(SVD, singular_values_and_products(True), EXACT, id="double"),
        case(SVD, singular_values_and_products(True), WIDE, id="wide", tolerance=20),
        case(SVD, singular_values_and_products(True), TALL, id="tall", tolerance=20),
        case(
            SVD,
            lambda x: singular_values_and_products(True)(projection(x)),
            EXACT,
            id="rank-one",
        ),
        case(SVD, singular_values_and_products(True), c64(2, 0, 3), id="no-rows"),
        case("aten.linalg_polar.default", polar, TALL, dynamic=True, tolerance=20),
        case("aten.linalg_polar.default", polar, EXACT, id="double"),
        case("aten.linalg_polar.default", polar, f32(2, 5, 3), id="real", tolerance=20),
        case(
            "aten.linalg_matrix_sqrth.default",
            lambda x: torch.linalg.matrix_sqrth(x @ x.mH + torch.eye(4)),
            A,
            tolerance=20,
        ),
        case(
            "aten.linalg_matrix_sqrth.default",
            lambda x: torch.linalg.matrix_sqrth(x @ x.mT + torch.eye(4)),
            f32(3, 4, 4),
            id="real",
            tolerance=20,
        ),
    ],
)
