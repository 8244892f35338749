"""Run PyTorch's own OpInfo samples: `python -m tests.python.ops.opinfo [names] [-k 2] [-j 2]`.

Prints one line per operator with the number of samples that passed, that the converter does not
support, that differ, that broke something, and that `torch.export` itself could not export. The
exit status is 1 when an operator outside the known failures fails, or one inside passes.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from tests.python import known_failures
from tests.python.onnx_runtime import ConvertError, MismatchError
from tests.python.ops.harness import KNOWN_FAILURES, export, round_trip

DTYPES = (torch.float32, torch.int64, torch.bool)
# Multiples of the tolerances of operators. ONNX Runtime's `DFT` rounds every axis in float32.
LOOSER = dict.fromkeys(("fft.fft2", "fft.fftn", "fft.rfft2", "fft.rfftn", "stft"), 100.0)
OUTCOMES = ("pass", "unsupported", "mismatch", "error", "export-failed")


class Call(nn.Module):
    """An operator with everything but its tensors bound."""

    def __init__(self, op: OpInfo, sample: SampleInput) -> None:
        super().__init__()
        self.op = op.op
        leaves, self.spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.leaves = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self.tensors = tuple(leaves[i].detach().contiguous() for i in self.positions)

    def forward(self, *tensors: Tensor) -> Any:
        """Call the operator."""
        leaves = list(self.leaves)
        for position, tensor in zip(self.positions, tensors, strict=True):
            leaves[position] = tensor
        first, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(first, *args, **kwargs)


@dataclass
class Result:
    """The outcomes of an operator's samples and its first failure."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    message: str = ""

    def failed(self) -> bool:
        """Tell whether a sample that PyTorch can export failed."""
        return any(self.outcomes[outcome] for outcome in ("unsupported", "mismatch", "error"))

    def __str__(self) -> str:
        """Return the operator's line of the table."""
        counts = " ".join(f"{self.outcomes[outcome]:11}" for outcome in OUTCOMES)
        return f"{self.name:44} {counts}  {' '.join(self.message.split())[:110]}".rstrip()


def full_name(op: OpInfo) -> str:
    """Return the operator's name with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples(op: OpInfo, limit: int) -> Iterator[SampleInput]:
    """Yield the first `limit` samples of each dtype."""
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            yield from itertools.islice(op.sample_inputs("cpu", dtype), limit)


def outcome(op: OpInfo, sample: SampleInput) -> tuple[str, str]:
    """Return what became of one sample and the message of its failure."""
    try:
        call = Call(op, sample)
        program = export(call, call.tensors)
    except Exception as error:
        return "export-failed", str(error)
    try:
        round_trip(program, LOOSER.get(full_name(op), 1.0))
    except ConvertError as error:
        return ("unsupported" if error.unsupported else "error"), str(error)
    except MismatchError as error:
        return "mismatch", str(error)
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    return "pass", ""


def run(name: str, limit: int) -> list[Result]:
    """Run the operators of that name, every variant by itself."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    results = []
    for op in op_db:
        if name not in (op.name, full_name(op)):
            continue
        result = Result(full_name(op))
        torch.manual_seed(0)
        try:
            for sample in samples(op, limit):
                kind, message = outcome(op, sample)
                result.outcomes[kind] += 1
                result.message = result.message or message
        except Exception as error:
            result.outcomes["export-failed"] += 1
            result.message = result.message or f"samples: {error}"
        results.append(result)
    return results


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.ops.opinfo", description=__doc__)
    parser.add_argument("names", nargs="*", help="names of OpInfos; all by default")
    parser.add_argument("-k", "--samples", type=int, default=2, help="samples per dtype")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    names = options.names or sorted({full_name(op) for op in op_db})
    known = known_failures.load(KNOWN_FAILURES)["opinfo"]
    total: Counter[str] = Counter()
    surprises = []
    print(f"{'operator':44} {' '.join(f'{outcome:>11}' for outcome in OUTCOMES)}")
    with ProcessPoolExecutor(options.jobs) as pool:
        counts = itertools.repeat(options.samples)
        for result in itertools.chain.from_iterable(pool.map(run, names, counts)):
            print(result, flush=True)
            total += result.outcomes
            if result.failed() != (result.name in known):
                verb = "fails" if result.failed() else "passes but is a known failure"
                surprises.append(f"{result.name} {verb}")
    print(Result("total", total))
    for surprise in surprises:
        print(surprise, file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    raise SystemExit(main())
