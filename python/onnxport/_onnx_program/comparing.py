"""What a model computes, beside what the exported program computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxport import _errors
from onnxport._diagnostics import Diagnostic

if TYPE_CHECKING:
    import torch

    from onnxport._onnx_program.program import ONNXProgram

# Relative and absolute, as the command has them for whole models.
TOLERANCES = {
    "float64": (1e-6, 1e-7),
    "float32": (1e-3, 1e-4),
    "float16": (1e-2, 1e-2),
    "bfloat16": (4e-2, 4e-2),
}


@dataclass(frozen=True)
class Comparison:
    """An output: the largest differences, and whether they are within the tolerances."""

    name: str
    passed: bool
    max_abs_diff: float
    max_rel_diff: float
    problem: str | None = None


def example(
    program: ONNXProgram, args: Any, kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the call to compare: the one that is given, or that of the example.

    Raises:
        UnverifiedError: There is none.
    """
    if args is not None or kwargs is not None:
        return tuple(args or ()), dict(kwargs or {})
    exported = program.exported_program
    found = None if exported is None else exported.example_inputs
    if found is None:
        raise _errors.UnverifiedError("there is no example to compare: give `args` or `kwargs`")
    return tuple(found[0]), dict(found[1])


def expected(
    program: ONNXProgram, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[torch.Tensor]:
    """Return what the exported program computes, in the order of the model's outputs."""
    import torch

    from onnxport._export import caches, inputs

    exported = program.exported_program
    if exported is None:
        raise _errors.UnverifiedError("there is no exported program to compare with")
    # PyTorch cannot check its guards on inputs of classes.
    module = exported.module(check_guards=False)
    # A call may write to buffers, whose memory the model reads.
    before = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
    with caches.registered(), torch.no_grad():
        try:
            return inputs.numbers(module(*inputs.copied(args), **inputs.copied(kwargs)))
        finally:
            for name, buffer in module.named_buffers():
                if not torch.equal(buffer, before[name]):
                    buffer.copy_(before[name])


def verify(
    program: ONNXProgram,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    rtol: float | None,
    atol: float | None,
) -> list[Comparison]:
    """Compare the outputs; see `ONNXProgram.verify`."""
    from onnxport._onnx_program.running import Runner

    given, named = example(program, args, kwargs)
    wanted = expected(program, given, named)
    runner = Runner(program)
    try:
        found = runner.call(given, named)
        names = runner.outputs
    finally:
        runner.close()
    compared = list(compare(names, found, wanted, rtol, atol))
    wrong = [one for one in compared if not one.passed]
    if len(found) != len(wanted):
        problem = f"the model has {len(found)} outputs and the program {len(wanted)}"
        raise _errors.MismatchError(diagnostics=[Diagnostic("error", "OP701", problem)])
    if wrong:
        raise _errors.MismatchError(diagnostics=[_mismatch(one) for one in wrong])
    return compared


def _mismatch(one: Comparison) -> Diagnostic:
    said = (
        one.problem
        or f"it is off by up to {one.max_abs_diff:.2g}, relatively {one.max_rel_diff:.2g}"
    )
    return Diagnostic("error", "OP701", f"`{one.name}` is not what the program computes: {said}")


def compare(
    names: Sequence[str],
    found: Sequence[Any],
    wanted: Sequence[torch.Tensor],
    rtol: float | None = None,
    atol: float | None = None,
) -> list[Comparison]:
    """Compare outputs, one after the other."""
    return [_compare(*one, rtol, atol) for one in zip(names, found, wanted, strict=False)]


def _compare(
    name: str, found: Any, wanted: torch.Tensor, rtol: float | None, atol: float | None
) -> Comparison:
    import torch

    found = found if isinstance(found, torch.Tensor) else torch.as_tensor(found)
    wanted = wanted.detach().cpu()
    if found.shape != wanted.shape:
        problem = f"its shape is {list(found.shape)} and not {list(wanted.shape)}"
        return Comparison(name, False, float("inf"), float("inf"), problem)
    defaults = TOLERANCES.get(str(wanted.dtype).removeprefix("torch."), (0.0, 0.0))
    relative = defaults[0] if rtol is None else rtol
    absolute = defaults[1] if atol is None else atol
    if found.dtype == wanted.dtype and not wanted.is_floating_point():
        return Comparison(name, *_integers(found, wanted, relative, absolute))
    a, b = found.double(), wanted.double()
    passed = torch.allclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
    off = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs())
    rel = off / b.abs().clamp_min(1e-12)
    largest = [float(one.max()) if one.numel() else 0.0 for one in (off, rel)]
    return Comparison(name, passed, *largest)


def _integers(
    found: torch.Tensor, wanted: torch.Tensor, relative: float, absolute: float
) -> tuple[bool, float, float]:
    """Compare integers without rounding, which those of 64 bits would suffer as floats."""
    differ = found != wanted
    pairs = zip(found[differ].tolist(), wanted[differ].tolist(), strict=True)
    off = [(abs(a - b), abs(b)) for a, b in pairs]
    passed = all(distance <= absolute + relative * size for distance, size in off)
    largest = max((distance for distance, _ in off), default=0)
    return passed, float(largest), max((one / max(size, 1e-12) for one, size in off), default=0.0)
