"""The cost of reading large weights and writing them again, as they are or fused.

    python benches/rewrite.py onnx --gigabytes 20
    python benches/rewrite.py fusions --gigabytes 10 --plugin target/debug/libonnxport_fusions.so

`onnx` makes an ONNX model whose data file is one hole, and has `onnxport optimize` read, check,
optimise and write it. `fusions` makes a program of a convolution with a batch normalisation and of
three products of one value, each with half of the weights, and converts it with the plugin: the
first weight is scaled, the others are packed. With `--punch` the blocks of the output are given
back to the disk while it is written; the process under test does the same either way. Other
arguments are for onnxport. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import onnx
from onnx import TensorProto, helper
from reference import LIBC, rss_anon

ROOT = Path(__file__).parents[1]

# Behind this many bytes of an output its blocks are given back to the disk.
KEPT = 64 << 20

# FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
PUNCH = 0x01 | 0x02

WIDTH = 8192


def write_onnx(folder: Path, size: int) -> Path:
    """Write products of a value with weights of 268 MB each, all of them holes."""
    each = WIDTH * WIDTH * 4
    count = -(-size // each)
    # Two nodes that a rule takes away.
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["x0"])]
    weights = []
    for number in range(count):
        weight = TensorProto(name=f"w{number}", dims=[WIDTH, WIDTH], data_type=TensorProto.FLOAT)
        weight.data_location = TensorProto.EXTERNAL
        where = {"location": "model.data", "offset": number * each, "length": each}
        for key, value in where.items():
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [f"x{number}", f"w{number}"], [f"x{number + 1}"]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH])
        for name in ("x", f"x{count}")
    ]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with (folder / "model.data").open("wb") as data:
        data.truncate(count * each)
        mark(data, range(0, count * each, each))
    return path


def mark(file: BinaryIO, places: Iterable[int]) -> None:
    """Make holes differ, so that they are not stored as one weight."""
    for number, place in enumerate(places):
        file.seek(place)
        file.write(struct.pack("<f", number + 1))


def write_program(folder: Path, size: int) -> Path:
    """Write a program without weights, and shards of holes for it."""
    import torch
    from torch import nn
    from torch._subclasses.fake_tensor import FakeTensorMode

    sys.path.insert(0, str(ROOT))
    from tests.python.weights.llama import write_shards

    channels = round((size / 2 / 36) ** 0.5) // 64 * 64
    width = round((size / 2 / 12) ** 0.5) // 64 * 64

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(channels, channels, 3)
            self.norm = nn.BatchNorm2d(channels)
            self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

        def forward(self, image: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """Compute both."""
            return self.norm(self.conv(image)), self.q(x), self.k(x), self.v(x)

    with FakeTensorMode(allow_non_fake_inputs=True):
        module = Both().eval()
        arguments = torch.zeros(1, channels, 3, 3), torch.zeros(1, 1, width)
    program = torch.export.export(module, arguments)
    torch.export.save(program, folder / "program.pt2")
    write_shards(folder, dict(program.state_dict), 1 << 40)
    with next(folder.glob("*.safetensors")).open("r+b") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        large = (entry["data_offsets"][0] for entry in header.values() if len(entry["shape"]) > 1)
        mark(file, [8 + length + start for start in large])
    return folder / "program.pt2"


def punch(folder: Path, process: subprocess.Popen) -> None:
    """Punch a hole into a file in `folder`, up to the offset at which `process` writes."""
    files = Path(f"/proc/{process.pid}/fd")
    try:
        for link in list(files.iterdir()):
            if not os.readlink(link).startswith(str(folder)):
                continue
            said = (files.parent / "fdinfo" / link.name).read_text().split()
            end = int(said[said.index("pos:") + 1]) - KEPT
            if end > 0:
                with link.open("r+b") as file:
                    LIBC.fallocate(file.fileno(), PUNCH, ctypes.c_long(0), ctypes.c_long(end))
    except OSError:
        return


def measure(command: list[str | Path], output: Path, punched: bool) -> tuple[float, float, int]:
    """Run a command; return its wall and CPU seconds and the peak of its anonymous memory."""
    start = time.perf_counter()
    before = os.times()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, next_punch = 0, 0.0
    while process.poll() is None:
        peak = max(peak, rss_anon(process.pid))
        if punched and time.perf_counter() > next_punch:
            punch(output, process)
            next_punch = time.perf_counter() + 0.1
        time.sleep(0.0005)
    after = os.times()
    if process.returncode != 0:
        raise SystemExit(process.returncode)
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return time.perf_counter() - start, cpu, peak


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["onnx", "fusions"])
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--binary", type=Path, default=Path("target/release/onnxport"))
    parser.add_argument("--plugin", type=Path, help="the fusions, as a library")
    parser.add_argument("--folder", type=Path, help="where files are made")
    parser.add_argument("--punch", action="store_true")
    arguments, more = parser.parse_known_args()
    if arguments.what == "fusions" and arguments.plugin is None:
        parser.error("fusions need --plugin")
    size = int(arguments.gigabytes * 1e9)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as made:
        folder = Path(made)
        output = folder / "out" / "model.onnx"
        if "reference" in more:
            # A model points at files in its own folder.
            output = folder / "copy.onnx"
        output.parent.mkdir(exist_ok=True)
        if arguments.what == "onnx":
            command = [arguments.binary, "optimize", write_onnx(folder, size)]
        else:
            command = [arguments.binary, "convert", write_program(folder, size), "--no-verify"]
            command += ["--weights", folder, "--opset", "20", "--plugin", arguments.plugin]
        command += ["-o", output, "--quiet", *more]
        wall, cpu, peak = measure(command, output.parent, arguments.punch)
        model = onnx.load(str(output), load_external_data=False)
        nodes = Counter(node.op_type for node in model.graph.node)
        written = sum(path.stat().st_size for path in output.parent.glob(f"{output.name}*"))
        sys.stdout.write(
            f"| {arguments.what} | {size / 1e9:.1f} | {written / 1e9:.2f} | {peak / 2**20:.1f} "
            f"| {cpu:.1f} | {wall:.1f} | {dict(nodes)} |\n"
        )


if __name__ == "__main__":
    main()
