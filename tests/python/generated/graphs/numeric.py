"""Reductions, products, normalizations and other operators that sum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tests.python.generated.graphs.graph import Dim, Value, fixed, product
from tests.python.generated.graphs.scope import Scope, kind

WIDE = ("float32", "float64")
_SUMS = ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")


def floats(s: Scope, least: int = 0, most: int = 4) -> str:
    """Return floats that ONNX Runtime has kernels for."""
    return s.any(lambda v: v.dtype in WIDE and least <= v.rank <= most)


@kind(3)
def reduced(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in (*WIDE, "int64", "int32") and v.rank <= 4)
    v = s.values[x]
    op = s.rng.choice(("ReduceMax", "ReduceMin", "ReduceProd", *_SUMS))
    axes = sorted(s.rng.sample(range(v.rank), s.rng.randint(0, min(2, v.rank))))
    keep = s.rng.randint(0, 1)
    nothing = int(not axes and s.rng.random() < 0.5)
    over = axes or ([] if nothing else list(range(v.rank)))
    size = max(product(v.dims[axis] for axis in over), default=1)
    if op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSumExp"):
        # Of no elements, there is no largest one.
        s.require(min(product(v.dims[axis] for axis in over), default=1) > 0)
    if v.dtype not in WIDE:
        s.require(op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"))
    s.require(op != "ReduceLogSumExp" or v.most < 50)
    most = v.most
    if op == "ReduceProd":
        s.require(s.special or size <= 6)
        most = max(v.most, 1) ** min(size, 6)
    elif op not in ("ReduceMax", "ReduceMin", "ReduceMean"):
        most = (v.most + 1) ** 2 * size
    exact = v.exact and op in ("ReduceMax", "ReduceMin", "ReduceSum")
    if keep:
        dims = [fixed(1) if axis in over else dim for axis, dim in enumerate(v.dims)]
    else:
        dims = [dim for axis, dim in enumerate(v.dims) if axis not in over]
    given = [x]
    if axes or s.rng.random() < 0.5:
        given.append(s.ints(*(s.either(axis, v.rank) for axis in axes)))
    made = Value(v.dtype, tuple(dims), most, exact)
    attributes = {"keepdims": keep, "noop_with_empty_axes": nothing}
    s.add(op, given, made, **attributes)


@kind(1)
def largest(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in (*WIDE, "int64", "int32") and v.rank >= 1 and v.exact)
    v = s.values[x]
    axis = s.axis(x)
    s.require(min(v.dims[axis]) > 0 and not s.special)
    keep = s.rng.randint(0, 1)
    dims = list(v.dims)
    dims[axis : axis + 1] = [fixed(1)] if keep else []
    op = s.rng.choice(("ArgMax", "ArgMin"))
    s.add(op, [x], Value("int64", tuple(dims), 50), axis=axis, keepdims=keep)


@kind(1)
def sorted_(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in (*WIDE, "int64") and v.rank >= 1 and v.exact)
    v = s.values[x]
    axis = s.axis(x)
    s.require(min(v.dims[axis]) > 0 and not s.special)
    size = s.rng.randint(1, min(v.dims[axis]))
    dims = (*v.dims[:axis], fixed(size), *v.dims[axis + 1 :])
    attributes = {"axis": axis, "largest": s.rng.randint(0, 1), "sorted": 1}
    s.add("TopK", [x, s.ints(size)], replace(v, dims=dims), **attributes)
    # Equal elements may come in any order, so nothing reads the indices.
    s.nodes[-1] = replace(s.nodes[-1], outputs=(*s.nodes[-1].outputs, s.fresh()))


@kind(1)
def cumulative(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in (*WIDE, "int64", "int32") and v.rank >= 1)
    v = s.values[x]
    axis = s.axis(x)
    flags = {"exclusive": s.rng.randint(0, 1), "reverse": s.rng.randint(0, 1)}
    given = [x, s.constant(axis, "int64")]
    s.add("CumSum", given, replace(v, most=v.most * max(max(v.dims[axis]), 1)), **flags)


@kind(1.5)
def softmax(s: Scope) -> None:
    x = floats(s, 1)
    v = s.values[x]
    op = s.rng.choice(("Softmax", "Softmax", "LogSoftmax"))
    made = replace(v, most=1 if op == "Softmax" else 2 * v.most + 10, exact=False)
    s.add(op, [x], made, axis=s.either(s.axis(x), v.rank))


def weight(s: Scope, dtype: str, *shape: int) -> str:
    """Return a constant of eighths."""
    rng = np.random.default_rng(s.rng.randrange(1 << 30))
    return s.constant(rng.integers(-8, 9, shape) / 8, dtype)


@kind(3)
def multiplied(s: Scope) -> None:
    """Multiply matrices, one of them perhaps a constant, with what usually follows."""
    x = floats(s, 2)
    v = s.values[x]
    inner = v.dims[-1]
    roll = s.rng.random()
    if roll < 0.6:
        s.require(v.static(v.rank - 1) is not None)
        size = s.rng.choice((1, 2, 4))
        y, dims = weight(s, v.dtype, inner[0], size), (*v.dims[:-1], fixed(size))
        most = v.most * inner[0]
    else:
        y = s.any(lambda o: o.dtype == v.dtype and o.rank == v.rank)
        w = s.values[y]
        if w.dims[-2] != inner:
            s.require(w.dims[-1] == inner)
            perm = [*range(v.rank - 2), v.rank - 1, v.rank - 2]
            (y,) = s.add(
                "Transpose", [y], replace(w, dims=tuple(w.dims[at] for at in perm)), perm=perm
            )
            w = s.values[y]
        s.require(w.dims[:-2] == v.dims[:-2])
        dims, most = (*v.dims[:-1], w.dims[-1]), v.most * w.most * max(max(inner), 1)
    (z,) = s.add("MatMul", [x, y], Value(v.dtype, dims, most, False))
    size = dims[-1][0] if len(set(dims[-1])) == 1 else None
    if size and s.rng.random() < 0.5:
        bias = weight(s, v.dtype, size)
        pair = [z, bias] if s.rng.random() < 0.5 else [bias, z]
        (z,) = s.add("Add", pair, replace(s.values[z], most=most + 1))
        if s.rng.random() < 0.4:
            _scaled(s, z, (size,))


def _scaled(s: Scope, x: str, shape: tuple[int, ...]) -> None:
    """Scale or shift by a constant."""
    v = s.values[x]
    op = s.rng.choice(("Mul", "Div", "Add", "Sub"))
    by = weight(s, v.dtype, *s.rng.choice((shape, (1,) * len(shape), ())))
    if op == "Div":
        s.constants[by] = s.constants[by] * 0 + np.asarray(s.rng.choice((2, 0.5, 3)), v.dtype)
    s.add(op, [x, by], replace(v, most=3 * v.most + 1, exact=False))


@kind(1)
def gemm(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in WIDE and v.rank == 2)
    v = s.values[x]
    flip = s.rng.randint(0, 1)
    rows, inner = (v.dims[1], v.dims[0]) if flip else v.dims
    s.require(len(set(inner)) == 1)
    size, other = s.rng.choice((1, 2, 4)), s.rng.randint(0, 1)
    y = weight(s, v.dtype, *((size, inner[0]) if other else (inner[0], size)))
    given = [x, y]
    if s.rng.random() < 0.6:
        given.append(weight(s, v.dtype, *s.rng.choice(((size,), (1, size), (1,), ()))))
    factors = {"alpha": s.rng.choice((1.0, 0.5)), "beta": s.rng.choice((1.0, 1.0, 0.5, 0.0))}
    made = Value(v.dtype, (rows, fixed(size)), v.most * (inner[0] + 1) + 1, False)
    (z,) = s.add("Gemm", given, made, transA=flip, transB=other, **factors)
    if s.rng.random() < 0.4:
        _normalised(s, z, size)


@kind(2)
def convolved(s: Scope) -> None:
    """Pad, convolve, and normalize or scale."""
    x = s.any(lambda v: v.dtype == "float32" and v.rank in (3, 4) and v.static(1) is not None)
    v = s.values[x]
    channels, spatial = v.dims[1][0], list(v.dims[2:])
    s.require(channels > 0 and all(min(dim) > 0 for dim in v.dims[2:]))
    if s.rng.random() < 0.4:
        before = [s.rng.randint(0, 1) for _ in spatial]
        after = [s.rng.randint(0, 1) for _ in spatial]
        pads = s.ints(0, 0, *before, 0, 0, *after)
        spatial = [_grown(d, a + b) for d, a, b in zip(spatial, before, after, strict=True)]
        (x,) = s.add("Pad", [x, pads], replace(v, dims=(*v.dims[:2], *spatial)))
    kernel = [s.rng.choice((1, 1, 2)) for _ in spatial]
    pads = [s.rng.choice((0, 0, 1)) for _ in range(2 * len(spatial))]
    group = s.rng.choice((1, 1, channels))
    out = group * s.rng.choice((1, 2)) if group > 1 else s.rng.choice((1, 2, 4))
    rank = len(spatial)
    if s.rng.random() < 0.25 and group == 1:
        spatial = [_grown(d, k - 1) for d, k in zip(spatial, kernel, strict=True)]
        op, w, pads = "ConvTranspose", weight(s, v.dtype, channels, out, *kernel), [0] * (2 * rank)
    else:
        spatial = [
            _grown(dim, pads[at] + pads[at + rank] - kernel[at] + 1)
            for at, dim in enumerate(spatial)
        ]
        op, w = "Conv", weight(s, v.dtype, out, channels // group, *kernel)
    s.require(all(min(dim) > 0 for dim in spatial))
    most = v.most * channels * math.prod(kernel) + 1
    made = Value(v.dtype, (v.dims[0], fixed(out), *spatial), most, False)
    given = [x, w] if s.rng.random() < 0.5 else [x, w, weight(s, v.dtype, out)]
    (y,) = s.add(op, given, made, kernel_shape=kernel, pads=pads, group=group)
    roll = s.rng.random()
    if roll < 0.35:
        _normalised(s, y, out)
    elif roll < 0.6:
        _scaled(s, y, (out, *[1] * rank))


def _grown(dim: Dim, by: int) -> Dim:
    return tuple(size + by for size in dim)


def _normalised(s: Scope, x: str, channels: int) -> None:
    """Apply the normalization of a batch."""
    v = s.values[x]
    scale, shift, mean = (weight(s, v.dtype, channels) for _ in range(3))
    variance = s.constant(np.full(channels, s.rng.choice((0.5, 1, 4))), v.dtype)
    made = replace(v, most=2 * v.most + 4, exact=False)
    s.add("BatchNormalization", [x, scale, shift, mean, variance], made)


@kind(1)
def pooled(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "float32" and v.rank in (3, 4) and v.static(1) is not None)
    v = s.values[x]
    spatial = list(v.dims[2:])
    s.require(v.dims[1][0] > 0 and all(min(dim) > 0 for dim in spatial))
    op = s.rng.choice(("AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool"))
    if op.startswith("Global"):
        made = replace(v, dims=(*v.dims[:2], *(fixed(1) for _ in spatial)), exact=False)
        s.add(op, [x], made)
        return
    if s.rng.random() < 0.6:
        before = [s.rng.randint(0, 1) for _ in spatial]
        pads = s.ints(0, 0, *before, 0, 0, *before)
        fill = s.constant(0 if op == "AveragePool" else -np.inf, v.dtype)
        spatial = [_grown(d, 2 * a) for d, a in zip(spatial, before, strict=True)]
        (x,) = s.add("Pad", [x, pads, fill], replace(v, dims=(*v.dims[:2], *spatial)))
        if op == "MaxPool":
            # Windows without numbers are minus infinity.
            s.require(s.special)
    kernel = [s.rng.randint(1, 2) for _ in spatial]
    spatial = [_grown(dim, 1 - k) for dim, k in zip(spatial, kernel, strict=True)]
    s.require(all(min(dim) > 0 for dim in spatial))
    more = {"count_include_pad": s.rng.randint(0, 1)} if op == "AveragePool" else {}
    made = replace(v, dims=(*v.dims[:2], *spatial), exact=op == "MaxPool" and v.exact)
    s.add(op, [x], made, kernel_shape=kernel, **more)


@kind(1)
def equation(s: Scope) -> None:
    """Sum products by an equation."""
    x, y = floats(s, 2, 3), floats(s, 2, 3)
    v, w = s.values[x], s.values[y]
    # ONNX Runtime divides by a size of 0, which ends the process.
    s.require(v.dtype == w.dtype and all(min(dim) > 0 for dim in (*v.dims, *w.dims)))
    letters: dict[Dim, str] = {}

    def name(dims: tuple[Dim, ...]) -> str:
        text = ""
        for dim in dims:
            letter = letters.setdefault(dim, "abcdefg"[len(letters)])
            s.require(letter not in text and len(letters) < 7)
            text += letter
        return text

    one, other = name(v.dims), name(w.dims)
    kept = [letter for letter in dict.fromkeys(one + other) if s.rng.random() < 0.7]
    s.rng.shuffle(kept)
    by = {letter: dim for dim, letter in letters.items()}
    summed = product(dim for letter, dim in by.items() if letter not in kept)
    most = v.most * w.most * max(max(summed), 1)
    made = Value(v.dtype, tuple(by[letter] for letter in kept), most, False)
    s.add("Einsum", [x, y], made, equation=f"{one},{other}->{''.join(kept)}")


@kind(0.6)
def quantised(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "float32" and v.exact)
    s.require(not s.special)
    v = s.values[x]
    scale = s.constant(s.rng.choice((0.125, 0.5)), "float32")
    zero = s.constant(s.rng.choice((0, 3)), s.rng.choice(("uint8", "int8")))
    codes = s.raw("QuantizeLinear", x, scale, zero)
    s.add("DequantizeLinear", [codes, scale, zero], replace(v, most=200))


@kind(0.6)
def resized(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "float32" and v.rank == 4)
    v = s.values[x]
    s.require(all(min(dim) > 0 for dim in v.dims))
    scales = s.constant([1, 1, 2, s.rng.choice((1, 2))], "float32")
    twice = [int(one) for one in s.constants[scales]]
    dims = tuple(product((dim, fixed(n))) for dim, n in zip(v.dims, twice, strict=True))
    attributes = s.rng.choice(
        (
            {
                "mode": "nearest",
                "coordinate_transformation_mode": "asymmetric",
                "nearest_mode": "floor",
            },
            {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
        )
    )
    exact = v.exact and attributes["mode"] == "nearest"
    s.add("Resize", [x, "", scales], replace(v, dims=dims, exact=exact), **attributes)


@kind(0.6)
def dropped(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "float64"))
    s.add("Dropout", [x], s.values[x])
