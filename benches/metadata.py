"""The metadata of `--metadata full` beside that of `torch.onnx.export`.

`python -m benches.metadata *.pt2` converts each program twice. What PyTorch's exporter would say of
a call is asked of the exporter's own functions, on the program of the archive: every text of ours
must equal it. What `torch.onnx.export` itself writes describes the program after its
decompositions; a text that differs from that is counted by the reason:

    renamed   the operator is among those of the archive's program, and the call has another name
              or other operands: calls before it were decomposed
    replaced  the archive's program has no call of this operator: something became it

The last counts say how many nodes of the optimised model have a module and a line of the user's
code.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from ast import literal_eval
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import torch
import torchvision  # noqa: F401  (registers its operators)
import transformers.modeling_outputs  # noqa: F401  (registers the types of outputs)
from torch.onnx._internal.exporter import _core

ROOT = Path(__file__).parents[1]
PREFIX = "pkg.torch.onnx."
NODE_KEYS = ("namespace", *(PREFIX + key for key in ("class_hierarchy", "fx_node")))
NODE_KEYS += (PREFIX + "name_scopes", PREFIX + "stack_trace")
SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
RANGES = "pkg.torch.export.ExportedProgram.range_constraints"
LIBRARIES = ("/site-packages/", "/lib/python3", '"torch/', '"<')


def binary() -> str:
    """Return the command to try."""
    return os.environ.get("ONNXPORT_BIN", str(ROOT / "target" / "release" / "onnxport"))


def props(part: Any) -> dict[str, str]:
    """Return the metadata of a part of a model."""
    return {entry.key: entry.value for entry in part.metadata_props}


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of a graph and of the graphs inside of it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes(attribute.g)


def key(entries: dict[str, str]) -> tuple[str, str, str]:
    """Return a key for a call: its modules and name, its operator, its stack."""
    names = ("name_scopes", "class_hierarchy", "stack_trace")
    scopes, classes, stack = (entries.get(PREFIX + name, "") for name in names)
    return scopes, classes, stack


def calls(found: Iterator[Any]) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the metadata of every exported call, by its modules, name and operator."""
    said = {}
    for node in found:
        entries = props(node)
        if PREFIX + "name_scopes" in entries and "\n%" not in entries.get(PREFIX + "fx_node", ""):
            said[key(entries)] = entries
    return said


def expected(program: torch.export.ExportedProgram) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the texts of the exporter's functions for the calls of a program."""
    said = {}
    for module in program.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            if node.op == "call_function":
                made = ir.Node("", "Identity", [])
                _core._set_node_metadata(node, made)
                entries = dict(made.metadata_props)
                said[key(entries)] = entries
    return said


def converted(archive: Path, folder: Path, *options: str) -> onnx.ModelProto:
    """Convert an archive and return the model."""
    model = folder / "ours.onnx"
    command = [binary(), "convert", str(archive), "-o", str(model), "--no-verify", "--quiet"]
    subprocess.run([*command, "--metadata", "full", *options], check=True, stderr=subprocess.PIPE)
    return onnx.load(model, load_external_data=False)


def exported(program: torch.export.ExportedProgram, folder: Path) -> onnx.ModelProto | None:
    """Return the model of PyTorch's exporter; `None` if it refuses the program."""
    try:
        made = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)
        made.save(folder / "torch.onnx", external_data=True)
    except Exception:  # of any kind: the exporter refuses the program
        return None
    return onnx.load(folder / "torch.onnx", load_external_data=False)


def values(model: onnx.ModelProto) -> dict[str, dict[str, str]]:
    """Return the metadata of inputs and weights, by name."""
    graph = model.graph
    declared = [*graph.input, *graph.value_info]
    weights = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input}
    return {value.name: props(value) for value in declared if value.name in weights}


def signature(text: str) -> list[str]:
    """Return the inputs that a signature lists, sorted: decomposing changes order and outputs."""
    return sorted(text.split("\n# outputs\n")[0].splitlines())


def located(model: onnx.ModelProto) -> tuple[int, int, int]:
    """Return how many nodes there are, how many have a module, and how many a user's line."""
    found = list(nodes(model.graph))
    modules = lines = 0
    for node in found:
        entries = props(node)
        modules += entries.get("namespace", "").count(": ") > 1
        files = [
            line
            for line in entries.get(PREFIX + "stack_trace", "").splitlines()
            if line.lstrip().startswith('File "')
        ]
        lines += any(not any(part in line for part in LIBRARIES) for line in files)
    return len(found), modules, lines


def compare(archive: Path, folder: Path) -> Counter[str]:
    """Compare the texts of one program; raise where a text of ours is not the exporter's."""
    found: Counter[str] = Counter()
    plain = converted(archive, folder, "--no-optimize")
    program = torch.export.load(archive)
    ours, truth = calls(nodes(plain.graph)), expected(program)
    for call, entries in ours.items():
        if call not in truth:
            found["unknown"] += 1
            print(f"  not of the program: {call}")
            continue
        for name in NODE_KEYS:
            found["texts"] += 1
            if entries.get(name) == truth[call][name]:
                found["equal"] += 1
            else:
                print(f"  {name}\n    ours  {entries.get(name)}\n    torch {truth[call][name]}")
    graph = props(plain.graph)
    theirs = exported(program, folder)
    if theirs is not None:
        said = props(theirs.graph)
        found["signatures"] += signature(graph[SIGNATURE]) == signature(said[SIGNATURE])
        found["ranges"] += graph[RANGES] == said[RANGES]
        found["exported"] += 1
        written = calls(n for n in nodes(theirs.graph))
        operators = {literal_eval(classes)[-1] for _, classes, _ in truth}
        for call, entries in written.items():
            for name in NODE_KEYS:
                if call in ours and ours[call].get(name) == entries[name]:
                    found["same"] += 1
                elif literal_eval(call[1])[-1] in operators:
                    found["renamed"] += 1
                else:
                    found["replaced"] += 1
        known = values(plain)
        for name, entries in values(theirs).items():
            if name in known and entries:
                found["values"] += 1
                found["equal values"] += known[name] == entries
    count, modules, lines = located(converted(archive, folder))
    found.update({"nodes": count, "modules": modules, "lines": lines})
    return found


def main() -> int:
    """Compare all archives of the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("archives", nargs="+", type=Path)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    total: Counter[str] = Counter()
    for archive in arguments.archives:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = compare(archive, Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{archive.stem}: not converted: {error.stderr.decode().splitlines()[:1]}")
                continue
            except RuntimeError as error:
                print(f"{archive.stem}: not loaded by PyTorch: {str(error).splitlines()[0]}")
                continue
        total += found
        total["programs"] += 1
        print(f"{archive.stem}: {dict(found)}", flush=True)
    print(f"all: {dict(total)}")
    return int(total["equal"] != total["texts"] or total["unknown"] > 0)


if __name__ == "__main__":
    sys.exit(main())
