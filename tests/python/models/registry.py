"""The registry of models: one short entry each, exported and saved on demand."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock  # comes with PyTorch
from torch import nn
from torch.export import Dim, ExportedProgram

import onnxport
import onnxport._program
import onnxport._save
import onnxport._sidecar

BATCH = Dim("batch")
SEQUENCE = Dim("sequence", max=64)
ROOT = Path(__file__).parents[3]
CACHE = ROOT / "target" / "models"
PACKAGES = ("torch", "torchvision", "transformers")


@dataclass(frozen=True)
class Recipe:
    """The arguments of `torch.export.export`.

    `reference` computes the expected values where the program itself cannot.
    """

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    shapes: Any = None
    train: bool = False
    reference: nn.Module | None = None


@dataclass(frozen=True)
class Model:
    """A registered model.

    `static` says why a dimension that could be dynamic is not; `tolerance` multiplies the
    tolerances of the comparison.
    """

    name: str
    build: Callable[[], Recipe]
    static: str
    tolerance: float

    def recipe(self) -> Recipe:
        """Return the recipe, with the same weights every time."""
        torch.manual_seed(0)
        return self.build()

    def export(self, recipe: Recipe) -> ExportedProgram:
        """Return the program of `recipe`."""
        module = recipe.module.train(recipe.train)
        return torch.export.export(
            module,
            recipe.args,
            dict(recipe.kwargs),
            dynamic_shapes=recipe.shapes,
            strict=False,
        )

    def make(self, folder: Path = CACHE) -> Path:
        """Return the archive in `folder`, made anew when its source or a package changed."""
        path = folder / f"{self.name}.pt2"
        stamp = folder / f"{self.name}.key"
        key = self._key()
        folder.mkdir(parents=True, exist_ok=True)
        # Tests of several workers use the same archives.
        with FileLock(folder / f"{self.name}.lock"):
            if not (stamp.exists() and path.exists() and stamp.read_text() == key):
                stamp.unlink(missing_ok=True)
                recipe = self.recipe()
                onnxport.save(self.export(recipe), path, module=recipe.reference, root=ROOT)
                stamp.write_text(key)
        return path

    def _key(self) -> str:
        versions = [importlib.metadata.version(package) for package in PACKAGES]
        recording = [onnxport._save, onnxport._program, onnxport._sidecar]
        sources = [inspect.getsource(part) for part in (self.build, *recording)]
        helpers = inspect.getsource(inspect.getmodule(self.build))
        text = "\n".join([*versions, *sources, helpers])
        return hashlib.sha256(text.encode()).hexdigest()


MODELS: dict[str, Model] = {}


def model(
    name: str, *, static: str = "", tolerance: float = 1.0
) -> Callable[[Callable[[], Recipe]], Callable[[], Recipe]]:
    """Register the decorated builder under `name`."""

    def register(build: Callable[[], Recipe]) -> Callable[[], Recipe]:
        if name in MODELS:
            raise ValueError(f"two models are named {name!r}")
        MODELS[name] = Model(name, build, static, tolerance)
        return build

    return register


def load_all() -> dict[str, Model]:
    """Import every file of models and return the registry."""
    from tests.python.models import awkward, detection, programs, small, text, vision  # noqa: F401

    return MODELS
