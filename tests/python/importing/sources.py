"""Models that others wrote, by where they come from, each with inputs where some are recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.python.importing import exported, same
from tests.python.importing.same import Source
from tests.python.onnx_runtime import Case

PACKAGE = Path(onnx.__file__).parent / "backend" / "test" / "data"
NODES = exported.ROOT / "target" / "onnx-tests" / "node"


def of_package() -> dict[str, list[Source]]:
    """Return the backend tests of the ONNX package by kind; it makes its node tests on demand."""
    kinds = {kind: PACKAGE / kind for kind in ("simple", "pytorch-converted", "pytorch-operator")}
    found = {
        kind: [(path.parent.name, path, same.recorded(path.parent)) for path in models(folder)]
        for kind, folder in {**kinds, "node": NODES}.items()
    }
    found["light"] = [
        (path.stem, path, None) for path in sorted((PACKAGE / "light").glob("*.onnx"))
    ]
    return found


def models(folder: Path) -> Iterator[Path]:
    """Yield the models of tests, a folder each."""
    found = sorted(folder.glob("*/model.onnx"))
    if not found:
        pytest.fail(f"{folder} holds no models; run `cargo xtask conformance` first")
    yield from found


def of_torch(everything: bool) -> dict[str, list[Source]]:
    """Return the models of `torch.onnx`, by the exporter."""
    found: dict[str, list[Source]] = {"torch.onnx, dynamo": [], "torch.onnx, script": []}
    for export in exported.write(exported.chosen(everything)):
        found[f"torch.onnx, {export.way}"].append((export.path.parent.name, export.path, None))
    return found


def inputs(case: Case) -> Mapping[str, Any] | None:
    """Return the inputs of a recorded call; none where NumPy has no such numbers."""
    if any(re.search("bfloat16|float8", str(tensor.dtype)) for tensor in case.inputs.values()):
        return None
    return {key: tensor.numpy() for key, tensor in case.inputs.items()}
