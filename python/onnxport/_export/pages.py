"""The page that `export(report="page.html")` writes: the one of `onnxport convert --report`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from onnxport._diagnostics import Diagnostic
from onnxport._onnx_program import conversion


def page(name: str, program: Any, found: Iterable[Diagnostic]) -> str:
    """Return the page of an export called `name`: its findings, and the model, if there is one."""
    from onnxport import _native

    said = {"command": "convert", **(program.report if program is not None else {})}
    said["diagnostics"] = [dataclasses.asdict(one) for one in found]
    if program is not None:
        return program.report_page(name, said)
    with conversion.public_errors():
        return _native.page(name, json.dumps(said))
