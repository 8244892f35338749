"""Models of others after the optimizer: nodes, bytes, and results in ONNX Runtime.

    python -m tests.python.importing.optimised [FOLDER] [--level 2]

Prints a table of those that `torch.onnx` writes in both of its ways, and of the models in `FOLDER`,
which `keras_models.py` fills: nodes without constants, bytes of weights included, and how far
results are from those of the model before.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from tests.python.importing import same, sources
from tests.python.importing.same import Source
from tests.python.onnx_runtime import binary, scratch

# The largest difference between results before and after, relative to the largest magnitude: the
# sum of several rules with a bound of 1e-5.
APART = 1e-4


@dataclass(frozen=True)
class Outcome:
    """A model before and after: its nodes, its bytes, and how far results are apart.

    `apart` is `None` where ONNX Runtime runs neither, or where the model draws numbers.
    """

    name: str
    nodes: tuple[int, int]
    size: tuple[int, int]
    apart: float | None


def nodes(path: Path) -> int:
    """Return the nodes of a model, nested ones and functions included, constants not."""

    def of(held: Iterable[onnx.NodeProto]) -> int:
        inner = (graph for node in held for a in node.attribute for graph in (a.g, *a.graphs))
        own = sum(node.op_type != "Constant" for node in held)
        return own + sum(of(graph.node) for graph in inner)

    model = onnx.load(str(path), load_external_data=False)
    return of(model.graph.node) + sum(of(function.node) for function in model.functions)


def size(folder: Path) -> int:
    """Return the bytes of the files in a folder, those of recorded values not."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def distance(before: list[object], after: list[object]) -> float:
    """Return how far results are apart, in parts of the largest; infinite where they do not fit."""
    found = 0.0
    for one, other in zip(before, after, strict=True):
        if same.equal(one, other):
            continue
        if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
            return float("inf")
        floats = np.issubdtype(one.dtype, np.floating)
        if not floats or (one.dtype, one.shape) != (other.dtype, other.shape):
            return float("inf")
        wide, narrow = one.astype(np.float64), other.astype(np.float64)
        whole = np.isfinite(wide)
        if not np.array_equal(whole, np.isfinite(narrow)):
            return float("inf")
        if not np.array_equal(wide[~whole], narrow[~whole], equal_nan=True):
            return float("inf")
        largest = max(1.0, float(np.max(np.abs(wide[whole]), initial=0.0)))
        found = max(found, float(np.max(np.abs(wide - narrow)[whole], initial=0.0)) / largest)
    return found


def judge(source: Source, level: str) -> Outcome:
    """Optimise a model and run it before and after.

    Raises `AssertionError` where it is refused, or runs before and not after.
    """
    name, path, values = source
    with scratch() as folder:
        target = Path(folder) / "model.onnx"
        flags = ["--quiet", "--optimize", level]
        command = [binary(), "optimize", path, "-o", target, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr.strip().splitlines()[:1]}"
        before, after = same.outcome(path, values), same.outcome(target, values)
        apart: float | None = None
        if isinstance(before, str):
            assert before == after, f"{name}: {before} became {after!r:.80}"
        else:
            assert not isinstance(after, str), f"{name}: it ran, and is refused now: {after}"
            apart = distance(before, after)
            again = same.outcome(path, values)
            if apart > APART and not all(map(same.equal, before, again)):
                apart = None
        both = (path, target)
        counts = tuple(nodes(each) for each in both)
        return Outcome(name, counts, tuple(size(each.parent) for each in both), apart)


def of_folder(folder: Path) -> list[Source]:
    """Return the models in a folder: `NAME/model.onnx`."""
    return [(path.parent.name, path, None) for path in sources.models(folder)]


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.importing.optimised")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--level", default="2")
    options = parser.parse_args()
    given = sources.of_torch(everything=False)
    if options.folder:
        given = {options.folder.name: of_folder(options.folder), **given}
    failed = False
    print(
        "| models of | files | nodes | after | bytes | after | larger | furthest apart | refused |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, models in given.items():
        found, refused = [], []
        for model in models:
            try:
                found.append(judge(model, options.level))
            except AssertionError as error:
                refused.append(str(error))
        larger = [it for it in found if it.nodes[1] > it.nodes[0]]
        ran = [it.apart for it in found if it.apart is not None]
        apart = max(ran, default=0.0)
        sums = [sum(it.nodes[at] for it in found) for at in range(2)]
        sums += [sum(it.size[at] for it in found) for at in range(2)]
        cells = [name, len(models), len(ran), *sums, len(larger), f"{apart:.1e}", len(refused)]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for it in larger:
            print(f"\n{it.name} has {it.nodes[1]} nodes instead of {it.nodes[0]}.")
        print("\n".join(refused))
        failed = failed or bool(larger or refused) or apart > APART
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
