"""Operators that move, copy and select elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.python.generated.graphs.graph import Dim, Value, fixed, product
from tests.python.generated.graphs.scope import Scope, kind


@kind(4)
def transposed(s: Scope) -> None:
    x = s.tensor(2)
    v = s.values[x]
    perm = list(range(v.rank))
    s.rng.shuffle(perm)
    s.add("Transpose", [x], replace(v, dims=tuple(v.dims[axis] for axis in perm)), perm=perm)


@kind(3)
def unsqueezed(s: Scope) -> None:
    x = s.tensor(0, 4)
    v = s.values[x]
    axes = sorted(s.rng.sample(range(v.rank + 1), s.rng.choice((1, 1, min(2, v.rank + 1)))))
    rank = v.rank + len(axes)
    rest = iter(v.dims)
    dims = tuple(fixed(1) if axis in axes else next(rest) for axis in range(rank))
    given = [s.either(axis, rank) for axis in axes]
    s.rng.shuffle(given)
    s.add("Unsqueeze", [x, s.ints(*given)], replace(v, dims=dims))


@kind(3)
def squeezed(s: Scope) -> None:
    x, _ = s.with_axis(1)
    v = s.values[x]
    ones = [axis for axis in range(v.rank) if v.static(axis) == 1]
    axes = s.rng.sample(ones, s.rng.randint(1, len(ones)))
    dims = tuple(dim for axis, dim in enumerate(v.dims) if axis not in axes)
    given = [s.either(axis, v.rank) for axis in axes]
    s.add("Squeeze", [x, s.ints(*given)], replace(v, dims=dims))


@kind(5)
def reshaped(s: Scope) -> None:
    x = s.tensor()
    v = s.values[x]
    roll = s.rng.random()
    dims: list[Dim] = list(v.dims)
    if roll < 0.35 and v.rank >= 2:
        # Two axes become one.
        at = s.rng.randrange(v.rank - 1)
        dims[at : at + 2] = [product(dims[at : at + 2])]
    elif roll < 0.6:
        # One becomes two.
        at = s.axis(x)
        size = v.static(at)
        s.require(size in (2, 4, 6, 8, 12))
        factor = s.rng.choice([one for one in (1, 2, 3, 4) if size % one == 0])
        dims[at : at + 1] = [fixed(factor), fixed(size // factor)]
    elif roll < 0.7:
        dims.insert(s.rng.randint(0, len(dims)), fixed(1))
    elif roll < 0.8:
        dims = [product(dims)]
    elif roll < 0.9:
        s.rng.shuffle(dims)
    made = replace(v, dims=tuple(dims))
    if any(0 in dim and v.dims[at : at + 1] != (dim,) for at, dim in enumerate(dims)):
        # A 0 would copy a size.
        s.add("Reshape", [x, computed(s, dims)], made, allowzero=1)
        return
    s.add("Reshape", [x, target(s, x, dims)], made)


def target(s: Scope, x: str, dims: list[Dim]) -> str:
    """Return the shape of a reshape to these dimensions, as a constant if possible."""
    v = s.values[x]
    numbers, free = [], 0
    for axis, dim in enumerate(dims):
        if len(set(dim)) == 1:
            numbers.append(dim[0])
        elif axis < v.rank and v.dims[axis] == dim and s.rng.random() < 0.6:
            numbers.append(0)
        else:
            numbers.append(-1)
            free += 1
    if free == 0 and numbers and s.rng.random() < 0.3:
        axis = s.rng.randrange(len(numbers))
        others = product(dim for at, dim in enumerate(dims) if at != axis)
        if numbers[axis] > 0 and all(others):
            numbers[axis] = -1
    # With -1, the size is undefined if the others are 0.
    if free <= 1 and s.rng.random() < 0.7:
        others = product(dim for at, dim in enumerate(dims) if numbers[at] != -1)
        if -1 not in numbers or all(others):
            return s.ints(*numbers)
    return computed(s, dims)


def computed(s: Scope, dims: list[Dim]) -> str:
    """Return a shape that is computed from those of values."""
    parts = []
    for dim in dims:
        if len(set(dim)) == 1 and s.rng.random() < 0.7:
            parts.append(s.ints(dim[0]))
            continue
        owner = s.any(lambda v, dim=dim: dim in v.dims)
        axis = s.values[owner].dims.index(dim)
        shape = s.raw("Shape", owner)
        if s.rng.random() < 0.5:
            parts.append(s.raw("Gather", shape, s.ints(axis), axis=0))
        elif s.rng.random() < 0.5:
            size = s.raw("Gather", shape, s.constant(axis, "int64"))
            parts.append(s.raw("Unsqueeze", size, s.ints(0)))
        else:
            parts.append(s.raw("Slice", shape, s.ints(axis), s.ints(axis + 1)))
    s.require(bool(parts))
    return s.raw("Concat", *parts, axis=0)


@kind(0.7)
def flattened(s: Scope) -> None:
    x = s.tensor(1)
    v = s.values[x]
    axis = s.rng.randint(0, v.rank)
    dims = (product(v.dims[:axis]), product(v.dims[axis:]))
    s.add("Flatten", [x], replace(v, dims=dims), axis=axis)


@kind(2)
def expanded(s: Scope) -> None:
    x = s.tensor(0, 4)
    v = s.values[x]
    dims = list(v.dims)
    for axis in range(v.rank):
        if v.static(axis) == 1 and s.rng.random() < 0.5:
            dims[axis] = fixed(s.rng.choice((2, 3)))
    if s.rng.random() < 0.3:
        dims.insert(0, fixed(s.rng.choice((1, 2))))
    if all(len(set(dim)) == 1 for dim in dims) and s.rng.random() < 0.6:
        shape = s.ints(*(dim[0] for dim in dims))
    elif s.rng.random() < 0.5:
        numbers = [dim[0] if len(set(dim)) == 1 else 1 for dim in dims]
        shape = s.ints(*numbers)
    else:
        shape = computed(s, dims)
    s.add("Expand", [x, shape], replace(v, dims=tuple(dims)))


@kind(1)
def tiled(s: Scope) -> None:
    x = s.tensor(1)
    v = s.values[x]
    repeats = [s.rng.choice((1, 1, 1, 2)) for _ in v.dims]
    dims = tuple(product((dim, fixed(n))) for dim, n in zip(v.dims, repeats, strict=True))
    s.add("Tile", [x, s.ints(*repeats)], replace(v, dims=dims))


@kind(3)
def concatenated(s: Scope) -> None:
    x = s.tensor(1)
    v = s.values[x]
    axis = s.axis(x)

    def fits(o: Value) -> bool:
        rest = [dim for at, dim in enumerate(o.dims) if at != axis]
        return o.dtype == v.dtype and o.rank == v.rank and rest == own

    own = [dim for at, dim in enumerate(v.dims) if at != axis]
    names = [x, *(s.any(fits) for _ in range(s.rng.choice((0, 1, 1, 2))))]
    if s.rng.random() < 0.1 and v.static(axis) is not None and all(len(set(d)) == 1 for d in own):
        shape = [0 if at == axis else dim[0] for at, dim in enumerate(v.dims)]
        names.append(s.constant(np.zeros(shape), v.dtype))
    found = [s.types[name] for name in names]
    total = tuple(sum(sizes) for sizes in zip(*(one.dims[axis] for one in found), strict=True))
    dims = (*v.dims[:axis], total, *v.dims[axis + 1 :])
    most, exact = max(one.most for one in found), all(one.exact for one in found)
    made = Value(v.dtype, dims, most, exact)
    s.add("Concat", names, made, axis=s.either(axis, v.rank))


@kind(2)
def split(s: Scope) -> None:
    x = s.any(lambda v: any((v.static(axis) or 0) >= 2 for axis in range(v.rank)))
    v = s.values[x]
    axis = s.rng.choice([axis for axis in range(v.rank) if (v.static(axis) or 0) >= 2])
    size = v.static(axis) or 0
    cut = s.rng.randint(0, size)
    parts = [cut, size - cut]
    made = [replace(v, dims=(*v.dims[:axis], fixed(n), *v.dims[axis + 1 :])) for n in parts]
    names = s.add("Split", [x, s.ints(*parts)], *made, axis=axis)
    if s.rng.random() < 0.4:
        if s.rng.random() < 0.3:
            names.reverse()
        s.add("Concat", names, v, axis=axis)


@kind(4)
def sliced(s: Scope) -> None:
    x = s.tensor(1)
    v = s.values[x]
    axis = s.axis(x)
    start, end = s.rng.choice((0, 0, 1, -1, -2, 2, 5)), s.rng.choice((2**63 - 1, 1, 2, 3, -1, 100))
    step = s.rng.choice((1, 1, 1, 2))
    if s.rng.random() < 0.2:
        start, end, step = -1, -(2**63) + 1, -1
    elif s.rng.random() < 0.1:
        start, end, step = s.rng.choice(((3, 0, -1), (-1, 0, -2), (100, -100, -1)))
    size = tuple(len(range(dim)[slice(start, _end(end, dim, step), step)]) for dim in v.dims[axis])
    dims = (*v.dims[:axis], size, *v.dims[axis + 1 :])
    given = [s.ints(start), s.ints(end), s.ints(s.either(axis, v.rank)), s.ints(step)]
    if step == 1 and s.rng.random() < 0.5:
        given.pop()
    s.add("Slice", [x, *given], replace(v, dims=dims))


def _end(end: int, dim: int, step: int) -> int | None:
    """Return the end of a Python slice: one before the first element is none there."""
    return None if step < 0 and end < -dim else end


@kind(3)
def gathered(s: Scope) -> None:
    x = s.tensor(1)
    v = s.values[x]
    axis = s.axis(x)
    size = min(v.dims[axis])
    s.require(size > 0)
    shape = s.rng.choice(((), (1,), (2,), (size,), (2, 2)))
    count = int(np.prod(shape))
    numbers = [s.rng.randrange(-size, size) for _ in range(count)]
    if count == size and s.rng.random() < 0.6:
        numbers = list(range(size))
    indices = s.constant(np.array(numbers).reshape(shape), s.rng.choice(("int64", "int32")))
    dims = (*v.dims[:axis], *map(fixed, shape), *v.dims[axis + 1 :])
    s.add("Gather", [x, indices], replace(v, dims=dims), axis=s.either(axis, v.rank))


@kind(1)
def gathered_elements(s: Scope) -> None:
    x = s.tensor(1, 3)
    v = s.values[x]
    axis = s.axis(x)
    size = min(v.dims[axis])
    s.require(size > 0 and all(v.static(at) is not None for at in range(v.rank)))
    shape = [s.rng.randint(1, 3) if at == axis else dim[0] for at, dim in enumerate(v.dims)]
    rng = np.random.default_rng(s.rng.randrange(1 << 30))
    indices = s.constant(rng.integers(-size, size, shape), "int64")
    dims = tuple(map(fixed, shape))
    s.add("GatherElements", [x, indices], replace(v, dims=dims), axis=axis)


@kind(1)
def scattered(s: Scope) -> None:
    x = s.tensor(1, 3)
    v = s.values[x]
    size = min(v.dims[0])
    s.require(size > 0 and v.dtype in ("float32", "float64", "int64", "int32"))
    numbers = s.rng.sample(range(size), s.rng.randint(1, size))
    if v.static(0) == size and s.rng.random() < 0.5:
        numbers = list(range(size))
    if s.rng.random() < 0.5:
        indices = s.ints(*numbers)
        y = s.raw("Gather", s.like(x), s.ints(*(s.rng.randrange(size) for _ in numbers)), axis=0)
        column = s.raw("Unsqueeze", indices, s.ints(1))
        s.add("ScatterND", [x, column, y], replace(v, most=2 * v.most + 2))
        return
    s.require(v.rank == 1)
    updates = s.constant([s.rng.randint(-2, 2) for _ in numbers], v.dtype)
    reduction = s.rng.choice(("none", "none", "add"))
    made = replace(v, most=v.most + 2)
    s.add("ScatterElements", [x, s.ints(*numbers), updates], made, axis=0, reduction=reduction)


@kind(2)
def padded(s: Scope) -> None:
    x = s.tensor(1, 4)
    v = s.values[x]
    s.require(v.dtype in ("float32", "float64", "int64", "int32"))
    before = [s.rng.choice((0, 0, 0, 1)) for _ in v.dims]
    after = [s.rng.choice((0, 0, 0, 1, 2)) for _ in v.dims]
    mode = s.rng.choice(("constant", "constant", "constant", "edge", "reflect"))
    if mode != "constant":
        axis = s.axis(x)
        s.require(min(v.dims[axis]) > 2 and all(min(dim) > 0 for dim in v.dims))
        for at in range(v.rank):
            if at != axis:
                before[at] = after[at] = 0
    elif s.rng.random() < 0.2:
        axis = s.axis(x)
        s.require(min(v.dims[axis]) > 1)
        before[axis] = -1
    pads = s.ints(*before, *after)
    dims = tuple(
        tuple(size + a + b for size in dim) for dim, a, b in zip(v.dims, before, after, strict=True)
    )
    given = [x, pads]
    if mode == "constant" and s.rng.random() < 0.5:
        given.append(s.constant(s.rng.choice((0, 1, -1)), v.dtype))
    s.add("Pad", given, replace(v, dims=dims, most=max(1, v.most)), mode=mode)


@kind(0.6)
def trilu(s: Scope) -> None:
    x = s.tensor(2)
    v = s.values[x]
    s.require(v.dtype in ("float32", "float64", "int64", "bool"))
    given = [x] if s.rng.random() < 0.5 else [x, s.constant(s.rng.randint(-1, 2), "int64")]
    s.add("Trilu", given, v, upper=s.rng.randint(0, 1))


@kind(0.8)
def blocks(s: Scope) -> None:
    """Between channels and pixels, by the operator or by reshapes."""
    x = s.any(lambda v: v.dtype == "float32" and v.rank == 4 and (v.static(1) or 1) % 4 == 0)
    v = s.values[x]
    n, c, h, w = v.dims
    s.require(v.static(1) is not None and c[0] > 0)
    two, four = fixed(2), c[0] // 4
    dims = (n, fixed(four), product((h, two)), product((w, two)))
    if s.rng.random() < 0.5:
        mode = s.rng.choice(("DCR", "CRD"))
        s.add("DepthToSpace", [x], replace(v, dims=dims), blocksize=2, mode=mode)
        return
    s.require(v.static(2) is not None and v.static(3) is not None)
    is_dcr = s.rng.random() < 0.5
    split = [0, 2, 2, four, h[0], w[0]] if is_dcr else [0, four, 2, 2, h[0], w[0]]
    parts = s.raw("Reshape", x, s.ints(*split))
    perm = [0, 3, 4, 1, 5, 2] if is_dcr else [0, 1, 4, 2, 5, 3]
    parts = s.raw("Transpose", parts, perm=perm)
    s.add("Reshape", [parts, s.ints(0, four, 2 * h[0], 2 * w[0])], replace(v, dims=dims))


@kind(0.7)
def sized(s: Scope) -> None:
    """Read a shape as numbers, or fill one."""
    x = s.tensor(1)
    v = s.values[x]
    roll = s.rng.random()
    if roll < 0.3:
        s.add("Shape", [x], Value("int64", (fixed(v.rank),), 50))
    elif roll < 0.5:
        s.add("Size", [x], Value("int64", (), 2000))
    elif roll < 0.8:
        fill = np.array([s.rng.choice((0, 1, 2))], s.rng.choice(("float32", "int64")))
        shape = s.raw("Shape", x)
        s.add("ConstantOfShape", [shape], Value(fill.dtype.name, v.dims), value=fill)
    else:
        axis = s.axis(x)
        size = s.raw("Gather", s.raw("Shape", x), s.constant(axis, "int64"))
        given = [s.constant(0, "int64"), size, s.constant(1, "int64")]
        s.add("Range", given, Value("int64", (v.dims[axis],), 50))


@kind(1)
def sequences(s: Scope) -> None:
    x = s.tensor(1, 4)
    v = s.values[x]
    names = [x, s.like(x)]
    sequence = s.raw("SequenceConstruct", *names)
    if s.rng.random() < 0.5:
        at = s.constant(s.rng.choice((0, 1, -1)), "int64")
        found = [s.types[name] for name in names]
        most, exact = max(one.most for one in found), all(one.exact for one in found)
        s.add("SequenceAt", [sequence, at], replace(v, most=most, exact=exact))
        return
    axis = s.axis(x)
    dims = (*v.dims[:axis], product((v.dims[axis], fixed(2))), *v.dims[axis + 1 :])
    found = [s.types[name] for name in names]
    most, exact = max(one.most for one in found), all(one.exact for one in found)
    made = Value(v.dtype, dims, most, exact)
    s.add("ConcatFromSequence", [sequence], made, axis=axis, new_axis=0)


@kind(0.5)
def repeated_call(s: Scope) -> None:
    """Compute the same once more."""
    nodes = [node for node in s.nodes if len(node.outputs) == 1 and node.outputs[0] in s.values]
    s.require(bool(nodes))
    node = s.rng.choice(nodes)
    s.add(node.op, node.inputs, s.values[node.outputs[0]], **node.attributes)
