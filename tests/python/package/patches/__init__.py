"""Tests of the patches that make models traceable.

Each patch must return the same as the original in eager mode, and make an export succeed that fails
without it.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import nn

import onnxport
from onnxport._export.patches import install, registry


def equal(found: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Compare results in detail: structures, types, shapes and values, NaN included."""
    found, spec = pytree.tree_flatten(found)
    expected, other = pytree.tree_flatten(expected)
    assert spec == other
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=rtol, atol=atol, equal_nan=True)


def agrees(name: str, call: Callable[[], Any], **tolerances: float) -> None:
    """Compare the results of `call` in eager mode with and without a patch, which it must use."""
    expected = call()
    with install.installed(registry.chosen([name])) as uses:
        found = call()
    assert [one.name for one in uses.summary()] == [name]
    equal(found, expected, **tolerances)


def exported(
    name: str,
    model: nn.Module,
    args: tuple[Any, ...],
    given: Any,
    others: Iterable[tuple[Any, ...]] = (),
    **options: Any,
) -> onnxport.ONNXProgram:
    """Export a module that needs a patch, and compare it with the module at other sizes."""
    model = model.eval()
    program = onnxport.export(model, args, dynamic_shapes=given, **options)
    assert program.capture.strategy == "patched"
    assert name in [one.name for one in program.patches]
    *plain, patched = program.capture.attempts
    assert plain
    assert all(one.error is not None or one.fixed for one in plain)
    assert patched.fixed == ()
    program.verify(max_memory="64KiB")
    for call in (args, *others):
        with torch.no_grad():
            expected = pytree.tree_leaves(model(*call))
        equal(list(program(*call)), expected, rtol=1e-4, atol=1e-5)
    return program
