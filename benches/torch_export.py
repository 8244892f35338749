"""The other side of `onnxport-benches models`: `torch.onnx.export`, one request a line.

A request is a JSON object on standard input and is answered by one on standard output:

    {"load": "model.pt2"}   {}
    {"optimize": true}      {"cpu": 1.2, "wall": 1.2, "nodes": 104}
    {"copy": "model.onnx"}  {"cpu": 1.2, "wall": 1.2}

or by `{"error": "…"}`. Importing, loading and counting nodes lie outside of what is timed. The
memory is watched from outside, by the process that sends the requests.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_ir as ir
import torch
import transformers.modeling_outputs  # noqa: F401  (registers the types of outputs)

from tests.python.models.registry import load_all


def count(model: ir.Model) -> int:
    """Return the nodes of a model and of its functions, subgraphs included, constants not."""
    graphs = [model.graph, *model.functions.values()]
    nodes = (node for graph in graphs for node in ir.traversal.RecursiveGraphIterator(graph))
    return sum(node.op_type != "Constant" for node in nodes)


def export(program: torch.export.ExportedProgram, optimize: bool) -> dict[str, Any]:
    """Export `program` to a file once and return time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        wall, cpu = time.perf_counter(), time.process_time()
        result = torch.onnx.export(program, f=path, dynamo=True, optimize=optimize, verbose=False)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return {"cpu": cpu, "wall": wall, "nodes": count(result.model)}


def copy(source: str) -> dict[str, Any]:
    """Read the model at `source` with onnx_ir, which maps its data, and write it with its data."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        wall, cpu = time.perf_counter(), time.process_time()
        ir.save(ir.load(source), path, external_data="model.onnx.data")
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def trim() -> None:
    """Give memory that nothing uses back to the system, so that the next growth is visible."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def warm_up() -> None:
    """Export a trivial program: the first export imports the rest of the exporter."""
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(2),), strict=False)
    export(program, optimize=True)


def answers(requests: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the answer to each request."""
    program = None
    for line in requests:
        request = json.loads(line)
        try:
            if path := request.get("load"):
                program = None
                trim()
                program = torch.export.load(path)
                answer = {}
            elif path := request.get("copy"):
                answer = copy(path)
            else:
                assert program is not None, "no program is loaded"
                answer = export(program, request["optimize"])
        except Exception as error:
            cause = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            text = f"{type(cause).__name__}: {cause}".strip()
            answer = {"error": text.splitlines()[0][:300]}
        trim()
        yield answer


def main() -> None:
    """Answer requests until there are no more."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever prints on the way must not mix with the answers.
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    load_all()
    warm_up()
    trim()
    print(json.dumps({"torch": torch.__version__}), file=channel, flush=True)
    for answer in answers(iter(sys.stdin.readline, "")):
        print(json.dumps(answer), file=channel, flush=True)


if __name__ == "__main__":
    main()
