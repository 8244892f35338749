"""Shapes and element types of pointwise operators, found out by calling them.

PyTorch tags these operators. The calls are on meta tensors; the rule of the result's type is the
first candidate that agrees with every call that the operator accepts.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

# Pointwise operators that PyTorch does not tag, most of them other names of tagged ones.
UNTAGGED = re.compile(
    r"^aten::(special_.*|absolute|arc\w+|multiply|divide|true_divide|subtract|negative|fix|isclose|isreal|__and__"
    r"|__or__|greater|greater_equal|less|less_equal|not_equal|floor_divide|hardswish|complex|polar|log_sigmoid)$"
)
NUMBERS = (2, 0.5, True)
DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
CALLS = 400
LEAST = 4

Arguments = dict[str, Any]
Rule = Callable[[list[Any]], torch.dtype]


def overload_of(op: str, overload: str) -> torch._ops.OpOverload:
    """Return the callable of `namespace::op` and an overload."""
    namespace, name = op.split("::")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")


def choices(argument: torch.Argument) -> list[Any]:
    """Return the values to try for an argument; none where its default holds."""
    kind = str(argument.type)
    if kind in ("Tensor", "Optional[Tensor]"):
        sizes = ((3, 1), (1, 4), ())
        tensors = [torch.empty(s, dtype=d, device="meta") for d in DTYPES for s in sizes]
        return tensors if kind == "Tensor" else [None, *tensors]
    if kind == "Optional[number]":
        return [None, *NUMBERS]
    if kind == "Optional[str]":
        return [None, "trunc", "floor"]
    if argument.has_default_value():
        return []
    if kind == "number":
        return list(NUMBERS)
    return {"float": [0.5], "int": [1], "bool": [True], "SymInt": [1]}.get(kind, [None])


def calls(schema: torch._C.FunctionSchema) -> Iterator[Arguments]:
    """Yield the arguments of calls, all combinations or a fixed draw of them."""
    names = [a.name for a in schema.arguments]
    tried = {name: choices(a) for name, a in zip(names, schema.arguments, strict=True)}
    tried = {name: values for name, values in tried.items() if values}
    total = 1
    for values in tried.values():
        total *= len(values)
    if total <= CALLS:
        drawn = itertools.product(*tried.values())
    else:
        source = random.Random(0)
        drawn = (tuple(source.choice(v) for v in tried.values()) for _ in range(CALLS))
    for values in drawn:
        yield dict(zip(tried, values, strict=True))


def promoted(operands: list[Any]) -> torch.dtype:
    """Return the type that PyTorch promotes the operands to."""
    present = [o for o in operands if o is not None]
    result = present[0].dtype if isinstance(present[0], torch.Tensor) else None
    if len(present) == 1:
        return (
            result
            if result is not None
            else torch.result_type(torch.empty(0, dtype=torch.bool), present[0])
        )
    kinds = [o for o in present if isinstance(o, torch.Tensor)]
    if not kinds:
        raise TypeError("no tensor")
    # `result_type` takes two operands; three ranks of operands fold within and then across.
    ranks = [
        [k for k in kinds if k.dim()],
        [k for k in kinds if not k.dim()],
        [o for o in present if not isinstance(o, torch.Tensor)],
    ]
    folded: Any = None
    for rank in ranks:
        for operand in rank:
            if folded is None:
                folded = operand
                continue
            dtype = torch.result_type(folded, operand)
            dims = (1,) if isinstance(folded, torch.Tensor) and folded.dim() else ()
            folded = torch.empty(dims, dtype=dtype, device="meta")
    return folded.dtype


def floating(dtype: torch.dtype) -> torch.dtype:
    """Return the type in which a function of real numbers is computed."""
    exact = not (dtype.is_floating_point or dtype.is_complex)
    return torch.get_default_dtype() if exact else dtype


def real(dtype: torch.dtype) -> torch.dtype:
    """Return the type of a complex number's parts, or the type itself."""
    return dtype.to_real() if dtype.is_complex else dtype


def candidates(names: list[str]) -> Iterator[tuple[str, Rule, list[str]]]:
    """Yield rules by their terms, the simplest first."""
    yield "bool", lambda _: torch.bool, []
    yield "i64", lambda _: torch.int64, []
    for count in range(1, len(names) + 1):
        for chosen in itertools.combinations(names, count):
            listed = ",".join(chosen)
            yield f"promote({listed})", promoted, list(chosen)
            yield f"float({listed})", lambda o: floating(promoted(o)), list(chosen)
            yield f"real({listed})", lambda o: real(promoted(o)), list(chosen)


def agrees(rule: Rule, chosen: list[str], observed: list[tuple[Arguments, torch.dtype]]) -> bool:
    """Tell whether a rule gives the type of every call."""
    for arguments, dtype in observed:
        try:
            if rule([arguments.get(name) for name in chosen]) != dtype:
                return False
        except (TypeError, IndexError, RuntimeError):
            return False
    return True


def facts(op: str, overload: str) -> dict[str, str]:
    """Return the terms `shape` and `dtype` of a pointwise operator; nothing where no rule fits."""
    schema = torch._C._get_schema(op, overload)
    called = overload_of(op, overload)
    returns = [str(r.type) for r in schema.returns]
    if returns != ["Tensor"] or not (torch.Tag.pointwise in called.tags or UNTAGGED.match(op)):
        return {}
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        return {}
    operands = [a.name for a in schema.arguments if str(a.type) in ("Tensor", "Optional[Tensor]")]
    numbers = [a.name for a in schema.arguments if str(a.type) in ("number", "Optional[number]")]
    observed, broadcast = [], True
    for arguments in calls(schema):
        try:
            result = called(**arguments)
        except Exception:
            continue
        observed.append((arguments, result.dtype))
        shapes = [arguments[n].shape for n in operands if arguments.get(n) is not None]
        broadcast &= result.shape == torch.broadcast_shapes(*shapes)
    if len(observed) < LEAST:
        return {}
    found = {"shape": f"broadcast({','.join(operands)})"} if broadcast else {}
    for term, rule, chosen in candidates(operands + numbers):
        if agrees(rule, chosen, observed):
            return found | {"dtype": term}
    return found
