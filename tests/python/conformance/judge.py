"""The verdict on one sample: the model's results against those of eager PyTorch."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor
from torch.export import Dim

import onnxport
from tests.python.conformance import exact, unique
from tests.python.conformance.samples import Sample

# Relative and absolute.
TOLERANCES = {
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
    torch.float32: (1e-4, 1e-5),
    torch.complex64: (1e-4, 1e-5),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (4e-2, 1e-2),
}
# Types in which PyTorch's own results may be further from those of float64 than the tolerance.
COARSE = {torch.float16, torch.bfloat16, torch.float32}
# Results that hold memory as it was.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"} | {
    "new_empty_strided",
    "resize_",
    "resize_as_",
}
# Sizes of dynamic axes up to which models are compared, or twice those of the sample.
LARGEST = 12
# Operators that read sequences that are sorted, or lengths that add up, which drawn inputs are not.
SORTED = {
    "bucketize",
    "searchsorted",
    "histogram",
    "histogramdd",
    "nn.functional.embedding_bag",
} | {
    "_segment_reduce.lengths",
    "_segment_reduce.offsets",
}
# Operators whose results at drawn inputs mean nothing.
DRAWN = {
    "linalg.cholesky_ex": "drawn matrices are not positive definite",
    "linalg.solve_triangular": "drawn triangular matrices are close to singular ones",
}
# Transforms whose sums include every element: which of infinity and NaN they give depends on the
# algorithm.
TRANSFORMS = ("fft.", "stft", "istft")
# ONNX Runtime has few kernels of bfloat16 on the CPU: compute in float32 between casts.
OPTIONS = {"bfloat16": {"target": "onnxruntime-cpu"}}
VERDICTS = ("right", "refused", "wrong", "broken", "not judged")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a sample, and its reason."""

    verdict: str
    reason: str = ""


def judge(sample: Sample) -> Verdict:
    """Export a sample, run the model, and compare."""
    try:
        expected = _eager(sample)
        torch.manual_seed(1)
        again = _eager(sample)
    except Exception as error:
        return Verdict("not judged", f"PyTorch: {_first_line(error)}")
    if sample.name in UNINITIALISED:
        return Verdict("not judged", "uninitialised")
    if not expected:
        return Verdict("not judged", "no tensor is returned")
    if any(tensor.layout is not torch.strided for tensor in expected):
        return Verdict("not judged", "sparse")
    if any(not _equal(a, b) for a, b in _pairs(expected, again)):
        return Verdict("not judged", "random")
    try:
        with _quiet():
            program = onnxport.export(
                sample.module,
                sample.tensors,
                kwargs=sample.kwargs,
                dynamic_shapes=_shapes(sample),
                options=OPTIONS.get(sample.kind),
            )
    except onnxport.InternalError as error:
        return Verdict("broken", _first_line(error))
    except onnxport.Error as error:
        if not _captured(sample):
            return Verdict("not judged", "torch.export refuses it")
        return Verdict("refused", _first_line(error))
    except Exception as error:
        return Verdict("broken", f"{type(error).__name__}: {_first_line(error)}")
    if _is_random(program):
        return Verdict("not judged", "random")
    return _compared(sample, program, expected)


def _is_random(program: Any) -> bool:
    """Tell whether a program draws numbers; PyTorch's samples set the seed themselves."""
    graphs = program.exported_program.graph_module.modules()
    nodes = (node for part in graphs if hasattr(part, "graph") for node in part.graph.nodes)
    return any(
        torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in nodes
    )


def _compared(sample: Sample, program: Any, expected: list[Tensor]) -> Verdict:
    """Return the verdict on a model."""
    try:
        with _quiet():
            given = pytree.tree_map(_copied, sample.tensors)
            actual = _tensors(program(*given, **sample.kwargs))
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):
            return _evaluated(program)
        return Verdict("broken", _first_line(error))
    is_sorted = sample.name in SORTED and sample.kind in ("dynamic", "extremal")
    if wrong := difference(sample, actual, expected):
        return (
            Verdict("not judged", "needs sorted inputs") if is_sorted else Verdict("wrong", wrong)
        )
    if is_sorted and sample.kind == "dynamic":
        return Verdict("not judged", "needs sorted inputs")
    if sample.kind != "dynamic":
        return Verdict("right")
    if reason := DRAWN.get(sample.name):
        return Verdict("not judged", reason)
    if sample.name in unique.INVARIANTS:
        return Verdict("not judged", "free results at other sizes")
    return _verified(program)


