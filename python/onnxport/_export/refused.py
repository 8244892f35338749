"""Arguments of `torch.onnx.export` that mean nothing here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from onnxport import _errors

# For each argument: the values that have no effect, and the advice for others.
_RULES: dict[str, tuple[tuple[str, ...], str]] = {
    "dynamo": (("True",), "TorchScript export is not supported; leave it out"),
    "training": (
        ("None", "TrainingMode.EVAL"),
        "call `model.eval()` or `model.train()` before the export",
    ),
    "operator_export_type": (
        ("None", "OperatorExportTypes.ONNX"),
        "only operators of ONNX are written",
    ),
    "do_constant_folding": (("True",), "pass `optimize=False` to keep constants as they are"),
    "custom_opsets": (("None", "{}"), "domains come from the plugins and functions that use them"),
    "autograd_inlining": (
        ("True",),
        "torch.export inlines autograd functions; register an operator instead",
    ),
}

_REPORTS = (".md", ".html", ".sarif")


def check(**arguments: Any) -> None:
    """Raise for every unsupported argument."""
    for name, value in arguments.items():
        nothing, instead = _RULES[name]
        if str(value) not in nothing:
            raise _errors.usage(f"`{name}={value!r}` has no meaning here", instead)


def check_patches(patches: Any) -> None:
    """Raise for patches that are not "auto", "none" or a list of names."""
    if patches in ("auto", "none"):
        return
    if isinstance(patches, str) or not isinstance(patches, Sequence):
        message = f"`patches={patches!r}` is not a list of names"
        raise _errors.usage(message, 'pass "auto", "none" or a list')


def check_verify(verify: Any) -> None:
    """Raise for another choice of the reference."""
    if verify not in (True, False, "program"):
        raise _errors.usage(f"`verify={verify!r}` is not a choice", 'pass a bool, or "program"')


def check_report(report: Any) -> None:
    """Raise for a report that cannot be written in the format of its name."""
    if isinstance(report, bool) or os.path.splitext(os.fspath(report))[1] in _REPORTS:
        return
    raise _errors.usage(f"a report is .md, .html or .sarif, and `{report}` is not")
