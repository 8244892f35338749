"""A model, held against what the module gave when it was watched."""

from __future__ import annotations

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
            off = (one.double() - other.double()).abs()
            absolute = max(absolute, float(off.max()))
            relative = max(relative, float((off / (one.double().abs() + rtol)).max()))
    return {
        **row,
        "SUCCESS": absolute <= atol and relative <= rtol,
        "abs": absolute,
        "rel": relative,
    }
