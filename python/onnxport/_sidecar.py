"""The sidecar: a safetensors file beside the `.pt2` with the recorded calls.

Its `__metadata__` holds

- `format`: `onnxport-expected/1`;
- `cases`: a JSON list of `{"name", "inputs", "outputs", "states", "random"}`. `inputs` are
  placeholder names, `outputs` has one entry for each flattened user output (its name in the
  program, empty for a constant number, null for other values), `states` are the names of the
  mutated buffers and inputs;
  `random` is true if the call drew random numbers, so that no other run has the same results;
  A case whose outputs hold indices of other tensors (of a sort, a maximum) also has `indices`, a
  list of `{"output", "exact", "stable", "unordered"}`: the position, whether the tensor is an
  input, whether the first of equal elements is promised, and whether the order does not matter;
- `complex`: a JSON list of the keys whose complex tensor is stored as real and imaginary parts in
  a trailing dimension of 2.

Keys are `<case>/input/<placeholder>` (values before the call), `<case>/output/<position>` and
`<case>/state/<buffer fqn or placeholder>` (values after the call). Python numbers are 0-d tensors:
int64, float64 or bool. `<case>/keys/<position>` has the rows that an index output selects from, and
`<case>/lanes/<position>` the row of each of its elements.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

SIDECAR_FORMAT = "onnxport-expected/1"


@dataclass
class Case:
    """One recorded call; leaves are in the program's flattened order."""

    name: str
    inputs: dict[str, torch.Tensor]
    outputs: list[Any] = field(default_factory=list)
    states: dict[str, torch.Tensor] = field(default_factory=dict)
    random: bool = False
    indices: list[dict[str, Any]] = field(default_factory=list)
    kept: dict[str, torch.Tensor] = field(default_factory=dict)


def sidecar_path(path: str | os.PathLike[str]) -> Path:
    """Return where the expected values of the archive at `path` lie."""
    return Path(path).with_suffix(".expected.safetensors")


def write(cases: Sequence[Case], output_names: Sequence[str | None], path: Path) -> None:
    """Write the sidecar."""
    tensors: dict[str, torch.Tensor] = {}
    complex_keys: list[str] = []

    def put(key: str, value: torch.Tensor) -> None:
        value = value.detach().cpu()
        if value.is_complex():
            complex_keys.append(key)
            value = torch.view_as_real(value.resolve_conj())
        tensors[key] = value.contiguous().clone()

    described = []
    for case in cases:
        for name, value in case.inputs.items():
            put(f"{case.name}/input/{name}", value)
        for index, value in enumerate(case.outputs):
            if isinstance(value, torch.Tensor):
                put(f"{case.name}/output/{index}", value)
            elif isinstance(value, (bool, int, float)):
                dtype = torch.float64 if isinstance(value, float) else None
                put(f"{case.name}/output/{index}", torch.tensor(value, dtype=dtype))
        for name, value in case.states.items():
            put(f"{case.name}/state/{name}", value)
        for key, value in case.kept.items():
            put(f"{case.name}/{key}", value)
        entry = {
            "name": case.name,
            "inputs": list(case.inputs),
            "outputs": list(output_names),
            "states": list(case.states),
            "random": case.random,
        }
        described.append({**entry, "indices": case.indices} if case.indices else entry)
    metadata = {
        "format": SIDECAR_FORMAT,
        "cases": json.dumps(described),
        "complex": json.dumps(complex_keys),
    }
    safetensors.torch.save_file(tensors, path, metadata)
