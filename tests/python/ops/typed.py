"""Hold valid programs against the check of types: `python -m tests.python.ops.typed [names]`.

PyTorch's own samples of each operator become one program, once with the sizes of the samples and
once with every size that may be dynamic. None of them may be refused with OP111, which calls a
file's types a contradiction. Prints the operators that are, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from tests.python.conformance.samples import Call, full_name
from tests.python.onnx_runtime import binary
from tests.python.ops.harness import every_dim, export

DTYPES = (
    torch.float32,
    torch.int64,
    torch.bool,
    torch.float64,
    torch.int32,
    torch.float16,
    torch.uint8,
    torch.complex64,
)
SIZES = ("static", "dynamic")
CONTRADICTION = "OP111"


class Calls(nn.Module):
    """Several calls, each on inputs of its own."""

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__()
        self.calls = nn.ModuleList(calls)

    def forward(self, inputs: Sequence[Sequence[Tensor]]) -> list[Any]:
        """Make every call."""
        return [call(*tensors) for call, tensors in zip(self.calls, inputs, strict=True)]


def operators(names: Sequence[str] = ()) -> list[OpInfo]:
    """Return the operators of these names, or all."""
    return [op for op in op_db if not names or op.name in names or full_name(op) in names]


def samples(op: OpInfo, limit: int) -> Iterator[SampleInput]:
    """Yield the first `limit` samples of each dtype."""
    torch.manual_seed(0)
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            try:
                yield from itertools.islice(op.sample_inputs("cpu", dtype), limit)
            except Exception:
                # Some operators cannot make samples of every dtype that they state.
                continue


def refusals(op: OpInfo, limit: int = 4, sizes: Sequence[str] = SIZES) -> tuple[int, list[str]]:
    """Return how many programs of `op` were checked, and their contradictions."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    calls = [Call(op.op, sample) for sample in samples(op, limit)]
    said: list[str] = []
    checked = 0
    with tempfile.TemporaryDirectory(prefix="onnxport-typed-") as folder:
        archive = Path(folder, "op.pt2")
        for kind in sizes:
            for _ in saved(calls, kind == "dynamic", archive):
                checked += 1
                said += contradictions(archive)
    return checked, said


def saved(calls: Sequence[Call], dynamic: bool, archive: Path) -> Iterator[None]:
    """Save one program of all calls, or where PyTorch cannot one for each call that it can."""
    try:
        save(calls, dynamic, archive)
    except Exception:
        for call in calls:
            try:
                save([call], dynamic, archive)
            except Exception:
                continue
            yield
    else:
        yield


def save(calls: Sequence[Call], dynamic: bool, archive: Path) -> None:
    """Save the program of some calls."""
    inputs = [list(call.tensors) for call in calls]
    shapes = [[every_dim(tensor) for tensor in tensors] for tensors in inputs]
    program = export(Calls(calls), (inputs,), (shapes,) if dynamic else None)
    torch.export.save(program, archive)


def contradictions(archive: Path) -> list[str]:
    """Return the contradictions that `onnxport check` reports in a program."""
    command = [binary(), "check", archive, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["diagnostics"]
    return [entry["message"] for entry in found if entry["code"] == CONTRADICTION]


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.ops.typed", description=__doc__)
    parser.add_argument("names", nargs="*", help="names of OpInfos; all by default")
    parser.add_argument("-k", "--samples", type=int, default=4, help="samples per dtype")
    parser.add_argument("--sizes", choices=SIZES, help="both by default")
    options = parser.parse_args()
    sizes = (options.sizes,) if options.sizes else SIZES
    torch.set_num_threads(1)
    checked = refused = 0
    for op in operators(options.names):
        programs, said = refusals(op, options.samples, sizes)
        checked += programs
        refused += bool(said)
        for message in dict.fromkeys(said):
            print(f"{full_name(op)}: {message}", flush=True)
    print(f"{checked} programs; {refused} operators refused")
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
