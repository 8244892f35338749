"""Differences between tensors, as `onnxport verify` measures them."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from onnxport import _native


@dataclass(frozen=True)
class Measured:
    """A tensor: the largest differences, and whether they are within the tolerances."""

    name: str
    passed: bool
    max_abs_diff: float
    max_rel_diff: float
    problem: str | None = None


def compare(
    names: Sequence[str],
    found: Sequence[torch.Tensor],
    wanted: Sequence[torch.Tensor],
    rtol: float | None = None,
    atol: float | None = None,
) -> list[Measured]:
    """Compare tensors, one after the other."""
    return [_compare(*one, rtol, atol) for one in zip(names, found, wanted, strict=False)]


def _compare(
    name: str, found: torch.Tensor, wanted: torch.Tensor, rtol: float | None, atol: float | None
) -> Measured:
    found, wanted = torch.as_tensor(found).detach().cpu(), wanted.detach().cpu()
    for what, mine, theirs in (
        ("shape", list(found.shape), list(wanted.shape)),
        ("element type", found.dtype, wanted.dtype),
    ):
        if mine != theirs:
            problem = f"its {what} is {mine} and not {theirs}".replace("torch.", "")
            return Measured(name, False, float("inf"), float("inf"), problem)
    dtype = str(wanted.dtype).removeprefix("torch.")
    said = _native.compare(dtype, list(wanted.shape), _bytes(found), _bytes(wanted), rtol, atol)
    if said is None:
        problem = f"tensors of {dtype} are not compared"
        return Measured(name, False, float("inf"), float("inf"), problem)
    difference = json.loads(said)
    off, relative = difference["max_abs"], difference["max_rel"]
    if difference["not_finite"]:
        off = relative = float("inf")
    return Measured(name, difference["wrong"] == 0, off, relative)


def _bytes(tensor: torch.Tensor) -> bytes:
    plain = tensor.resolve_conj().resolve_neg().contiguous()
    return ctypes.string_at(plain.data_ptr(), plain.nbytes) if plain.nbytes else b""
