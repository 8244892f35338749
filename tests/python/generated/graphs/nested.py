"""Branches and loops."""

from __future__ import annotations

from dataclasses import replace

from tests.python.generated.graphs.graph import Block, Node, fixed
from tests.python.generated.graphs.scope import Scope, kind

_BODY = ("Neg", "Abs", "Identity", "Sign")


def _body(s: Scope, x: str, dtype: str) -> tuple[list[Node], str]:
    """Return some elementwise nodes and their result."""
    nodes, last = [], x
    for _ in range(s.rng.randint(1, 3)):
        made = s.fresh()
        roll = s.rng.random()
        if dtype == "bool":
            nodes.append(Node("Not", (last,), (made,)))
        elif roll < 0.5:
            nodes.append(Node(s.rng.choice(_BODY[:3]), (last,), (made,)))
        elif roll < 0.8:
            number = s.constant(s.rng.choice((0, 1, 2)), dtype)
            nodes.append(Node(s.rng.choice(("Add", "Sub", "Mul")), (last, number), (made,)))
        else:
            nodes.append(Node("Max", (last, x), (made,)))
        last = made
    return nodes, last


@kind(2)
def branch(s: Scope) -> None:
    kinds = ("float32", "float64", "int64", "int32", "bool")
    x = s.any(lambda v: v.dtype in kinds)
    v = s.values[x]
    y = s.like(x)
    (one, first), (other, second) = _body(s, x, v.dtype), _body(s, y, v.dtype)
    roll = s.rng.random()
    if roll < 0.4:
        condition = s.constant(s.rng.random() < 0.5, "bool")
    else:
        flag = s.any(lambda v: v.dtype == "bool" and all(min(d) > 0 for d in v.dims))
        shape = s.values[flag]
        condition = flag
        if shape.rank:
            flat = s.raw("Reshape", flag, s.ints(-1))
            condition = s.raw("Gather", flat, s.constant(0, "int64"))
    returned = ((first, v.dtype, v.rank),)
    if s.rng.random() < 0.2:
        # A branch that returns a value from outside, or one inside of another.
        one, returned = [], ((x, v.dtype, v.rank),)
        made = s.fresh()
        one, returned = [Node("Identity", (x,), (made,))], ((made, v.dtype, v.rank),)
    elif s.rng.random() < 0.2:
        inner = Block((), tuple(one), returned)
        again = Block(
            (), (Node("Identity", (y,), (outer := s.fresh(),)),), ((outer, v.dtype, v.rank),)
        )
        made = s.fresh()
        attributes = {"then_branch": inner, "else_branch": again}
        one = [Node("If", (condition,), (made,), attributes)]
        returned = ((made, v.dtype, v.rank),)
    then = Block((), tuple(one), returned)
    otherwise = Block((), tuple(other), ((second, v.dtype, v.rank),))
    made = replace(v, most=8 * v.most + 16, exact=v.exact and s.values[y].exact)
    s.add("If", [condition], made, then_branch=then, else_branch=otherwise)


@kind(1.5)
def loop(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "int64") and v.rank <= 3)
    v = s.values[x]
    trips = s.rng.choice((0, 1, 2, 3))
    i, go, carried, still = (s.fresh() for _ in range(4))
    s.constant(0, "int64")
    nodes, last = _body(s, carried, v.dtype)
    if s.rng.random() < 0.4:
        # A value that no step changes.
        fixed_value, made = s.like(x), s.fresh()
        nodes.append(Node("Add", (last, fixed_value), (made,)))
        last = made
    nodes.append(Node("Identity", (go,), (still,)))
    outputs = [(still, "bool", 0), (last, v.dtype, v.rank)]
    made = [replace(v, most=(4 * v.most + 8) ** 2, exact=False)]
    if s.rng.random() < 0.4:
        outputs.append((last, v.dtype, v.rank))
        made.append(replace(made[0], dims=(fixed(trips), *v.dims)))
        if trips == 0:
            made.pop()
            outputs.pop()
    inputs = ((i, "int64", 0), (go, "bool", 0), (carried, v.dtype, v.rank))
    body = Block(inputs, tuple(nodes), tuple(outputs))
    condition = "" if s.rng.random() < 0.5 else s.constant(True, "bool")
    s.add("Loop", [s.constant(trips, "int64"), condition, x], *made, body=body)


@kind(1)
def scan(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "int64") and 2 <= v.rank <= 3)
    v = s.values[x]
    s.require(min(v.dims[0]) > 0)
    row = replace(v, dims=v.dims[1:])
    start = s.raw("Gather", x, s.constant(0, "int64"), axis=0)
    carried, element = s.fresh(), s.fresh()
    total = s.fresh()
    nodes, last = _body(s, total, v.dtype)
    nodes.insert(0, Node("Add", (carried, element), (total,)))
    copied = s.fresh()
    nodes.append(Node("Identity", (last,), (copied,)))
    kept = (total, v.dtype, row.rank)
    inputs = ((carried, v.dtype, row.rank), (element, v.dtype, row.rank))
    body = Block(inputs, tuple(nodes), (kept, (copied, v.dtype, row.rank)))
    most = v.most * (max(v.dims[0]) + 1)
    made = [replace(row, most=most), replace(v, most=8 * most + 16)]
    s.add("Scan", [start, x], *made, body=body, num_scan_inputs=1)
