"""Compare verdicts with OpenVINO: `python -m tests.python.targets.check_openvino [FAMILY …]`.

Each case of the operator tests is judged by `onnxport legal`, converted, and compiled by OpenVINO.
A verdict on a model is that of its worst node. CI does not run this: it takes a quarter
of an hour.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import torch
import torch.utils._pytree as pytree

import onnxport
from tests.python.onnx_runtime import ROOT
from tests.python.ops.harness import OpCase, Random, every_dim, export
from tests.python.ops.programs import suites

sys.path.insert(0, str(ROOT / "xtask/gen"))


def saved(entry: OpCase, folder: Path) -> Path:
    """Export a case to a file."""
    generator = torch.Generator().manual_seed(zlib.crc32(entry.id.encode()))
    inputs = pytree.tree_map(
        lambda leaf: leaf.draw(generator) if isinstance(leaf, Random) else leaf, entry.inputs
    )
    shapes = pytree.tree_map(every_dim, inputs) if entry.dynamic is True else entry.dynamic
    path = folder / "op.pt2"
    onnxport.save(export(entry.function, inputs, shapes), path)
    return path


def judged(program: Path, target: str) -> dict:
    """Return the verdicts on a program; an error for refused nodes has them as well."""
    try:
        return onnxport.legal(program, target=target).legal
    except onnxport.UnsupportedError as error:
        return error.report["legal"]


def verdict(found: dict) -> str:
    """Return `runs`, `unknown` or `refused`."""
    counts = found["counts"]
    if counts["refused"]:
        return "refused"
    return "unknown" if counts["unknown"] else "runs"


def converted(program: Path, target: str) -> onnx.ModelProto:
    """Convert for OpenVINO, or as ONNX has it where that is refused."""
    output = program.with_name("op.onnx")
    try:
        onnxport.convert(program, output=output, target=target, verify=False)
    except onnxport.Error:
        onnxport.convert(program, output=output, target="onnx", verify=False)
    return onnx.load(output)


def compared(options: argparse.Namespace, folder: Path) -> Iterator[dict]:
    """Yield a record of each case, or of one of every so many."""
    from openvino_probe import prober

    for family, cases in suites().items():
        if options.families and family not in options.families:
            continue
        for name, entry in cases[:: options.every]:
            try:
                program = saved(entry, folder)
                found = judged(program, options.target)
                model = converted(program, options.target)
            except (onnxport.Error, KeyError, AttributeError) as error:
                yield {
                    "case": f"{family}::{name}",
                    "error": f"{type(error).__name__}: {error}"[:200],
                }
                continue
            answer = prober().ask(model)
            others = [
                f"{node['verdict']} {node['operator']} {node['version']}: {node['reason']}"
                for node in found["nodes"]
                if node["verdict"] != "native"
            ]
            operators = sorted({node.op_type for node in model.graph.node})
            yield {
                "case": f"{family}::{name}",
                "verdict": verdict(found),
                "compiles": not answer,
                "answer": answer[-300:],
                "others": others,
                "operators": operators,
            }


def main() -> None:
    """Print the numbers, and the cases in which verdicts are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--log", type=Path, help="write a JSON line for each case")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of N cases")
    parser.add_argument("--target", default="openvino", help="a table of your own")
    options = parser.parse_args()
    counts: Counter[tuple[str, bool]] = Counter()
    log = options.log.open("w") if options.log else None
    with tempfile.TemporaryDirectory() as folder:
        for record in compared(options, Path(folder)):
            if log:
                log.write(json.dumps(record) + "\n")
                log.flush()
            if "error" in record:
                continue
            counts[record["verdict"], record["compiles"]] += 1
            if (record["verdict"] == "runs") != record["compiles"]:
                print(
                    record["case"], record["verdict"], record["answer"][-120:], record["others"][:2]
                )
    right = counts["runs", True]
    compiled = sum(n for (_, compiles), n in counts.items() if compiles)
    claimed = right + counts["runs", False]
    print(dict(counts))
    print(f"precision {right / max(claimed, 1):.4f}, recall {right / max(compiled, 1):.4f}")
    print(f"unknown {counts['unknown', True] + counts['unknown', False]} of {sum(counts.values())}")


if __name__ == "__main__":
    main()
