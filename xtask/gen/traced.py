"""Write `plugins/aten/decompositions/traced.txt`: PyTorch's own decompositions.

Of the operators that no lowering and no decomposition of ours covers, those in `CASES` are traced
with PyTorch's own decomposition, or as PyTorch composes them where it has none. Each trace is held
against PyTorch at other extents; `tracing.TraceError` ends the run.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch._decomp import decomposition_table
from tracing import Like, Number, TraceError, decompositions, function

HEADER = """\
# PyTorch's decompositions of operators, as version {version} traces them.
# Written by `cargo xtask gen` (xtask/gen/traced.py). Do not edit.
"""
ANY = Like("*")
INT = torch.int64
NONE, MEAN, SUM = 0, 1, 2
Case = tuple[str, dict[str, Any]]


def activations() -> Iterator[Case]:
    """Gradients of activations."""
    pair = {"grad_output": ANY, "self": ANY}
    for op in ("silu", "mish", "hardsigmoid", "hardswish"):
        yield f"{op}_backward", pair
    for form in ("none", "tanh"):
        yield "gelu_backward", pair | {"approximate": form}
    for is_result in (False, True):
        ones = {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0}
        rest = {"is_result": is_result, "self_or_result": ANY}
        yield "elu_backward", {"grad_output": ANY, **ones, **rest}
    yield "softplus_backward", pair | {"beta": 1.0, "threshold": 20.0}
    yield "log_sigmoid_backward", pair | {"buffer": ANY}
    yield "logit_backward", {"grad_output": ANY, "self": Like("*", low=0.1, high=0.9), "eps": None}


def losses() -> Iterator[Case]:
    """Gradients of losses."""
    for reduction in (NONE, MEAN, SUM):
        gradient = ANY if reduction == NONE else Like("")
        three = {"grad_output": gradient, "self": ANY, "target": ANY, "reduction": reduction}
        for op in ("mse_loss", "soft_margin_loss"):
            yield f"{op}_backward", three
        yield "smooth_l1_loss_backward", three | {"beta": Number(0.75, 1.25, (0.5, 1.0))}
        part = {"self": Like("*", low=0.1, high=0.9), "target": Like("*", low=0), "weight": None}
        yield "binary_cross_entropy_backward", three | part
        # Of classes, which are the second axis.
        for op, places in (("nll_loss", "a"), ("nll_loss2d", "ahw")):
            yield (
                f"{op}_backward",
                {
                    "grad_output": Like(places) if reduction == NONE else Like(""),
                    "self": Like(f"{places[:1]}c{places[1:]}"),
                    "target": Like(places, INT, 0, "c"),
                    "weight": None,
                    "reduction": reduction,
                    "ignore_index": -100,
                    "total_weight": Like("", low=3, high=4),
                },
            )


def layers() -> Iterator[Case]:
    """Gradients of normalising layers and of dropout."""
    yield (
        "native_dropout_backward",
        {"grad_output": ANY, "mask": Like("*", torch.bool), "scale": Number(1.25, 2.5)},
    )
    stated = {"weight": Like("c"), "running_mean": Like("c"), "running_var": Like("c", low=0.5)}
    for axes in ("nc", "ncw", "nchw"):
        given = {"grad_out": Like(axes), "input": Like(axes), **stated}
        saved = {"save_mean": Like("c"), "save_invstd": Like("c", low=0.5)}
        mask = {"output_mask": [True, True, True]}
        for train in (True, False):
            epsilon = 1e-5 if train else Number(1e-5, 1e-4, (1e-3,))
            yield (
                "native_batch_norm_backward",
                {**given, **saved, "train": train, "eps": epsilon} | mask,
            )


def shifts() -> Iterator[Case]:
    """Shifts of the result of a Fourier transform."""
    for axes in ("a", "ab", "abc"):
        for dims in (None, *([dim] for dim in range(len(axes))), [-1], [-2, -1]):
            if dims is None or len(dims) <= len(axes):
                for op in ("fft_fftshift", "fft_ifftshift"):
                    yield op, {"self": Like(axes), "dim": dims}


CASES = [activations, losses, layers, shifts]


def table_of(target: str) -> dict[Any, Any]:
    """Return PyTorch's decomposition of `target`, if it has one."""
    overload = function(target)
    found = decomposition_table.get(overload)
    return {overload: found} if found else {}


def main() -> None:
    """Write the decompositions to the path given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    texts = []
    for cases in CASES:
        texts.append(f"# {cases.__doc__}\n")
        for name, given in cases():
            target = f"aten.{name}" if "." in name else f"aten.{name}.default"
            torch.manual_seed(0)
            try:
                texts.append(decompositions(target, given, table_of(target)))
            except TraceError as error:
                raise SystemExit(f"{target}: {error}") from None
    version = torch.__version__.split("+")[0]
    options.output.write_text(HEADER.format(version=version) + "".join(dict.fromkeys(texts)))


if __name__ == "__main__":
    main()
