"""Control flow of `torch.cond` and its kind in plain Python, as PyTorch compiles it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, _higher_order_ops

# The operators that programs call while PyTorch captures them.
CAPTURED = {
    "cond": torch.cond,
    "map": _higher_order_ops.map,
    "scan": _higher_order_ops.scan,
    "while_loop": _higher_order_ops.while_loop,
}


def cond(predicate: Any, one: Callable, other: Callable, operands: Sequence[Any]) -> Any:
    """Do as `torch.cond`."""
    return one(*operands) if predicate else other(*operands)


def while_loop(condition: Callable, body: Callable, carried: Sequence[Any]) -> Sequence[Any]:
    """Do as `torch.while_loop`."""
    while condition(*carried):
        carried = body(*carried)
    return carried


def scan(
    body: Callable, carried: Tensor, rows: Tensor, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """Do as `scan`, along the first axis."""
    found = []
    for row in reversed(rows.unbind(0)) if reverse else rows.unbind(0):
        carried, out = body(carried, row)
        found.append(out)
    return carried, torch.stack(found[::-1] if reverse else found)


def map(body: Callable, rows: Tensor) -> Tensor:
    """Do as `map`, along the first axis."""
    return torch.stack([body(row) for row in rows.unbind(0)])


EAGER = {"cond": cond, "map": map, "scan": scan, "while_loop": while_loop}
