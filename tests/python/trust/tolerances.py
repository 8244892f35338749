"""Which seeded faults the tolerances of `verify` find: `python -m tests.python.trust.tolerances`.

Seeds every fault that `faults` knows into the five networks, one at a time, and prints for each
network how many change an output by more than the noise of the computation, and how many of those
the default tolerance and `--tolerance auto` find in the recorded call.
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


@dataclass
class Found:
    """A fault that shows, and what finds it."""

    fault: Fault
    by_default: bool
    by_noise: bool


def outputs(model: Path, corpus: Corpus, *options: str) -> list[dict[str, Any]]:
    """Return what `verify` reports of the outputs of the recorded call."""
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
        by_noise = any(x > floor["bound"] for x, floor in zip(off, floors, strict=True))
        shown.append(Found(fault, any(out["problem"] for out in said), by_noise))
    return shown


def main() -> None:
    """Print a row for each network that is named, or for all."""
    print("| network | faults | default | `auto` |\n| --- | ---: | ---: | ---: |")
    for name in sys.argv[1:] or networks():
        with tempfile.TemporaryDirectory() as folder:
            shown = found(Corpus.make(name, Path(folder)))
        default, noise = (sum(getattr(f, by) for f in shown) for by in ("by_default", "by_noise"))
        print(f"| {name} | {len(shown)} | {default} | {noise} |", flush=True)


if __name__ == "__main__":
    main()
