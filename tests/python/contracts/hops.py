"""Higher-order operators: PyTorch's own while a program is captured, else plain Python.

PyTorch compiles its own in eager mode, which takes seconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import _higher_order_ops as real
from torch.utils import _pytree as pytree

_captures = False


@contextlib.contextmanager
def captured() -> Iterator[None]:
    """Use PyTorch's operators in this context."""
    global _captures
    before, _captures = _captures, True
    try:
        yield
    finally:
        _captures = before


def cond(predicate: Any, one: Callable, other: Callable, operands: Any = ()) -> Any:
    """Do as `torch.cond`."""
    if _captures:
        return torch.cond(predicate, one, other, operands)
    return one(*operands) if predicate else other(*operands)


def while_loop(condition: Callable, body: Callable, carried: Any) -> Any:
    """Do as `while_loop`."""
    if _captures:
        return real.while_loop(condition, body, carried)
    while condition(*carried):
        carried = body(*carried)
    return tuple(carried)


def map(body: Callable, rows: Any, *args: Any) -> Any:
    """Do as `map`, along the first axis."""
    if _captures:
        return real.map(body, rows, *args)
    return _stacked([body(row, *args) for row in _rows(rows, 0)], 0)


def scan(body: Callable, carried: Any, rows: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """Do as `scan`."""
    if _captures:
        return real.scan(body, carried, rows, dim=dim, reverse=reverse)
    found = []
    for row in _ordered(_rows(rows, dim), reverse):
        carried, out = body(carried, row)
        found.append(out)
    return carried, _stacked(_ordered(found, reverse), 0)


def associative_scan(
    combine: Callable, rows: Any, dim: int, reverse: bool = False, mode: str = "generic"
) -> Any:
    """Do as `associative_scan`."""
    if _captures:
        return real.associative_scan(combine, rows, dim, reverse=reverse, combine_mode=mode)
    found: list[Any] = []
    for row in _ordered(_rows(rows, dim), reverse):
        found.append(combine(found[-1], row) if found else row)
    return _stacked(_ordered(found, reverse), dim)


def _rows(tree: Any, dim: int) -> list[Any]:
    leaves, spec = pytree.tree_flatten(tree)
    rows = zip(*(leaf.unbind(dim) for leaf in leaves), strict=True)
    return [pytree.tree_unflatten(list(row), spec) for row in rows]


def _stacked(trees: list[Any], dim: int) -> Any:
    return pytree.tree_map(lambda *rows: torch.stack(rows, dim), trees[0], *trees[1:])


def _ordered(rows: list[Any], reverse: bool) -> list[Any]:
    return rows[::-1] if reverse else rows
