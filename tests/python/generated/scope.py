"""The variables that a statement can use, with their values, and expressions of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor


class NothingFits(Exception):  # noqa: N818
    """No variable fits the statement."""


@dataclass(frozen=True)
class Scope:
    """The variables so far, with their values at some sizes, and the name of the next one."""

    rng: random.Random
    values: Sequence[Mapping[str, Any]]
    new: str

    def pick(self, *options: str) -> str:
        """Return one of several texts."""
        return self.rng.choice(options)

    def number(self, low: int, high: int) -> int:
        """Return an integer."""
        return self.rng.randint(low, high)

    def any(self, fits: Callable[[Any], bool]) -> str:
        """Return a variable whose value fits, a recent one with a higher probability."""
        found = [name for name, value in self.values[0].items() if fits(value)]
        if not found:
            raise NothingFits
        return self.rng.choice(found[-3:] if self.rng.random() < 0.5 else found)

    def value(self, name: str) -> Any:
        """Return its value at the traced sizes."""
        return self.values[0][name]

    def tensor(self, rank: int = 0, most: int = 4) -> str:
        """Return a tensor."""
        return self.any(lambda v: isinstance(v, Tensor) and rank <= v.dim() <= most)

    def floats(self, rank: int = 0, most: int = 4) -> str:
        """Return a tensor of floating-point numbers, cast if need be."""
        if self.rng.random() < 0.1:
            return f"{self.tensor(rank, most)}.float()"
        return self.any(
            lambda v: isinstance(v, Tensor) and rank <= v.dim() <= most and v.is_floating_point()
        )

    def like(self, name: str) -> str:
        """Return a tensor of the same rank and type, if there is one."""
        own = self.value(name)
        return self.any(
            lambda v: isinstance(v, Tensor) and (v.dim(), v.dtype) == (own.dim(), own.dtype)
        )

    def axis(self, name: str) -> int:
        """Return an axis of a tensor, also a negative one."""
        rank = self.value(name).dim() if name in self.values[0] else 1
        if not rank:
            raise NothingFits
        return self.rng.randrange(-1, rank)

    def size(self) -> str:
        """Return an expression of sizes."""
        name = self.tensor(1)
        base = f"{name}.shape[{self.axis(name)}]"
        if self.rng.random() < 0.2:
            base = self.any(lambda v: isinstance(v, int))
        more = self.pick("", "", " + 1", " - 1", " // 2", " * 2", " % 3", " // 3 + 1")
        if self.rng.random() < 0.15:
            other = self.tensor(1)
            return f"{self.pick('max', 'min')}({base}, {other}.shape[{self.axis(other)}])"
        return base + more

    def condition(self) -> str:
        """Return a condition on sizes."""
        one, k = self.size(), self.number(1, 12)
        order = self.pick("<", "<=", ">", ">=", "==", "!=")
        other = self.tensor(1)
        return self.pick(
            f"{one} {order} {k}",
            f"{one} {order} {k}",
            f"({one}) % {self.number(2, 4)} == {self.number(0, 1)}",
            f"{one} {order} {self.size()}",
            f"({one}) + ({self.size()}) {order} {k + 4}",
            f"({one}) * ({self.size()}) {order} {4 * k}",
            f"{other}.numel() {order} {4 * k}",
            f"{one} > {k} and {self.size()} < {k + 6}",
            f"{one} > {k} or {self.size()} < {k + 2}",
        )

    def pointwise(self, *names: str) -> str:
        """Return an elementwise expression that reads these variables and numbers."""
        text = names[0]
        for name in names[1:]:
            text = self.pick(
                f"({text} + {name})",
                f"({text} - {name})",
                f"{text} * {name}",
                f"torch.maximum({text}, {name})",
            )
        for _ in range(self.number(0 if len(names) > 1 else 1, 2)):
            text = self.pick(
                f"({text} + 1)",
                f"{text} * 0.5",
                f"({text} - 0.25)",
                f"torch.tanh({text})",
                f"torch.relu({text})",
                f"-{text}",
                f"torch.abs({text})",
                f"({text}).clamp(-1, 1)",
                f"torch.sigmoid({text})",
            )
        return text


Draw = Callable[[Scope], str]


@dataclass(frozen=True)
class Kind:
    """A kind of statement: how often it is drawn, and how."""

    weight: float
    draw: Draw


KINDS: list[Kind] = []


def kind(weight: float = 1) -> Callable[[Draw], Draw]:
    """Register a kind of statement."""

    def register(draw: Draw) -> Draw:
        KINDS.append(Kind(weight, draw))
        return draw

    return register


def expression(weight: float = 1) -> Callable[[Draw], Draw]:
    """Register an expression, as a kind that sets a variable."""

    def register(draw: Draw) -> Draw:
        KINDS.append(Kind(weight, lambda scope: f"{scope.new} = {draw(scope)}"))
        return draw

    return register
