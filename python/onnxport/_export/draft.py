"""What draft export finds, as diagnostics."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch._logging import structured
from torch.export import ExportedProgram

from onnxport._diagnostics import Diagnostic

HELP = {
    "MISSING_FAKE_KERNEL": "register a fake kernel for it with `torch.library.register_fake`",
    "MISMATCHED_FAKE_KERNEL": "correct the fake kernel that is registered for it",
    "DATA_DEPENDENT_ERROR": "state the assumption in the model with `torch._check(...)`",
    "GUARD_ADDED": "leave the dimension to PyTorch with `torch.export.Dim.AUTO`, or fix it",
}


def findings(program: ExportedProgram) -> tuple[Diagnostic, ...]:
    """Return what draft export assumed: the model is right only where this holds."""
    report = getattr(program, "_report", None)
    if report is None or report.successful():
        return ()
    return tuple(_findings(report))


def _findings(report: Any) -> Iterator[Diagnostic]:
    # A report has the names of files that were new when it was made; PyTorch numbers them once.
    numbers = getattr(structured, "INTERN_TABLE", {})
    files = {**{number: file for file, number in numbers.items()}, **report.str_to_filename}
    for failure in report.failures:
        if failure.xfail:
            continue
        kind, data = failure.failure_type.name, failure.data
        yield Diagnostic(
            "warning",
            "OP211",
            _message(kind, data),
            **_line(data.get("user_stack") or (), files),
            target=data.get("op"),
            help=HELP.get(kind),
        )


def _message(kind: str, data: Mapping[str, Any]) -> str:
    if kind == "MISSING_FAKE_KERNEL":
        return f"`{data['op']}` has no fake kernel: the types of its results are those of one call"
    if kind == "MISMATCHED_FAKE_KERNEL":
        return f"the fake kernel of `{data['op']}` is wrong: {data['reason']}"
    if kind == "DATA_DEPENDENT_ERROR":
        return f"the program takes `{data['expr']}` to be {data['result']} for all data, as traced"
    if kind == "GUARD_ADDED":
        return f"the program takes `{data['expr']}` to hold, which restricts the dynamic dimensions"
    return f"draft export reports {kind}"


def _line(stack: Any, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the deepest line of the user's code in a stack of draft export."""
    for frame in reversed(stack):
        file = names.get(frame["filename"])
        if file is not None and _is_own(file):
            return {"file": file, "line": frame["line"]}
    return {}


def place(error: BaseException | None) -> dict[str, Any]:
    """Return the deepest line of the user's code in the traceback of `error`."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    for frame in reversed(frames):
        if _is_own(frame.filename):
            return {"file": frame.filename, "line": frame.lineno}
    return {}


_LIBRARIES = (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(__file__)))


def _is_own(file: str) -> bool:
    return not file.startswith(("<", *_LIBRARIES)) and os.path.dirname(os.__file__) not in file
