"""Subgraphs that exporters write, which rules fuse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tests.python.generated.graphs.graph import fixed
from tests.python.generated.graphs.numeric import weight
from tests.python.generated.graphs.scope import Scope, kind


def _both(s: Scope, op: str, x: str, y: str) -> str:
    """Apply an operator to operands in either order."""
    return s.raw(op, *((x, y) if s.rng.random() < 0.6 else (y, x)))


@kind(1)
def gelu(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "float64"))
    v = s.values[x]
    root = s.constant(s.rng.choice((math.sqrt(2), math.sqrt(2), 1.4)), v.dtype)
    half = s.constant(s.rng.choice((0.5, 0.5, 0.25)), v.dtype)
    erf = s.raw("Erf", s.raw("Div", x, root))
    one = _both(s, "Add", erf, s.constant(1, v.dtype))
    made = replace(v, exact=False)
    if s.rng.random() < 0.5:
        s.add("Mul", [_both(s, "Mul", x, one), half], made)
    else:
        s.add("Mul", [_both(s, "Mul", x, half), one], made)


@kind(0.7)
def mish_and_swish(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "float32")
    v = s.values[x]
    made = replace(v, most=2 * v.most, exact=False)
    if s.rng.random() < 0.5:
        s.require(v.most < 50 or s.special)
        smooth = s.raw("Log", _both(s, "Add", s.raw("Exp", x), s.constant(1, v.dtype)))
        s.add("Mul", [x, s.raw("Tanh", smooth)], made)
        return
    s.reals(x)
    three = _both(s, "Add", x, s.constant(3, v.dtype))
    clip = s.raw("Clip", three, s.constant(0, v.dtype), s.constant(6, v.dtype))
    s.add("Div", [_both(s, "Mul", x, clip), s.constant(6, v.dtype)], made)


@kind(1.2)
def normalised(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "float64") and v.rank >= 2 and v.most < 100)
    v = s.values[x]
    axis = v.rank - 1 if s.rng.random() < 0.7 else s.axis(x)
    size = v.static(axis)
    s.require(size is not None and size > 1)
    axes = s.ints(s.either(axis, v.rank))
    centred = x
    if s.rng.random() < 0.6:
        centred = s.raw("Sub", x, s.raw("ReduceMean", x, axes, keepdims=1))
    if s.rng.random() < 0.5:
        square = s.raw("Mul", centred, centred)
    else:
        square = s.raw("Pow", centred, s.constant(2, v.dtype))
    mean = s.raw("ReduceMean", square, axes, keepdims=1)
    root = s.raw("Sqrt", _both(s, "Add", mean, s.constant(0.125, v.dtype)))
    if s.rng.random() < 0.5:
        found = s.raw("Div", centred, root)
    else:
        found = _both(s, "Mul", centred, s.raw("Reciprocal", root))
    made = replace(v, most=3 * v.most + 4, exact=False)
    shape = (size,) if axis == v.rank - 1 else (size, *[1] * (v.rank - 1 - axis))
    if s.rng.random() < 0.5:
        found = _both(s, "Mul", found, weight(s, v.dtype, *shape))
    s.add("Add", [found, weight(s, v.dtype, *shape)], made)


@kind(1.2)
def attention(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "float32" and v.rank in (3, 4) and v.most < 20)
    v = s.values[x]
    s.require(v.dims[-1] != fixed(0))
    key, value = s.like(x), s.like(x)
    perm = [*range(v.rank - 2), v.rank - 1, v.rank - 2]
    scale = s.constant(s.rng.choice((0.5, 1, 0.25)), v.dtype)
    query = s.raw("Mul", x, scale) if s.rng.random() < 0.3 else x
    scores = s.raw("MatMul", query, s.raw("Transpose", key, perm=perm))
    if query == x and s.rng.random() < 0.7:
        scores = _both(s, "Mul", scores, scale)
    if s.rng.random() < 0.5:
        number = s.rng.choice((0, -1, -2.5))
        scores = _both(s, "Add", scores, s.constant(np.full([1] * v.rank, number), v.dtype))
    weights = s.raw("Softmax", scores, axis=-1)
    s.add("MatMul", [weights, value], replace(v, exact=False, most=v.most * 2))


@kind(0.7)
def rotary(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "float32" and v.rank in (3, 4) and v.dims[-1] == fixed(4))
    v = s.values[x]
    axis = s.ints(v.rank - 1)
    low = s.raw("Slice", x, s.ints(0), s.ints(2), axis)
    high = s.raw("Slice", x, s.ints(2), s.ints(s.rng.choice((4, 2**63 - 1))), axis)
    rotated = s.raw("Concat", s.raw("Neg", high), low, axis=s.rng.choice((-1, v.rank - 1)))
    half = np.random.default_rng(s.rng.randrange(1 << 30)).integers(-8, 9, (1, 2)) / 8
    angles = s.constant(np.concatenate([half, half], -1), v.dtype)
    cos, sin = s.raw("Cos", angles), s.raw("Sin", angles)
    made = replace(v, most=2 * v.most, exact=False)
    s.add("Add", [_both(s, "Mul", x, cos), _both(s, "Mul", rotated, sin)], made)


@kind(0.7)
def channels(s: Scope) -> None:
    """Scale and shift each channel."""
    x = s.any(lambda v: v.dtype == "float32" and v.rank in (3, 4) and bool(v.static(1)))
    v = s.values[x]
    shape = (v.static(1) or 1, *[1] * (v.rank - 2))
    if s.rng.random() < 0.5:
        shape = (1, *shape)
    scaled = _both(s, "Mul", x, weight(s, v.dtype, *shape))
    s.add("Add", [scaled, weight(s, v.dtype, *shape)], replace(v, most=v.most + 1, exact=False))


@kind(0.6)
def heads(s: Scope) -> None:
    """Split an axis into heads, and move them to the front."""
    x = s.any(lambda v: v.rank == 3 and (v.static(2) or 1) % 2 == 0 and bool(v.static(2)))
    v = s.values[x]
    a, b, c = v.dims
    size = c[0] // 2
    split = s.raw("Reshape", x, s.ints(0, 0, 2, size))
    made = replace(v, dims=(a, fixed(2), b, fixed(size)))
    (y,) = s.add("Transpose", [split], made, perm=[0, 2, 1, 3])
    if s.rng.random() < 0.5:
        back = s.raw("Transpose", y, perm=[0, 2, 1, 3])
        s.add("Reshape", [back, s.ints(0, 0, c[0])], v)
