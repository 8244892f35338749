"""A network as a program with recorded values, as a model, and with faults."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors.torch import save_file

import onnxport as package
from tests.python import forked
from tests.python.onnx_runtime import binary, library
from tests.python.trust.faults import Fault, chosen, seed
from tests.python.trust.networks import program

ROOT = Path(__file__).parents[3]

# The smallest change of an output, relative to its largest magnitude, that counts as a fault.
SHOWS = 1e-3


@dataclass
class Corpus:
    """The models for `bisect`."""

    name: str
    folder: Path
    program: Path
    model: Path
    inputs: Path
    faults: list[Fault]

    @classmethod
    def make(cls, name: str, folder: Path) -> Corpus:
        """Export a network, convert it, and choose its faults."""
        exported = program(name)
        path, model = folder / f"{name}.pt2", folder / f"{name}.onnx"
        inputs = folder / "inputs.safetensors"
        package.save(exported, path, intermediates=True)
        onnxport("convert", path, "-o", model, "--no-verify", check=True)
        loaded = onnx.load(model)
        (x,) = exported.example_inputs[0]
        (port,) = loaded.graph.input
        save_file({port.name: x}, inputs)
        expected = _outputs(loaded, x)

        def shows(faulty: onnx.ModelProto) -> bool:
            found = _outputs(faulty, x)
            return any(
                np.abs(a - b).max() > SHOWS * np.abs(b).max()
                for a, b in zip(found, expected, strict=True)
            )

        return cls(name, folder, path, model, inputs, list(chosen(loaded, shows)))

    def seeded(self) -> Iterator[tuple[Fault, Path]]:
        """Yield every fault with the model that has it."""
        loaded = onnx.load(self.model)
        for number, fault in enumerate(self.faults):
            path = self.folder / f"{number}-{fault.kind}.onnx"
            onnx.save(seed(loaded, fault), path)
            yield fault, path


def onnxport(*arguments: Any, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    line = [str(binary()), *map(str, arguments)]
    environment = {
        **os.environ,
        "ORT_DYLIB_PATH": str(library()),
        # The Python that records has the package of this repository.
        "VIRTUAL_ENV": str(forked.prefix()),
        "PYTHONPATH": str(ROOT / "python"),
    }
    return subprocess.run(line, capture_output=True, text=True, check=check, env=environment)


def bisect(
    model: Path, against: Path | str, inputs: Path | None = None, *further: str
) -> tuple[dict[str, Any], int]:
    """Return the output of `onnxport bisect`, and its exit code."""
    given = [] if inputs is None or against == model.with_suffix(".pt2") else ["--inputs", inputs]
    done = onnxport("bisect", model, "--against", against, *given, *further, "--json")
    return json.loads(done.stdout), done.returncode


def _outputs(model: onnx.ModelProto, x: torch.Tensor) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})
