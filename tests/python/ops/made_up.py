"""Calls of overloads that no suite has a case of, with arguments made up from their schemas."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tests.python.ops.harness import OpCase, Random, boolean, c64, case, f32, i64

# Arguments for a type of a schema, in the order of trying.
TENSORS: tuple[Random, ...] = (
    f32(3, 4, low=0.25, high=0.75),
    i64(3, 4, low=1, high=3),
    boolean(3, 4),
    f32(2, 3, 4, 4),
    f32(3, 3, low=0.25, high=0.75),
    f32(2, 3, 4, 4, 4),
    f32(2, 3, 4),
    c64(3, 4),
    i64(4, low=1, high=3),
    f32(1),
)
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (1, 0, 2),
    "SymInt": (1, 0, 2),
    "float": (0.5,),
    "number": (2, 0.5),
    "bool": (False, True),
    "str": ("mean",),
    "List[int]": ([1, 1], [0, 1], [2, 2], [1], [3, 4], [4, 4], [1, 1, 1], [4, 4, 4], [1, 1, 1, 1]),
    "List[SymInt]": ([3, 4], [1, 1], [2, 2], [1], [4, 4], [4], [1, 1, 1], [4, 4, 4], [1, 1, 1, 1]),
    "int[]": ([1, 1],),
    "ScalarType": (torch.float32,),
}
MOST_TRIES = 60


def function(target: str) -> Callable[..., Any] | None:
    """Return the function that a target names: `aten.add.Tensor`, `math.sin`, `torch.sym_int`."""
    namespace, *path = target.split(".")
    if len(path) == 2:
        packet = getattr(getattr(torch.ops, namespace), path[0], None)
        return getattr(packet, path[1], None) if packet else None
    home = {"math": math, "torch": torch, "_operator": operator}.get(namespace)
    return getattr(home, path[0], None)


def candidates(schema: torch.FunctionSchema) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield arguments; those with defaults are left out."""
    needed = [a for a in schema.arguments if not a.has_default_value()]
    for tensor in TENSORS:
        choices = []
        for argument in needed:
            kind = str(argument.type)
            if kind == "Tensor":
                choices.append((tensor,))
            elif kind == "List[Tensor]":
                choices.append(([tensor, tensor],))
            elif kind.startswith("Optional["):
                choices.append((None,))
            else:
                choices.append(VALUES.get(kind, ()))
        for values in itertools.islice(itertools.product(*choices), MOST_TRIES):
            plain = zip(needed, values, strict=True)
            named = {a.name: v for a, v in plain if a.kwarg_only}
            yield [v for a, v in zip(needed, values, strict=True) if not a.kwarg_only], named


def calls(target: str) -> Iterator[OpCase]:
    """Yield calls of an operator to try, each a case."""
    overload = function(target)
    if not isinstance(overload, torch._ops.OpOverload):
        return
    for values, named in candidates(overload._schema):
        yield call(target, overload, values, named)


def call(target: str, overload: Any, values: list[Any], named: dict[str, Any]) -> OpCase:
    """Return a case whose inputs are the tensors among the arguments."""
    kinds = [
        "tensors"
        if isinstance(v, list) and v and isinstance(v[0], Random)
        else isinstance(v, Random)
        for v in values
    ]
    inputs = [v for v, kind in zip(values, kinds, strict=True) if kind]

    def forward(*tensors: Any) -> Any:
        rest = iter(tensors)
        merged = [next(rest) if k else v for v, k in zip(values, kinds, strict=True)]
        return overload(*merged, **named)

    return case(target, forward, *inputs)
