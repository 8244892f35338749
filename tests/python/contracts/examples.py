"""The programs that the installed PyTorch has: its database of examples, and of higher-order operators."""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch._export.db.case import SupportLevel
from torch._export.db.examples import all_examples
from torch.testing._internal.hop_db import hop_db

from tests.python.contracts import hops
from tests.python.contracts.registry import Call, Contract

# Operators that are not programs for inference, or none for a model.
OTHER = {
    "flex_attention_backward": "a gradient",
    "register_hook": "a hook of gradients",
    "local_map_hop": "distributed tensors",
    "inline_asm_elementwise": "code for a GPU",
    "auto_functionalize": "a custom operator",
    "while_loop_stack_output": "the forward part of a gradient",
    "invoke_quant": "PyTorch does not export it",
}


def examples() -> dict[str, Contract]:
    """Return the supported examples of PyTorch's database."""
    cases = {f"example.{name}": case for name, case in all_examples().items()}
    return {
        name: _example(name, case)
        for name, case in cases.items()
        if case.support_level is SupportLevel.SUPPORTED
    }


def _example(name: str, case: Any) -> Contract:
    args = case.example_args
    calls = [Call(args if isinstance(args, tuple) else (args,), case.example_kwargs or {})]
    if case.extra_args is not None:
        calls.append(Call(case.extra_args, case.example_kwargs or {}))
    dynamic = case.dynamic_shapes
    return Contract(name, lambda: copy.deepcopy(case.model), tuple(calls), dynamic)


def operators() -> dict[str, Contract]:
    """Return a program for each sample of a higher-order operator."""
    found: dict[str, Contract] = {}
    for info in hop_db:
        if info.name in OTHER:
            continue
        variant = "_".join(filter(None, (info.name, info.variant_test_name)))
        for number, one in enumerate(info.sample_inputs_func(info, "cpu", torch.float32, False)):
            given = (one.input, *one.args)
            functions = [at for at, value in enumerate(given) if callable(value)]
            end = functions[0] if functions else len(given)
            build = functools.partial(_Called, info.op, given[end:])
            name = f"operator.{variant}.{number}"
            found[name] = Contract(name, build, (Call(given[:end], one.kwargs),))
    return found


class _Called(nn.Module):
    def __init__(self, function: Any, further: tuple[Any, ...]) -> None:
        super().__init__()
        self.function, self.further = function, further

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, *self.further, **kwargs)


@contextmanager
def in_python(module: nn.Module) -> Iterator[None]:
    """Replace the operators that a module of the database calls by plain Python."""
    code = sys.modules[type(module).__module__]
    names = [name for name in ("cond", "map") if callable(vars(code).get(name))]
    before = {name: getattr(code, name) for name in names}
    for name in names:
        setattr(code, name, getattr(hops, name))
    kept, torch.cond = torch.cond, hops.cond
    try:
        yield
    finally:
        torch.cond = kept
        for name, value in before.items():
            setattr(code, name, value)
