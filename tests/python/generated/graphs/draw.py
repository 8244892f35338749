"""Draws graphs."""

from __future__ import annotations

import random

from tests.python.generated.graphs import (  # noqa: F401  (register the kinds)
    elementwise,
    moving,
    nested,
    numeric,
    patterns,
)
from tests.python.generated.graphs.graph import Graph, K, N, Value, element_type, fixed
from tests.python.generated.graphs.scope import KINDS, NothingFits, Scope

_INPUTS = (
    ("float32", (N, fixed(4), K)),
    ("float32", (N, fixed(4), K)),
    ("float32", (fixed(2), fixed(4))),
    ("float32", (fixed(1), fixed(4), fixed(2), fixed(3))),
    ("float32", (N, K)),
    ("float64", (fixed(2), fixed(3))),
    ("int64", (N, fixed(4))),
    ("int64", (fixed(3),)),
    ("int32", (fixed(2), fixed(4))),
    ("bool", (N, fixed(4), K)),
    ("bool", (fixed(2), fixed(4))),
    ("float32", (fixed(4),)),
    ("float32", ()),
)
_NARROW = ("float16", "bfloat16", "int8", "uint8", "int16", "uint16", "uint32", "uint64")


def draw(seed: int, opset: int = 20) -> Graph:
    """Return the graph of a seed."""
    rng = random.Random(seed)
    special = rng.random() < 0.5
    narrow = rng.random() < 0.2
    s = Scope(rng, special, narrow, opset)
    for at in rng.sample(range(len(_INPUTS)), rng.randint(2, 4)):
        dtype, dims = _INPUTS[at]
        if rng.random() < 0.2:
            # Without the symbols, more rules apply.
            dims = tuple(fixed(3) if dim == N else fixed(2) if dim == K else dim for dim in dims)
        name = f"x{at}"
        most = 2.0 if dtype != "bool" else 1.0
        s.inputs[name] = s.values[name] = s.types[name] = Value(dtype, dims, most)
    if narrow:
        for name, value in list(s.values.items()):
            if value.dtype in ("float32", "int64") and rng.random() < 0.8:
                floats = value.dtype == "float32"
                kind = rng.choice(_NARROW[:2] if floats else _NARROW[2:])
                (made,) = s.add("Cast", [name], Value(kind, value.dims, 2), to=element_type(kind))
                if kind.startswith("u"):
                    s.values[made] = s.types[made] = Value(kind, value.dims, 300)
    # Some kinds only, so that graphs differ from each other.
    kinds = [one for one in KINDS if rng.random() < 0.5] or KINDS
    weights = [weight for weight, _ in kinds]
    wanted, tries = rng.randint(4, 16), 0
    while wanted and tries < 200:
        tries += 1
        before = (len(s.nodes), dict(s.values))
        try:
            rng.choices(kinds, weights)[0][1](s)
            wanted -= 1
        except NothingFits:
            del s.nodes[before[0] :]
            s.values = before[1]
    read = {name for node in s.nodes for name in node.inputs}
    made = [name for name in s.values if name not in s.inputs]
    if not made:
        return draw(seed + (1 << 32), opset)
    ends = [name for name in made if name not in read][-4:]
    outputs = list(dict.fromkeys([*ends, rng.choice(made)]))
    if narrow:
        outputs = [_widened(s, name) for name in outputs]
    return s.graph(seed, outputs)


def _widened(s: Scope, name: str) -> str:
    """Return a value as a type that every runtime returns."""
    v = s.values[name]
    if v.dtype not in _NARROW:
        return name
    kind = "float32" if "float" in v.dtype else "int64"
    (made,) = s.add("Cast", [name], Value(kind, v.dims, v.most, v.exact), to=element_type(kind))
    return made
