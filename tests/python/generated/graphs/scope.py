"""The values of a graph under construction, and the registry of its operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.python.generated.graphs.graph import Dim, Graph, Node, Value, fixed

# Magnitudes above it are not reached, unless numbers are special.
LARGEST = 1e4
FLOATS = ("float32", "float64", "float16", "bfloat16")


class NothingFits(Exception):  # noqa: N818
    """No value fits the operator."""


@dataclass
class Scope:
    """A graph under construction."""

    rng: random.Random
    special: bool
    narrow: bool
    opset: int
    # Values that operators may read, and the types of all, constants included.
    values: dict[str, Value] = field(default_factory=dict)
    types: dict[str, Value] = field(default_factory=dict)
    inputs: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    count: int = 0

    def require(self, holds: bool) -> None:
        """Give up unless it holds."""
        if not holds:
            raise NothingFits

    def any(self, fits: Callable[[Value], bool] = lambda _: True) -> str:
        """Return a value that fits, a recent one with a higher probability."""
        found = [name for name, value in self.values.items() if fits(value)]
        self.require(bool(found))
        return self.rng.choice(found[-4:] if self.rng.random() < 0.5 else found)

    def float(self, least: int = 0, most: int = 5) -> str:
        """Return a value of floats of a rank."""
        return self.any(lambda v: v.dtype in FLOATS and least <= v.rank <= most)

    def number(self, least: int = 0, most: int = 5) -> str:
        """Return a value of numbers."""
        return self.any(lambda v: v.dtype != "bool" and least <= v.rank <= most)

    def tensor(self, least: int = 0, most: int = 5) -> str:
        """Return a value."""
        return self.any(lambda v: least <= v.rank <= most)

    def like(self, name: str) -> str:
        """Return a value of the same type, perhaps itself."""
        kind = self.types[name].type()
        return self.any(lambda v: v.type() == kind)

    def with_axis(
        self, size: int, dtype: Callable[[str], bool] = lambda _: True
    ) -> tuple[str, int]:
        """Return a value, and an axis of it of this static size."""
        name = self.any(
            lambda v: dtype(v.dtype) and any(v.static(axis) == size for axis in range(v.rank))
        )
        value = self.values[name]
        axes = [axis for axis in range(value.rank) if value.static(axis) == size]
        return name, self.rng.choice(axes)

    def axis(self, name: str) -> int:
        """Return an axis."""
        self.require(self.values[name].rank > 0)
        return self.rng.randrange(self.values[name].rank)

    def either(self, axis: int, rank: int) -> int:
        """Return an axis, perhaps as a negative number."""
        return axis - rank if self.rng.random() < 0.3 else axis

    def reals(self, *names: str) -> None:
        """Give up unless results do not depend on rounding, or numbers are special anyway."""
        self.require(self.special or all(self.types[name].exact for name in names))

    def constant(self, array: Any, dtype: str | None = None) -> str:
        """Add a constant."""
        import ml_dtypes

        kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else dtype
        self.count += 1
        name = f"c{self.count}"
        made = self.constants[name] = np.array(array, dtype=kind)
        wide = np.abs(np.nan_to_num(made.astype("float64"), posinf=1, neginf=1))
        most = float(wide.max(initial=0))
        self.types[name] = Value(made.dtype.name, tuple(map(fixed, made.shape)), most)
        return name

    def ints(self, *numbers: int) -> str:
        """Add a list of integers."""
        return self.constant(list(numbers), "int64")

    def fresh(self) -> str:
        """Return a new name."""
        self.count += 1
        return f"v{self.count}"

    def raw(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node whose output is read by the operator itself only."""
        name = self.fresh()
        self.nodes.append(Node(op, inputs, (name,), attributes))
        return name

    def add(self, op: str, inputs: Sequence[str], *made: Value, **attributes: Any) -> list[str]:
        """Add a node with outputs of these types."""
        if not self.special:
            self.require(all(one.most <= LARGEST for one in made))
        for one in made:
            self.require(one.rank <= 5)
            for at in zip(*one.dims, strict=True):
                self.require(int(np.prod(at)) <= 1500)
        names = [self.fresh() for _ in made]
        self.nodes.append(Node(op, tuple(inputs), tuple(names), attributes))
        self.values.update(zip(names, made, strict=True))
        self.types.update(zip(names, made, strict=True))
        return names

    def broadcast(self, *names: str) -> tuple[Dim, ...]:
        """Return the dimensions of values after broadcasting."""
        rank = max(self.types[name].rank for name in names)
        dims = [fixed(1)] * rank
        for name in names:
            own = self.types[name].dims
            for axis, dim in enumerate(own, rank - len(own)):
                if dim == fixed(1):
                    continue
                self.require(dims[axis] in (fixed(1), dim))
                dims[axis] = dim
        return tuple(dims)

    def graph(self, seed: int, outputs: Sequence[str]) -> Graph:
        """Return the graph with these outputs."""
        made = Graph(
            seed,
            self.special,
            self.inputs,
            self.constants,
            tuple(self.nodes),
            tuple(outputs),
            self.types,
        )
        return made.pruned()


Draw = Callable[[Scope], None]
KINDS: list[tuple[float, Draw]] = []


def kind(weight: float = 1) -> Callable[[Draw], Draw]:
    """Register a kind of operators."""

    def register(draw: Draw) -> Draw:
        KINDS.append((weight, draw))
        return draw

    return register
