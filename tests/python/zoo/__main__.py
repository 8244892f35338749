"""The model of every architecture of the zoo, compared with that of an earlier build.

    python -m tests.python.zoo [--before BINARY] [--live] [NAME...] > zoo.jsonl

Each architecture is exported, converted without rules, and read and written again by the importer;
ONNX Runtime gives the recorded inputs to both models, and their outputs are compared bit by bit.
With `--before` the files of another build are compared byte for byte, with `--live` those that the
Python package makes of the program in memory and of its archive. A line of JSON for each
architecture, and a table at the end. Archives are removed at once: together they would fill a disk.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import torch

import onnxport
from onnxport import _guards, _save
from onnxport._export import shapes
from tests.python.importing import same, sources
from tests.python.models.registry import ROOT
from tests.python.onnx_runtime import binary, read_cases
from tests.python.zoo.registry import load_zoo

OPTIONS = ("--no-verify", "--no-optimize", "--quiet")


def converted(program: Path, archive: Path, folder: Path) -> Path | str:
    """Return the model that `program` makes of `archive` in `folder`, or why it makes none."""
    folder.mkdir()
    target = folder / "model.onnx"
    command = [program, "convert", archive, "-o", target, *OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    return target if done.returncode == 0 else done.stderr.strip() or f"exit {done.returncode}"


def digest(path: Path) -> str:
    """Return the hash of a file, of none where there is no file."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parts(model: onnx.ModelProto) -> dict[str, Any]:
    """Return the key that compares two models, once their bytes differ."""
    graph = model.graph
    kinds = Counter(node.op_type for node in nodes(graph.node))
    kinds.update(node.op_type for function in model.functions for node in nodes(function.node))
    places = {
        tensor.name: [entry.value for entry in tensor.external_data] or tensor.raw_data
        for tensor in graph.initializer
    }
    return {
        "ends": [graph.input, graph.output],
        "metadata": model.metadata_props,
        "operators": kinds,
        "nodes": [node.SerializeToString() for node in graph.node],
        "functions": [function.SerializeToString() for function in model.functions],
        "weights' names": sorted(places),
        "weights' places": places,
        "types": sorted(repr(info) for info in graph.value_info),
    }


def nodes(given: Any) -> Iterator[onnx.NodeProto]:
    """Yield nodes with those of nested graphs."""
    for node in given:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                yield from nodes(graph.node)


def difference(before: Path, after: Path) -> list[str]:
    """Return the differences of two models; nothing where they are the same files."""
    found = []
    if digest(before.with_name("model.onnx.data")) != digest(after.with_name("model.onnx.data")):
        found.append("data")
    if digest(before) == digest(after):
        return found
    old, new = (parts(onnx.load(str(path), load_external_data=False)) for path in (before, after))
    for part, value in old.items():
        if value != new[part]:
            found.append(part)
    if old["operators"] != new["operators"]:
        more, less = new["operators"] - old["operators"], old["operators"] - new["operators"]
        found += [f"+{count} {op}" for op, count in sorted(more.items())]
        found += [f"-{count} {op}" for op, count in sorted(less.items())]
    return found or ["order of initializers"]


def lived(program: torch.export.ExportedProgram, folder: Path) -> list[str]:
    """Return the differences of a model of a program in memory from that of its archive."""
    (folder / "here").mkdir()
    here, there = (folder / place / "model.onnx" for place in ("here", "there"))
    onnxport.export(program, (), here)
    there.parent.mkdir()
    archive = folder / "live.pt2"
    names = shapes.names(program, shapes.Wanted((None,)))
    extra = {
        "onnxport.dims.json": json.dumps(names),
        "onnxport.guards.json": json.dumps(_guards.traces(program)),
    }
    torch.export.save(program, archive, extra_files=extra)
    onnxport.export(archive, (), there)
    archive.unlink()
    return difference(there, here)


def examine(name: str, before: Path | None, live: bool, folder: Path) -> dict[str, Any]:
    """Return the outcome of one architecture."""
    archive = folder / f"{name}.pt2"
    alive: dict[str, Any] = {}
    try:
        model = load_zoo()[name]
        recipe = model.recipe()
        program = model.export(recipe)
        if live:
            alive = {"live": lived(program, folder)}
        # Other sizes are for `check.py`, which compares with PyTorch.
        onnxport.save(program, archive, module=recipe.reference, root=ROOT, cases=0)
        del recipe, program
    except Exception as error:
        return {"exported": False, "why": f"{type(error).__name__}: {error}"[:300]}
    model = converted(binary(), archive, folder / "after")
    found: dict[str, Any] = {"exported": True, "converted": isinstance(model, Path), **alive}
    if before is not None:
        older = converted(before, archive, folder / "before")
        if isinstance(model, Path) and isinstance(older, Path):
            found["differs"] = difference(older, model)
        elif isinstance(model, Path) or isinstance(older, Path):
            found["differs"] = ["only one of both converts it"]
    if isinstance(model, str):
        return {**found, "why": model[:300]}
    values = sources.inputs(next(read_cases(archive)))
    try:
        found["imported"] = same.judge(model, folder / "copy" / "model.onnx", values)
    except AssertionError as error:
        found |= {"imported": "differs", "why": str(error)[:300]}
    return found


def main() -> None:
    """Examine the requested architectures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="architectures; all without any")
    parser.add_argument("--before", type=Path, metavar="BINARY", help="another build of onnxport")
    parser.add_argument("--live", action="store_true", help="hold memory against the archive too")
    arguments = parser.parse_args()
    if arguments.before is not None:
        # Builds differ in whether they read the names that people gave to sizes.
        _save.dim_names = lambda program: {}
    counts: Counter[str] = Counter()
    for name in arguments.names or load_zoo():
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
            (Path(folder) / "copy").mkdir()
            found = examine(name, arguments.before, arguments.live, Path(folder))
        print(json.dumps({"name": name, **found, "s": round(time.monotonic() - start)}), flush=True)
        counts["architectures"] += 1
        counts["exported"] += found["exported"]
        counts["converted"] += found.get("converted", False)
        if "differs" in found:
            counts["files that differ" if found["differs"] else "the same files"] += 1
        if "live" in found:
            counts["differs in memory" if found["live"] else "the same from memory"] += 1
        counts[f"importer: {found.get('imported', 'not reached')}"] += 1
    for what, count in counts.items():
        print(f"| {what} | {count} |", file=sys.stderr)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
