"""The sizes that a model states, and those to try it at."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onnxport import ONNXProgram
from tests.python.generated.program import Program, Sizes

_FUNCTIONS = {"max": max, "min": min, "abs": abs}
# The smallest size where nothing is stated, and the largest that is tried.
_LOWEST, _LARGEST = 2, 40


@dataclass(frozen=True)
class Stated:
    """The sizes that a model states: dimensions of its inputs, ranges and conditions."""

    model: ONNXProgram
    program: Program

    def allows(self, sizes: Sizes) -> bool:
        """Return whether the stated ranges and the readable conditions allow some sizes."""
        bound: dict[str, int] = {}
        computed: list[tuple[str, int]] = []
        for port, variable in zip(self.model.ports.given, self.program.inputs, strict=True):
            dims = self._number(port.name) if variable.dtype is int else port.dims
            for dim, size in zip(dims, variable.shape(sizes), strict=True):
                if isinstance(dim, str) and dim.isidentifier():
                    if bound.setdefault(dim, size) != size:
                        return False
                elif isinstance(dim, str):
                    computed.append((dim, size))
                elif dim is not None and dim != size:
                    return False
        roots = sorted({name for dim, _ in computed for name in _names(dim)} - set(bound))
        for values in itertools.product(range(_LARGEST + 1), repeat=len(roots)):
            chosen = {**bound, **dict(zip(roots, values, strict=True))}
            if all(_value(dim, chosen) == size for dim, size in computed):
                return self._in_ranges(chosen)
        return False

    def _number(self, name: str) -> tuple[str | None]:
        """Return the name of an input that is a number, if something is stated about it."""
        return (next((one.name for one in self.model.sizes.dims if name in one.axes), None),)

    def _in_ranges(self, bound: Mapping[str, int]) -> bool:
        stated = {one.name: one for one in self.model.sizes.dims}
        for name, size in bound.items():
            if name not in stated:
                if size < _LOWEST:
                    return False
                continue
            one = stated[name]
            low = one.min if one.min is not None else 0
            if size < low or (one.max is not None and size > one.max) or (size - low) % one.step:
                return False
        return all(_value(one, bound) in (True, None) for one in self._conditions)

    @property
    def _conditions(self) -> list[str]:
        return [one.expression for one in self.model.sizes.conditions]

    @property
    def is_read(self) -> bool:
        """Whether the model states all conditions as relations of its dimensions."""
        return all("L[" not in one for one in self._conditions)

    @property
    def has_frozen(self) -> bool:
        """Whether the model states a single number for one that depends on values."""
        return any(not one.axes and one.min == one.max for one in self.model.sizes.dims)

    def drawn(self, count: int) -> list[Sizes]:
        """Return allowed sizes: those traced, bounds and their neighbours, and others."""
        rng = random.Random(self.program.seed)
        found = [sizes for sizes in self._candidates(rng) if self.allows(sizes)]
        rng.shuffle(found)
        traced = [self.program.sizes] if self.allows(self.program.sizes) else []
        rest = [sizes for sizes in found if sizes != self.program.sizes]
        return [*traced, *rest[: count - len(traced)]]

    def _candidates(self, rng: random.Random) -> Iterator[Sizes]:
        bounds = {0, 1, 2, 3, rng.randint(9, 17)}
        for one in self.model.sizes.dims:
            for bound in (one.min, one.max):
                if bound is not None:
                    bounds |= {bound - 1, bound, bound + one.step}
        choices = [
            sorted({size for size in {*bounds, at, rng.randint(4, 9)} if 0 <= size <= _LARGEST})
            for at in self.program.sizes.values()
        ]
        for chosen in itertools.product(*choices):
            yield dict(zip(self.program.sizes, chosen, strict=True))


def _names(expression: str) -> list[str]:
    return [name for name in re.findall(r"[A-Za-z_]\w*", expression) if name not in _FUNCTIONS]


def _value(expression: str, bound: Mapping[str, int]) -> Any:
    """Return the value of an expression of sizes, None if it is about something else."""
    try:
        return eval(expression, {"__builtins__": {}}, {**_FUNCTIONS, **bound})
    except (NameError, SyntaxError, TypeError, ZeroDivisionError, AttributeError):
        return None
