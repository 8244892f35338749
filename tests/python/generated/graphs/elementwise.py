"""Elementwise operators."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tests.python.generated.graphs.graph import Value, element_type
from tests.python.generated.graphs.scope import FLOATS, Scope, kind

# Operators that keep exactness; the bound of magnitudes stays.
_SIMPLE = ("Neg", "Abs", "Relu", "Identity", "Sign")
_STEPS = ("Floor", "Ceil", "Round")
_SMOOTH = ("Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Softsign", "Atan", "Asinh")
_RECTIFIERS = (
    ("LeakyRelu", {}),
    ("LeakyRelu", {"alpha": 0.25}),
    ("Elu", {}),
    ("Selu", {}),
    ("Celu", {}),
    ("HardSigmoid", {}),
    ("HardSwish", {}),
    ("Softplus", {}),
    ("ThresholdedRelu", {"alpha": 0.5}),
    ("Mish", {}),
    ("Gelu", {}),
    ("Gelu", {"approximate": "tanh"}),
)
_SINGLE = ("float32", "float16")


@kind(4)
def unary(s: Scope) -> None:
    x = s.number()
    v = s.values[x]
    if v.dtype not in FLOATS:
        s.require(v.dtype.startswith("int"))
        op = s.rng.choice(("Neg", "Abs", "Identity", "Sign"))
        s.add(op, [x], replace(v, most=1 if op == "Sign" else v.most))
        return
    family = s.rng.choice((_SIMPLE, _SIMPLE, _STEPS, _SMOOTH, ("Exp", "Log", "Sqrt", "Reciprocal")))
    op = s.rng.choice(family)
    if op in _SIMPLE:
        if op == "Sign":
            s.reals(x)
        s.add(op, [x], replace(v, most=1 if op == "Sign" else v.most))
    elif op in _STEPS:
        s.reals(x)
        s.add(op, [x], replace(v, most=v.most + 1))
    elif op in _SMOOTH:
        s.add(op, [x], replace(v, most=max(v.most, 1), exact=False))
    elif s.special:
        s.add(op, [x], replace(v, exact=False))
    elif op == "Exp":
        s.require(v.most <= 8)
        s.add(op, [x], replace(v, most=math.exp(v.most), exact=False))
    else:
        # Of numbers from 1 on.
        base = s.raw("Add", s.raw("Abs", x), s.constant(1, v.dtype))
        s.add(op, [base], replace(v, most=v.most + 1, exact=False))


@kind(2)
def rectifier(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in _SINGLE)
    op, attributes = s.rng.choice(_RECTIFIERS)
    if op == "Celu":
        s.require(s.values[x].dtype == "float32")
    if op == "Gelu":
        s.require(s.opset >= 20)
    if op in ("ThresholdedRelu", "HardSigmoid", "HardSwish"):
        s.reals(x)
    v = s.values[x]
    s.add(op, [x], replace(v, most=2 * v.most + 1, exact=False), **attributes)


@kind(1)
def logic(s: Scope) -> None:
    x = s.any(lambda v: v.dtype == "bool")
    op = s.rng.choice(("Not", "Not", "And", "Or", "Xor"))
    if op == "Not":
        s.add(op, [x], s.values[x])
        return
    y = s.like(x) if s.rng.random() < 0.7 else s.constant(s.rng.random() < 0.5, "bool")
    pair = [x, y] if s.rng.random() < 0.5 else [y, x]
    s.add(op, pair, s.values[x])


def operand(s: Scope, x: str) -> str:
    """Return a second operand: a value that broadcasts with the first, or a constant."""
    v = s.values[x]
    roll = s.rng.random()
    if roll < 0.3:
        return s.like(x)
    if roll < 0.5:
        found = s.any(lambda o: o.dtype == v.dtype)
        s.broadcast(x, found)
        return found
    return constant_for(s, v)


def constant_for(s: Scope, v: Value, numbers: tuple[float, ...] = ()) -> str:
    """Return a constant that broadcasts with a value of this type, often uniform."""
    is_float = v.dtype in FLOATS
    if not numbers:
        numbers = (0, 1, 1, 2, -1, 3)
        if is_float:
            numbers += (-0.0, 0.5, -0.5)
        if is_float and s.special:
            numbers += (np.nan, np.inf, -np.inf)
        if not is_float and not v.dtype.startswith("int"):
            numbers = (0, 1, 2, 3)
    shape: tuple[int, ...] = ()
    if s.rng.random() < 0.5 and v.rank:
        rank = s.rng.randint(1, v.rank)
        axes = range(v.rank - rank, v.rank)
        shape = tuple(
            size if (size := v.static(axis)) and s.rng.random() < 0.6 else 1 for axis in axes
        )
    if s.rng.random() < 0.6:
        array = np.full(shape, s.rng.choice(numbers))
    else:
        count = int(np.prod(shape))
        array = np.array([s.rng.choice(numbers) for _ in range(count)]).reshape(shape)
    return s.constant(array, v.dtype)


@kind(6)
def binary(s: Scope) -> None:
    x = s.number()
    v = s.values[x]
    y = operand(s, x)
    w = s.types[y]
    pair = [x, y] if s.rng.random() < 0.6 else [y, x]
    dims = s.broadcast(x, y)
    exact = v.exact and w.exact
    op = s.rng.choice(("Add", "Sub", "Mul", "Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "Pow"))
    if op in ("Add", "Sub"):
        s.add(op, pair, Value(v.dtype, dims, v.most + w.most, exact))
    elif op == "Mul":
        exact = exact and (v.dtype not in FLOATS or y in s.constants)
        s.add(op, pair, Value(v.dtype, dims, v.most * max(w.most, 1), exact))
    elif op in ("Max", "Min"):
        s.add(op, pair, Value(v.dtype, dims, max(v.most, w.most), exact))
    elif op == "Div":
        is_safe = y in s.constants and not np.any(s.constants[y] == 0)
        if v.dtype in FLOATS:
            s.require(s.special or is_safe)
        else:
            # The least integer divided by -1 is not defined.
            s.require(is_safe and not np.any(s.constants[y].astype("float64") == -1))
        s.require(pair[0] == x or (s.special and v.dtype in FLOATS))
        s.add(op, pair, Value(v.dtype, dims, v.most * 2, exact and v.dtype not in FLOATS))
    elif op == "Mod":
        s.require(v.dtype not in FLOATS and y in s.constants and pair[0] == x)
        s.require(bool(np.all(s.constants[y].astype("float64") > 0)))
        s.add(op, pair, Value(v.dtype, dims, w.most, exact))
    else:
        s.require(v.dtype in ("float32", "float64"))
        power = s.constant(s.rng.choice((0, 1, 2, 3, 0.5, -1) if s.special else (0, 1, 2)), v.dtype)
        s.add("Pow", [x, power], Value(v.dtype, v.dims, max(v.most, 1) ** 2, False))


@kind(2)
def compared(s: Scope) -> None:
    x = s.number()
    y = operand(s, x)
    dims = s.broadcast(x, y)
    s.reals(x, y)
    pair = [x, y] if s.rng.random() < 0.5 else [y, x]
    op = s.rng.choice(("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"))
    s.add(op, pair, Value("bool", dims))


@kind(2)
def chosen(s: Scope) -> None:
    x = s.tensor()
    v = s.values[x]
    mask = s.any(lambda v: v.dtype == "bool")
    if s.rng.random() < 0.4:
        mask = s.constant([s.rng.random() < 0.5], "bool")
    y = s.like(x) if v.dtype == "bool" else operand(s, x)
    dims = s.broadcast(mask, x, y)
    w = s.types[y]
    pair = [x, y] if s.rng.random() < 0.5 else [y, x]
    s.add("Where", [mask, *pair], Value(v.dtype, dims, max(v.most, w.most), v.exact and w.exact))


@kind(1.5)
def cast(s: Scope) -> None:
    x = s.tensor()
    v = s.values[x]
    kinds = ["float32", "float64", "int64", "int32", "bool"]
    if s.narrow:
        kinds += ["float16", "bfloat16", "int8", "uint8", "int16", "uint32", "uint64"]
    kind = s.rng.choice(kinds)
    if v.dtype in FLOATS and kind not in FLOATS:
        # Of numbers outside of the type, the result is not defined.
        s.reals(x)
        s.require(kind == "bool" or not s.special)
        s.require(kind == "bool" or (v.most < 100 and not kind.startswith("u")))
    most = 1 if kind == "bool" else 300 if kind.startswith("u") else v.most
    exact = v.exact and not (s.narrow and kind in FLOATS)
    s.add("Cast", [x], Value(kind, v.dims, most, exact), to=element_type(kind))


@kind(1)
def clipped(s: Scope) -> None:
    x = s.number()
    v = s.values[x]
    s.require(v.dtype in ("float32", "float64", "int64", "int32", "float16", "int8", "uint8"))
    low, high = s.rng.choice(((-1, 1), (0, 6), (0, 0), (1, 0), (0, 1)))
    if v.dtype.startswith("u"):
        low = abs(low)
    bounds = [s.constant(low, v.dtype), s.constant(high, v.dtype)]
    roll = s.rng.random()
    if roll < 0.2:
        bounds = bounds[:1]
    elif roll < 0.4:
        bounds[0] = ""
    s.add("Clip", [x, *bounds], replace(v, most=max(v.most, 6)))


@kind(0.7)
def tested(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "float64"))
    v = s.values[x]
    s.add(s.rng.choice(("IsNaN", "IsInf")), [x], Value("bool", v.dims))


@kind(0.7)
def bits(s: Scope) -> None:
    x = s.any(lambda v: "int" in v.dtype)
    v = s.values[x]
    op = s.rng.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"))
    pair = [x] if op == "BitwiseNot" else [x, s.like(x)]
    s.add(op, pair, replace(v, most=2 * v.most + 4))


@kind(0.7)
def several(s: Scope) -> None:
    x = s.any(lambda v: v.dtype in ("float32", "float64"))
    v = s.values[x]
    names = [x, *(s.like(x) for _ in range(s.rng.randint(0, 3)))]
    op = s.rng.choice(("Sum", "Mean", "Max", "Min"))
    found = [s.values[name] for name in names]
    exact = all(one.exact for one in found) and op != "Mean"
    most = sum(one.most for one in found)
    s.add(op, names, replace(v, most=most, exact=exact))
