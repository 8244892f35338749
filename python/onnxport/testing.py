"""Checks for tests of exported models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from onnxport._onnx_program import ONNXProgram

__all__ = ["assert_onnx_program"]

# The strategies by the names that PyTorch has for them.
_STRATEGIES = {
    "TorchExportNonStrictStrategy": "non-strict",
    "TorchExportStrictStrategy": "strict",
    "TorchExportDraftExportStrategy": "draft",
}


def assert_onnx_program(
    program: ONNXProgram,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    args: tuple[Any, ...] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    strategy: str | None = "TorchExportNonStrictStrategy",
    backend: Literal["onnxruntime", "reference"] = "onnxruntime",
) -> None:
    """Assert that the model gives what the exported program gives.

    By default both are called with the example inputs of the program.

    Args:
        program: What `onnxport.export` returned.
        rtol: The relative tolerance; by default that of `torch.testing.assert_close` for the type.
        atol: The absolute tolerance.
        args: Positional arguments to call both with.
        kwargs: Keyword arguments.
        strategy: How the program must have been captured: `non-strict`, `strict` or `draft`, or one
            of PyTorch's names; None for anyhow.
        backend: What runs the model: ONNX Runtime, or the reference evaluator of the `onnx`
            package.

    Raises:
        AssertionError: The values differ.
        ValueError: The program was captured otherwise, or there is nothing to compare with.
    """
    import torch

    from onnxport._onnx_program import comparing

    used = None if program.capture is None else program.capture.strategy
    wanted = _STRATEGIES.get(strategy or "", strategy)
    if wanted is not None and used != wanted:
        raise ValueError(f"the program was captured by {used}, and not by {wanted}")
    if program.exported_program is None:
        raise ValueError("there is no exported program to compare with")
    if args is None and kwargs is None and program.exported_program.example_inputs is None:
        raise ValueError("the exported program has no example inputs: give `args` or `kwargs`")
    if backend not in ("onnxruntime", "reference"):
        raise ValueError(f"{backend!r} is no backend: there are onnxruntime and reference")
    given, named = comparing.example(program, args, kwargs)
    expected = comparing.expected(program, given, named)
    found = (
        program(*given, **named)
        if backend == "onnxruntime"
        else program.call_reference(*given, **named)
    )
    torch.testing.assert_close(
        tuple(found), tuple(expected), rtol=rtol, atol=atol, equal_nan=True, check_device=False
    )
