"""Facts that determine the results of operators whose results are not unique.

A factorization has free signs and orders: the product of its factors is compared instead.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.python.conformance.samples import Sample

Results = list[Tensor]


def qr(_: Sample, results: Results) -> Results:
    """Return the product and the absolute values of both factors."""
    q, r = results
    return [q @ r, r.abs()] if q.numel() else [r.abs()]


def svd(_: Sample, results: Results) -> Results:
    """Return the singular values and the product of the factors that belong to them."""
    u, s, v = results
    k = s.shape[-1]
    return [s, (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k, :]]


def svd_transposed(_: Sample, results: Results) -> Results:
    """Return the same for `torch.svd`, which returns V and not its conjugate transpose."""
    u, s, v = results
    k = s.shape[-1]
    return [s, (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k].mH]


def eigh(_: Sample, results: Results) -> Results:
    """Return the eigenvalues and the matrix that both determine."""
    values, vectors = results
    return [values, (vectors * values.unsqueeze(-2)) @ vectors.mH]


def eig(_: Sample, results: Results) -> Results:
    """Return the eigenvalues in order and the matrix that both determine."""
    values, vectors = results
    product = vectors @ torch.diag_embed(values) @ torch.linalg.pinv(vectors)
    return [product.real, product.imag]


def eigvals(_: Sample, results: Results) -> Results:
    """Return sums of powers of the eigenvalues, and their sizes in order."""
    values = results[0]
    powers = [(values**power).sum(-1) for power in (1, 2)]
    return [
        *(part for power in powers for part in (power.real, power.imag)),
        values.abs().sort()[0],
    ]


# The position of `dim` among the arguments after the tensor.
DIM = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1, "mode": 0, "median": 0, "nanmedian": 0}


def ordered(sample: Sample, results: Results) -> Results:
    """Return the values, and those at the indices: among equal values, PyTorch's choice is free."""
    first, args, kwargs = sample.module.arguments(sample.tensors)
    indices = results[-1]
    if indices.dtype is not torch.int64 or first.ndim == 0:
        return results
    position = DIM[sample.name]
    dim = kwargs.get("dim", args[position] if len(args) > position else -1)
    kept = indices if indices.ndim == first.ndim else indices.unsqueeze(dim)
    return [*results[:-1], first.gather(dim, kept)]


INVARIANTS: dict[str, Callable[[Sample, Results], Results]] = {
    "linalg.qr": qr,
    "qr": qr,
    "linalg.svd": svd,
    "svd": svd_transposed,
    "linalg.eigh": eigh,
    "linalg.eig": eig,
    "linalg.eigvals": eigvals,
    **dict.fromkeys(DIM, ordered),
}