def difference(sample: Sample, actual: list[Tensor], expected: list[Tensor]) -> str:
    """Return how results differ, or nothing."""
    if len(actual) != len(expected):
        return f"{len(actual)} results instead of {len(expected)}"
    actual = [_typed(got, right) for got, right in zip(actual, expected, strict=True)]
    if sample.kind == "extremal" and sample.name.startswith(TRANSFORMS):
        actual, expected = (
            list(map(_without_infinities, results)) for results in (actual, expected)
        )
    if invariant := unique.INVARIANTS.get(sample.name):
        actual, expected = (invariant(sample, results) for results in (actual, expected))
    for got, right in zip(actual, expected, strict=True):
        rtol, atol = TOLERANCES.get(right.dtype, (0.0, 0.0))
        try:
            torch.testing.assert_close(got, right, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as error:
            is_better = right.dtype in COARSE and _is_nearer(sample, actual, expected)
            if not is_better and not _is_exact(sample, actual, expected):
                return " ".join(str(error).split())
            return ""
    return ""


def _is_exact(sample: Sample, actual: list[Tensor], expected: list[Tensor]) -> bool:
    """Tell whether the results agree with those of mpmath."""
    improved = exact.improved(sample, expected)
    if improved is expected:
        return False
    rtol, atol = TOLERANCES[expected[0].dtype]
    return torch.allclose(actual[0], improved[0], rtol=rtol, atol=atol, equal_nan=True)


def _without_infinities(tensor: Tensor) -> Tensor:
    """Return NaN in place of everything that is not finite."""
    return torch.where(tensor.isfinite(), tensor, float("nan"))


def _typed(got: Tensor, right: Tensor) -> Tensor:
    """Return pairs as complex numbers where those are expected."""
    if right.is_complex() and not got.is_complex():
        return torch.complex(got[..., 0], got[..., 1])
    return got


def _is_nearer(sample: Sample, actual: list[Tensor], expected: list[Tensor]) -> bool:
    """Tell whether all elements are as near to the float64 result as PyTorch's."""
    try:
        exact = _eager(sample.widened())
    except Exception:
        return False
    if [tensor.shape for tensor in exact] != [tensor.shape for tensor in expected]:
        return False
    for got, right, truth in zip(actual, expected, exact, strict=True):
        if right.dtype not in COARSE:
            if not torch.equal(got, right):
                return False
            continue
        # The truth as far as the type can hold it.
        held = truth.to(right.dtype).double()
        rtol, atol = TOLERANCES[right.dtype]
        distance = (right.double() - held).abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
        near = (got.double() - held).abs() <= distance + atol + rtol * held.abs()
        same = (got.double() == held) | (got.isnan() & held.isnan())
        if not bool((near | same).all()):
            return False
    return True


def _evaluated(program: Any) -> Verdict:
    """Judge with the evaluator a model for which ONNX Runtime has no kernels."""
    return _verified(program, executor=["reference"])


def _verified(program: Any, **options: Any) -> Verdict:
    try:
        with _quiet():
            program.verify(**options)
    except onnxport.MismatchError as error:
        return Verdict("wrong", _first_line(error))
    except onnxport.UnverifiedError as error:
        return Verdict("not judged", _first_line(error))
    except Exception as error:
        return Verdict("broken", f"{type(error).__name__}: {_first_line(error)}")
    return Verdict("right")


def _shapes(sample: Sample) -> Any:
    if sample.kind != "dynamic":
        return None

    def spec(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            sizes = enumerate(leaf.shape)
            return {
                dim: Dim.AUTO(min=2, max=max(2 * size, LARGEST)) for dim, size in sizes if size > 1
            }
        return None

    return (tuple(spec(tensor) for tensor in sample.tensors),)


def _captured(sample: Sample) -> bool:
    try:
        with _quiet():
            torch.export.export(
                sample.module,
                sample.tensors,
                sample.kwargs,
                dynamic_shapes=_shapes(sample),
                strict=False,
            )
    except Exception:
        return False
    return True


def _eager(sample: Sample) -> list[Tensor]:
    with torch.no_grad(), _quiet():
        given = pytree.tree_map(_copied, (sample.tensors, sample.kwargs))
        return _tensors(sample.module(*given[0], **given[1]))


def _equal(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0.0, atol=0.0, equal_nan=True)


def _copied(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, Tensor) else leaf


def _tensors(results: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, Tensor)]


def _pairs(left: list[Tensor], right: list[Tensor]) -> Any:
    return zip(left, right, strict=True)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error[")]
    return (errors or lines or [type(error).__name__])[0]


def _quiet() -> Any:
    return contextlib.redirect_stderr(io.StringIO())
