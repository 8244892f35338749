"""The scripts that capture a checkpoint, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[3] / "core/src/capture"


class Refused(Exception):  # noqa: N818
    """The error of a script about a checkpoint that cannot be captured."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def load(name: str) -> ModuleType:
    """Import a script by itself; it only has the error of the others."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Refused = Refused
    return module
