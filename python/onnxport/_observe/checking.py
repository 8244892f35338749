"""Compares a model with the observed results of its module."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import torch

from onnxport._observe.calls import Call


def rows(
    program: Any,
    calls: Sequence[Call],
    feeds: Sequence[Sequence[Any]],
    atol: float,
    rtol: float,
    initializer: Any,
    skip_none: bool,
) -> list[dict[str, Any]]:
    """Return one row for each call; see `Observer.check_discrepancies`."""
    program.initialize_inference_session(initializer)
    try:
        names = program.input_names
        return [
            {
                **_row(
                    program,
                    dict(zip(names, given, strict=True)),
                    call.outputs,
                    atol,
                    rtol,
                    skip_none,
                ),
                "index": number,
                "duration_torch": call.seconds[0] if call.seconds else None,
                "n_inputs": len(names),
                "n_empty": sum(tensor.numel() == 0 for tensor in given),
            }
            for number, (call, given) in enumerate(zip(calls, feeds, strict=True))
        ]
    finally:
        program.release()


def _row(
    program: Any,
    feeds: dict[str, Any],
    wanted: Sequence[Any],
    atol: float,
    rtol: float,
    skip_none: bool,
) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        found = program(**feeds)
    except Exception as error:
        return {"SUCCESS": False, "error": str(error), "ort_duration": time.perf_counter() - start}
    row = {"ort_duration": time.perf_counter() - start}
    expected = [value for value in wanted if value is not None] if skip_none else list(wanted)
    if len(found) != len(expected):
        return {**row, "SUCCESS": False, "error": "not the same number of outputs"}
    absolute = relative = 0.0
    for one, other in zip(expected, found, strict=True):
        if not isinstance(one, torch.Tensor):
            one = torch.tensor(one)
        if one.shape != other.shape or one.dtype != other.dtype:
            what = "shape" if one.shape != other.shape else "type"
            return {**row, "SUCCESS": False, "error": f"not the same {what}"}
        if one.numel():
            furthest = _furthest(one, other, rtol)
            absolute, relative = max(absolute, furthest[0]), max(relative, furthest[1])
    return {
        **row,
        "SUCCESS": absolute <= atol and relative <= rtol,
        "abs": absolute,
        "rel": relative,
    }


def _furthest(one: torch.Tensor, other: torch.Tensor, offset: float) -> tuple[float, float]:
    """Return the largest difference, and the largest in relation to `abs(one) + offset`.

    A difference from NaN or from an infinity is infinite.
    """
    if one.is_complex():
        one, other = torch.view_as_real(one), torch.view_as_real(other)
    differs = (one != other) & ~(one.isnan() & other.isnan())
    if not differs.any():
        return 0.0, 0.0
    a, b = one[differs].double(), other[differs].double()
    off = (a - b).abs().nan_to_num(nan=math.inf, posinf=math.inf)
    # Integers beyond 2^53 may differ and be one number of float64.
    off[off == 0] = 1.0
    related = (off / (a.abs() + offset)).nan_to_num(nan=math.inf, posinf=math.inf)
    return float(off.max()), float(related.max())
