"""Finds a smaller program with the same failure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from tests.python.generated.control import EAGER
from tests.python.generated.program import Program, names, renamed, target, without_unused

T = TypeVar("T")


def shrink(program: Program, fails: Callable[[Program], bool], most: int = 100) -> Program:
    """Return the smallest program found for which `fails` is true, in at most so many tries."""
    return smallest(program, lambda one: filter(_runs, _smaller(one)), fails, most)


def smallest(
    start: T, smaller: Callable[[T], Iterator[T]], fails: Callable[[T], bool], most: int
) -> T:
    """Return the smallest value found for which `fails` is true, in at most so many tries."""
    again = True
    while again:
        again = False
        for candidate in smaller(start):
            if most <= 0:
                break
            most -= 1
            if fails(candidate):
                start, again = candidate, True
                break
    return start


def _smaller(program: Program) -> Iterator[Program]:
    """Yield simpler programs, those that lose most first."""
    for index in reversed(range(len(program.lines))):
        yield from _without_line(program, index)
    if len(program.returned) > 1:
        for name in program.returned:
            yield program.replace(returned=tuple(one for one in program.returned if one != name))
    trimmed = without_unused(program)
    if trimmed != program:
        yield trimmed
    for index, line in enumerate(program.lines):
        for simpler in _simpler(line):
            changed = (*program.lines[:index], simpler, *program.lines[index + 1 :])
            yield program.replace(lines=changed)
    if program.named:
        yield program.replace(named=False)
    for position, one in enumerate(program.inputs):
        for axis, dim in enumerate(one.dims):
            if isinstance(dim, str) and one.dtype is not int:
                dims = (*one.dims[:axis], program.sizes[dim], *one.dims[axis + 1 :])
                changed = type(one)(one.name, dims, one.dtype)
                inputs = (*program.inputs[:position], changed, *program.inputs[position + 1 :])
                yield program.replace(inputs=inputs)


def _without_line(program: Program, index: int) -> Iterator[Program]:
    """Yield programs without a statement, in which a variable takes the place of its target."""
    line = program.lines[index]
    own, rest = target(line), program.lines[index + 1 :]
    before = program.lines[:index]
    if own is None or not (own in program.returned or any(own in names(one) for one in rest)):
        yield program.replace(lines=(*before, *rest))
        return
    earlier = [one.name for one in (*program.inputs, *program.buffers)]
    earlier += [name for one in before if (name := target(one))]
    read = [name for name in names(line) if name != own]
    for other in dict.fromkeys([*read, *earlier]):
        lines = (*before, *(renamed(one, own, other) for one in rest))
        returned = tuple(dict.fromkeys(other if one == own else one for one in program.returned))
        yield program.replace(lines=lines, returned=returned)


def _simpler(line: str) -> Iterator[str]:
    """Yield simpler forms of a statement: one of its parts."""
    if line.startswith("if ") and "\n" in line:
        body = [one for one in line.splitlines() if one.startswith("    ")]
        yield from map(textwrap.dedent, body)
        if "\nelse:" in line:
            yield line.partition("\nelse:")[0]
    choice = re.match(r"(v\d+ = )(.*) if (.*) else (.*)$", line)
    if choice:
        yield choice[1] + choice[2]
        yield choice[1] + choice[4]
    if " and " in line or " or " in line:
        yield re.sub(r"if (.*) (?:and|or) (.*?)( else|:)", r"if \1\3", line, count=1)
        yield re.sub(r"if (.*) (?:and|or) (.*?)( else|:)", r"if \2\3", line, count=1)
    if "\n" in line and not line.startswith("if "):
        yield line.rpartition("\n")[0]


def _runs(program: Program) -> bool:
    """Tell whether eager mode takes the program at its traced sizes."""
    try:
        with torch.no_grad():
            program.module(EAGER)(*program.args(program.sizes))
    except Exception:
        return False
    return True
