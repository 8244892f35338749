"""Checks for tests of exported models."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from onnxport import _errors

if TYPE_CHECKING:
    from onnxport._onnx_program import ONNXProgram
    from onnxport._operators.rules import Rule

__all__ = ["assert_onnx_program", "check_rule"]

# The strategies by PyTorch's names for them.
_STRATEGIES = {
    "TorchExportNonStrictStrategy": "non-strict",
    "TorchExportStrictStrategy": "strict",
    "TorchExportDraftExportStrategy": "draft",
}

# The executors by PyTorch's names for them.
_EXECUTORS = {"onnxruntime": "ort", "reference": "reference"}


def assert_onnx_program(
    program: ONNXProgram,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    args: tuple[Any, ...] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    strategy: str | None = "TorchExportNonStrictStrategy",
    backend: Literal["onnxruntime", "reference"] = "onnxruntime",
    **options: Any,
) -> None:
    """Assert that the model agrees with the exported program, by `ONNXProgram.verify`.

    By default both are called with the example inputs of the program, and with calls that are drawn
    from it.

    Args:
        program: The result of `onnxport.export`.
        rtol: The relative tolerance; by default that of the element type.
        atol: The absolute tolerance.
        args: Positional arguments to call both with.
        kwargs: Keyword arguments.
        strategy: How the program must have been captured: `non-strict`, `strict`, `patched` or
            `draft`, or one of PyTorch's names; None for anyhow.
        backend: The runtime: ONNX Runtime, or onnxport's own evaluator.
        options: Further ones of `ONNXProgram.verify`, such as `tolerance="auto"`.

    Raises:
        AssertionError: The values differ.
        ValueError: The program was captured otherwise, or there is nothing to compare with.
    """
    used = None if program.capture is None else program.capture.strategy
    wanted = _STRATEGIES.get(strategy or "", strategy)
    if wanted is not None and used != wanted:
        raise ValueError(f"the program was captured by {used}, and not by {wanted}")
    if program.exported_program is None:
        raise ValueError("there is no exported program to compare with")
    if args is None and kwargs is None and program.exported_program.example_inputs is None:
        raise ValueError("the exported program has no example inputs: give `args` or `kwargs`")
    executor = _EXECUTORS.get(backend)
    if executor is None:
        raise ValueError(f"{backend!r} is not a backend: there are {' and '.join(_EXECUTORS)}")
    try:
        program.verify(args, kwargs, rtol=rtol, atol=atol, **{"executor": [executor], **options})
    except _errors.MismatchError as error:
        raise AssertionError(str(error)) from error


# The sizes to draw from for a name in a shape.
_SIZES = (1, 2, 3, 5, 8)


def check_rule(
    rule: Rule,
    values: Mapping[str, tuple[Any, Sequence[int | str]] | None] | None = None,
    *,
    attributes: Mapping[str, Any] | None = None,
    opset: int = 20,
    trials: int = 24,
) -> int:
    """Assert that a rule changes no result by more than it states.

    The pattern becomes a model, which ONNX's evaluator computes before and after the rule, with
    drawn values. An exact rule must agree bit for bit, for NaN, infinities and -0 as well; another
    one within its bound.

    Args:
        rule: A rule created with `@onnxport.rule`.
        values: An element type and a shape for each value of the pattern, by name. Names in a shape
            are drawn sizes. By default a value is a matrix of float32; None leaves out an optional
            part. Of several alternatives the first is tried.
        attributes: Values of the attributes that the pattern binds; others are left out.
        opset: The opset of the model.
        trials: The number of times that values are drawn.

    Returns:
        The number of applications of the rule.

    Raises:
        AssertionError: Results differ, or the rule was never applied.
        ValueError: The pattern does not run with these types.
    """
    from onnxport import _native
    from onnxport._operators.dtype import DType

    _, names, _, _ = _native.names(rule.pattern)
    given = dict.fromkeys(names, ("float32", ("rows", "columns")))
    unknown = {*(values or {})} - {*given}
    if unknown:
        raise ValueError(f"the pattern of `{rule.name}` has no value `{min(unknown)}`")
    given |= values or {}
    wanted = {
        name: (DType.of(one[0]), list(one[1])) for name, one in given.items() if one is not None
    }
    functions = _native.Functions([], [rule.given()], [])
    applied, reason = 0, ""
    for seed in range(trials):
        draw = random.Random(seed)
        sizes: dict[str, int] = {}
        for _, shape in wanted.values():
            for extent in shape:
                if isinstance(extent, str):
                    sizes.setdefault(extent, draw.choice(_SIZES))
        drawn = {
            name: (int(dtype), [sizes.get(extent, extent) for extent in shape])
            for name, (dtype, shape) in wanted.items()
        }
        verdict = _native.try_rule(
            functions,
            rule.name,
            rule.pattern,
            drawn,
            dict(attributes or {}),
            opset=opset,
            bound=rule.bound,
            seed=seed,
        )
        raised = functions.take_raised()
        if raised:
            raise raised[0]
        if verdict is None:
            applied += 1
        elif verdict[0]:
            shown = ", ".join(f"{n}: {DType(d).name}{shape}" for n, (d, shape) in drawn.items())
            raise AssertionError(
                f"the rule `{rule.name}` changes results for {shown}: {verdict[1]}"
            )
        else:
            reason = verdict[1]
    if not applied:
        raise AssertionError(f"the rule `{rule.name}` was never applied: {reason}")
    return applied
