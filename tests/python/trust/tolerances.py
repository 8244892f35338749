"""Which seeded faults the tolerances of `verify` find: `python -m tests.python.trust.tolerances`.

Seeds every fault that `faults` knows into the five networks, one at a time, and prints for each
network how many change an output by more than the noise of the computation, and how many of those
the tolerance of element types, the default (which accepts a few times the noise as well) and
`--tolerance auto` find in the recorded call.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from tests.python.trust.corpus import Corpus, onnxport
from tests.python.trust.faults import Fault, faults, seed
from tests.python.trust.networks import networks

# Of the call whose values were recorded.
CASE = "traced"

# The part of the bound of `auto` that the default accepts.
EXPLAINED = 8 / 32


@dataclass
class Found:
    """A fault that shows, and the tolerances that find it."""

    fault: Fault
    by_type: bool
    by_default: bool
    by_noise: bool


def outputs(model: Path, corpus: Corpus, *options: str) -> list[dict[str, Any]]:
    """Return the report of `verify` about the outputs of the recorded call."""
    done = onnxport("verify", model, "--against", corpus.program, *options, "--json")
    (case,) = (c for c in json.loads(done.stdout)["verification"]["cases"] if c["name"] == CASE)
    return [] if case["error"] else case["outputs"]


def found(corpus: Corpus) -> list[Found]:
    """Seed every fault, and return those that show."""
    right = outputs(corpus.model, corpus, "--tolerance", "auto", "--reference", "torch")
    floors = [out["floor"] for out in right]
    loaded = onnx.load(corpus.model)
    path = corpus.folder / "seeded.onnx"
    shown = []
    for fault in faults(loaded):
        onnx.save(seed(loaded, fault), path)
        said = outputs(path, corpus, "--reference", "recorded")
        off = [out["difference"] and out["difference"]["max_abs"] for out in said]
        if not off or None in off:
            # It does not run, or gives another type: nothing about a tolerance.
            continue
        if all(x <= 2 * floor["noise"] for x, floor in zip(off, floors, strict=True)):
            continue
        bounds = [floor["bound"] for floor in floors]
        by_noise = any(x > bound for x, bound in zip(off, bounds, strict=True))
        wrong = [bool(out["problem"]) for out in said]
        rounded = [x <= EXPLAINED * bound for x, bound in zip(off, bounds, strict=True)]
        by_default = any(w and not r for w, r in zip(wrong, rounded, strict=True))
        shown.append(Found(fault, any(wrong), by_default, by_noise))
    return shown


def main() -> None:
    """Print a row for each network that is named, or for all."""
    print("| network | faults | element types | default | `auto` |\n| --- |" + " ---: |" * 4)
    for name in sys.argv[1:] or networks():
        with tempfile.TemporaryDirectory() as folder:
            shown = found(Corpus.make(name, Path(folder)))
        ways = ("by_type", "by_default", "by_noise")
        counts = [sum(getattr(fault, way) for fault in shown) for way in ways]
        print(f"| {name} | {len(shown)} | {' | '.join(map(str, counts))} |", flush=True)


if __name__ == "__main__":
    main()
