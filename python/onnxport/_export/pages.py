"""The page that `export(report="page.html")` writes: the one of `onnxport convert --report`."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onnxport._diagnostics import Diagnostic
from onnxport._onnx_program import conversion


def page(path: Path, program: Any, found: Iterable[Diagnostic]) -> str:
    """Return the page of an export: its findings, and the model, if there is one.

    A page is about a model in a file, so the model is temporarily written to a folder beside
    `path`.
    """
    from onnxport import _native

    said = {"command": "convert", **(program.report if program is not None else {})}
    said["diagnostics"] = [dataclasses.asdict(one) for one in found]
    with tempfile.TemporaryDirectory(prefix=".onnxport-", dir=path.parent) as folder:
        model = None
        if program is not None:
            model = Path(folder, f"{path.stem}.onnx")
            program.save(model)
        with conversion.public_errors():
            return _native.page(path.stem, json.dumps(said), model)
