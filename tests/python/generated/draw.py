"""Draws programs: statements that run in eager mode, at the traced sizes and mostly at others."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tests.python.generated import statements  # noqa: F401  (registers the kinds)
from tests.python.generated.control import EAGER
from tests.python.generated.overloads import CALLS
from tests.python.generated.program import Program, Variable, used
from tests.python.generated.scope import KINDS, Kind, NothingFits, Scope

_TRIES = 40
_LARGEST = 4096


def draw(seed: int, calls: bool = False) -> Program:
    """Return the program of a seed: of statements, or of 3 to 12 calls of ATen's overloads."""
    rng = random.Random(seed)
    symbols = rng.sample(["n", "m", "k"], rng.choice([1, 2, 2, 3]))
    traced = dict(zip(symbols, rng.sample(range(3, 9), len(symbols)), strict=True))
    inputs = tuple(_input(rng, index, symbols) for index in range(rng.choice([1, 2, 2, 3])))
    buffers = tuple(
        Variable(f"self.b{index}", _fixed(rng), rng.choice([torch.float32] * 3 + [torch.int64]))
        for index in range(rng.choice([0, 1, 1, 2]))
    )
    program = Program(seed, traced, rng.random() < 0.3, inputs, buffers)
    if not any(isinstance(dim, str) and one.dtype is not int for one in inputs for dim in one.dims):
        first = Variable("x0", (symbols[0], 3), torch.float32)
        program = program.replace(inputs=(first, *inputs[1:]))
    # Some kinds of statements only, so that programs differ from each other.
    kinds = [kind for kind in KINDS if rng.random() < 0.45] or [KINDS[0]]
    if calls:
        kinds = CALLS
        program = program.replace(is_of_calls=True)
    # Mostly programs that hold at other sizes, too.
    probes = [traced]
    if rng.random() < 0.85:
        probes.append({name: size + 3 + index for index, (name, size) in enumerate(traced.items())})
    tries = 400 if calls else _TRIES
    return _Drawing(rng, program, kinds, probes, tries).run(rng.randint(3, 12 if calls else 9))


def _input(rng: random.Random, index: int, symbols: list[str]) -> Variable:
    if rng.random() < 0.06:
        return Variable(f"x{index}", (rng.choice(symbols),), int)
    dims = tuple(
        rng.choice(symbols) if rng.random() < 0.6 else rng.choice([1, 2, 3, 4])
        for _ in range(rng.choice([1, 2, 2, 3]))
    )
    kinds = [torch.float32] * 6 + [torch.int64] * 2 + [torch.bool, torch.float64]
    return Variable(f"x{index}", dims, rng.choice(kinds))


def _fixed(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([0, 1, 1, 2])))


@dataclass
class _Drawing:
    rng: random.Random
    program: Program
    kinds: list[Kind]
    probes: list[dict[str, int]]
    tries: int
    fresh: int = field(default=0)

    def run(self, count: int) -> Program:
        """Add statements, then return unused values and some more."""
        values = [self._values(self.program, sizes) for sizes in self.probes]
        for _ in range(count):
            for _ in range(self.tries):
                scope = Scope(self.rng, values, f"v{self.fresh}")
                weights = [kind.weight for kind in self.kinds]
                kind = self.rng.choices(self.kinds, weights)[0]
                try:
                    line = kind.draw(scope)
                    longer = self.program.replace(lines=(*self.program.lines, line))
                    found = [self._values(longer, sizes) for sizes in self.probes]
                except (NothingFits, _RefusedError):
                    continue
                self.program, values = longer, found
                self.fresh += 1
                break
        return self._returning(values[0])

    def _returning(self, values: dict[str, Any]) -> Program:
        read = used(self.program)
        own = [name for name in values if name.startswith("v")]
        ends = [name for name in own if name not in read][-5:]
        others = [name for name in [*own, *values] if name not in ends]
        more = [self.rng.choice(others) for _ in range(self.rng.randint(0, 1)) if others]
        return self.program.replace(returned=tuple(dict.fromkeys(ends + more or others[:1])))

    def _values(self, program: Program, sizes: dict[str, int]) -> dict[str, Any]:
        """Run the program, twice because of its state, and return its variables."""
        module = program.module(EAGER, "dict(locals())")
        try:
            with torch.no_grad():
                for step in range(2):
                    found = module(*program.args(sizes, step))
        except Exception as error:
            raise _RefusedError(str(error)) from error
        del found["self"]
        found = {**{f"self.{name}": value for name, value in module.named_buffers()}, **found}
        for value in found.values():
            _check(value)
            if program.is_of_calls and isinstance(value, Tensor) and value.is_complex():
                # Models return a pair of reals.
                raise _RefusedError("complex")
        return found


class _RefusedError(Exception):
    pass


def _check(value: Any) -> None:
    """Refuse values that are not numbers, and those that are large or not finite."""
    if isinstance(value, Tensor):
        if value.numel() > _LARGEST or value.dim() > 5:
            raise _RefusedError("too large")
        if value.numel() and not value.dtype.is_complex:
            largest = value.double().abs().max().item()
            if not math.isfinite(largest) or largest > 1e5:
                raise _RefusedError("not finite")
    elif not isinstance(value, (int, float)):
        raise _RefusedError("not a number")
