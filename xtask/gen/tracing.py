"""Turns a traced call into a decomposition in the text form.

A call is traced with extents that are symbols. The findings of the trace about them, the ranks and
the element types of tensors, and arguments that it read as numbers become conditions. A trace that
fixes an extent says nothing of others, and is refused.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import sympy
import torch
from torch import Tensor, fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.utils._pytree import tree_leaves, tree_map

# A bound above every size and number of PyTorch.
LARGE = 1 << 31
DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "bool",
    torch.complex64: "c64",
    torch.complex128: "c128",
}
# Operators that return their argument, once nothing is written.
COPIES = {"aten.clone.default", "aten.detach.default", "aten.alias.default"}
# Operators without a meaning in ONNX.
DROPPED = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "generator"}


class TraceError(Exception):
    """Why a trace is not a decomposition."""


@dataclass(frozen=True)
class Like:
    """A tensor: the name of each axis, or `*` for any, and its element type.

    Axes of one name have one extent. Integers are below `high`, a number or the extent of an axis.
    Without a type it is of `f32` and of `f64`.
    """

    axes: str
    dtype: torch.dtype | None = None
    low: float = -2.0
    high: float | str = 2.0

    def draw(self, extents: dict[str, int]) -> Tensor:
        """Return a tensor with these extents."""
        shape = [extents[axis] for axis in self.axes]
        high = extents[self.high] if isinstance(self.high, str) else self.high
        if self.dtype is torch.bool:
            return torch.rand(shape) < 0.5
        if not self.dtype.is_floating_point and not self.dtype.is_complex:
            return torch.randint(int(self.low), int(high), shape, dtype=self.dtype)
        if self.dtype.is_complex:
            return torch.randn(shape, dtype=self.dtype)
        return torch.rand(shape, dtype=self.dtype) * (high - self.low) + self.low


@dataclass(frozen=True)
class Number:
    """A number that a decomposition takes as it is: two that are traced, and some to try."""

    first: float
    second: float
    tried: tuple[float, ...] = (0.0, 1.0, -0.5)


def fake(tensor: Tensor, mode: FakeTensorMode) -> Tensor:
    """Return a stand-in whose extents are symbols."""
    sizes = [DimDynamic.DYNAMIC] * tensor.dim()
    context = StatelessSymbolicContext(dynamic_sizes=sizes)
    return mode.from_tensor(tensor, symbolic_context=context)


def trace(
    call: Callable[..., Any], tensors: list[Tensor], table: dict[Any, Any]
) -> tuple[fx.GraphModule, list[Any], list[list[Any]]]:
    """Return the functional graph of `call`, its assumptions, and the symbols of each tensor."""
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    inputs = [fake(tensor, mode) for tensor in tensors]
    symbols = [[size.node.expr for size in tensor.shape] for tensor in inputs]
    with mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = make_fx(call, decomposition_table=table)(*inputs)
    functionalise(graph)
    return graph, [guard.expr for guard in env.guards], symbols


def functionalise(graph: fx.GraphModule) -> None:
    """Replace operators that write by those that return.

    Refuses a tensor that is read after it was written.
    """
    for node in graph.graph.nodes:
        if str(node.target) in COPIES:
            node.replace_all_uses_with(node.args[0])
    order = {node: at for at, node in enumerate(graph.graph.nodes)}
    for node in graph.graph.nodes:
        if not isinstance(node.target, torch._ops.OpOverload) or not node.target._schema.is_mutable:
            continue
        namespace, op, overload = str(node.target).split(".")
        overload = "int" if op == "transpose_" else overload
        packet = getattr(getattr(torch.ops, namespace), op.removesuffix("_"), None)
        plain = getattr(packet, overload, None)
        written = node.args[0]
        if plain is None or any(order[user] > order[node] for user in written.users):
            raise TraceError(f"it writes by `{node.target}`")
        node.target = plain
    graph.graph.eliminate_dead_code()
    graph.recompile()


def text_of(value: Any, names: dict[fx.Node, str], numbers: dict[float, str]) -> str:
    """Return an argument as the text form has it."""
    if isinstance(value, fx.Node):
        return f"%{names[value]}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(text_of(item, names, numbers) for item in value)}]"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, torch.dtype):
        if value not in DTYPES:
            raise TraceError(f"there is no element type {value}")
        return DTYPES[value]
    if isinstance(value, float) and value in numbers:
        return f"%{numbers[value]}"
    if isinstance(value, int | float):
        return repr(value).replace("nan", "NaN")
    if isinstance(value, str):
        return f'"{value}"'
    raise TraceError(f"`{value}` has no text")


def arguments(node: fx.Node, names: dict[fx.Node, str], numbers: dict[float, str]) -> str:
    """Return the arguments of a call by their names."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return ", ".join(text_of(value, names, numbers) for value in node.args)
    formal = [argument.name for argument in node.target._schema.arguments]
    given = dict(zip(formal, node.args, strict=False)) | node.kwargs
    kept = {name: value for name, value in given.items() if name not in DROPPED}
    return ", ".join(f"{name}={text_of(value, names, numbers)}" for name, value in kept.items())


def target_of(node: fx.Node) -> str:
    """Return the name of the callee."""
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    name = node.target.__name__
    return f"{node.target.__module__}.{name}"


def body(graph: fx.GraphModule, parameters: list[str], numbers: dict[float, str]) -> list[str]:
    """Return the lines of the calls and results."""
    names: dict[fx.Node, str] = {}
    taken = set(parameters)

    def name(node: fx.Node) -> str:
        stem = node.name if node.name not in taken else f"{node.name}_"
        taken.add(stem)
        names[node] = stem
        return f"%{stem}"

    lines = []
    rest = iter(parameters)
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            names[node] = next(rest)
        elif node.op == "output":
            results = node.args[0]
            results = results if isinstance(results, list | tuple) else [results]
            lines += [f"  output {text_of(result, names, numbers)}" for result in results]
        elif node.op != "call_function":
            raise TraceError(f"it holds `{node.op}` of `{node.target}`")
        elif node.target.__name__ == "getitem":
            continue
        else:
            parts = {user.args[1]: user for user in node.users if is_part(user)}
            taking = arguments(node, names, numbers)
            if parts:
                count = len(node.target._schema.returns)
                if count < 2:
                    raise TraceError(f"`{node.target}` gives a list")
                results = ", ".join(name(parts[i]) if i in parts else "none" for i in range(count))
            else:
                results = name(node)
            lines.append(f"  {results} = {target_of(node)}({taking})")
    return lines


def is_part(node: fx.Node) -> bool:
    """Tell whether a node takes one of several results."""
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


def assumed(guards: list[Any], axes: dict[Any, str]) -> None:
    """Refuse assumptions of a trace, except that axes of one name have one size.

    `axes` are the names of the axes that have each symbol for an extent.
    """
    for guard in guards:
        free = guard.free_symbols
        equal = isinstance(guard, sympy.Eq) and set(guard.args) == free
        if equal and len({axes[symbol] for symbol in free}) == 1:
            continue
        bound = guard.rhs if isinstance(guard, sympy.Le | sympy.Lt) else sympy.S.Zero
        if not (bound.is_Integer and bound >= LARGE):
            raise TraceError(f"it assumes {guard}")


def conditions(tensors: dict[str, Like], dtypes: list[torch.dtype]) -> Iterator[str]:
    """Yield the conditions on the tensors."""
    places: dict[str, tuple[str, int]] = {}
    whole = ""
    for name, tensor in tensors.items():
        if tensor.axes == "*":
            if whole:
                yield f"shape({name}) is shape({whole})"
            whole = whole or name
        else:
            yield f"rank({name}) is {len(tensor.axes)}"
        allowed = [tensor.dtype] if tensor.dtype else dtypes
        yield f"dtype({name}) is {' or '.join(DTYPES[dtype] for dtype in allowed)}"
    for name, tensor in tensors.items():
        for axis, label in enumerate(tensor.axes.replace("*", "")):
            if label in places:
                other, at = places[label]
                yield f"size({name}, {axis}) is size({other}, {at})"
            places.setdefault(label, (name, axis))


def decompositions(target: str, given: dict[str, Any], table: dict[Any, Any]) -> str:
    """Return the decompositions of calls of `target` with such arguments.

    There is one for tensors of any rank, or one for each; and one for both floating-point types, or
    one for each. Raises `TraceError` where a trace holds of the traced extents alone.
    """
    ranks = ("", "a", "ab", "abc", "abcd") if any_rank(given) else (None,)
    bodies: dict[tuple[torch.dtype, str | None], tuple[str, ...]] = {}
    for dtype, rank in itertools.product((torch.float32, torch.float64), ranks):
        bodies[dtype, rank] = lines(target, typed(given, dtype, rank), table)
    free = all(
        text == bodies[dtype, "a"] for (dtype, rank), text in bodies.items() if rank is not None
    )
    texts: dict[tuple[str, ...], list[tuple[torch.dtype, str | None]]] = {}
    for (dtype, rank), text in bodies.items():
        key = (*text, "" if free or rank is None else rank)
        texts.setdefault(key, []).append((dtype, rank))
    formal = [argument.name for argument in function(target)._schema.arguments]
    parameters = [name for name in formal if name in given]
    heads = []
    for key, kinds in texts.items():
        dtypes = list(dict.fromkeys(dtype for dtype, _ in kinds))
        shaped = given if free or kinds[0][1] is None else typed(given, None, kinds[0][1])
        tensors = {name: value for name, value in shaped.items() if isinstance(value, Like)}
        wanted = [*conditions(tensors, dtypes)]
        wanted += [
            f"{name} is {text_of(given[name], {}, {})}"
            for name in parameters
            if not isinstance(given[name], Like | Number)
        ]
        head = f"decomposition {target}({', '.join(parameters)}) when {' and '.join(wanted)} {{"
        heads.append("\n".join([head, *key[:-1], "}"]) + "\n")
    return "".join(heads)


def any_rank(given: dict[str, Any]) -> bool:
    """Tell whether tensors may have any rank."""
    return any(isinstance(value, Like) and value.axes == "*" for value in given.values())


def typed(given: dict[str, Any], dtype: torch.dtype | None, rank: str | None) -> dict[str, Any]:
    """Return the arguments with a type and axes for tensors that leave them open."""
    return {
        name: replace(
            value,
            dtype=value.dtype or dtype,
            axes=rank if value.axes == "*" and rank is not None else value.axes,
        )
        if isinstance(value, Like)
        else value
        for name, value in given.items()
    }


def function(target: str) -> torch._ops.OpOverload:
    """Return the overload called `aten.op.overload`."""
    namespace, op, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload)


def lines(target: str, given: dict[str, Any], table: dict[Any, Any]) -> tuple[str, ...]:
    """Return the lines of a decomposition that was traced and compared with PyTorch."""
    overload = function(target)
    tensors = {name: value for name, value in given.items() if isinstance(value, Like)}
    free = {name: value for name, value in given.items() if isinstance(value, Number)}
    labels = sorted({axis for tensor in tensors.values() for axis in tensor.axes})
    extents = {axis: 5 + 2 * i for i, axis in enumerate(labels)}

    def call(numbers: dict[str, float]) -> Callable[..., Any]:
        def forward(*values: Tensor) -> Any:
            return overload(**(given | numbers | dict(zip(tensors, values, strict=True))))

        return forward

    texts = []
    for pick in ("first", "second") if free else ("first",):
        numbers = {name: getattr(value, pick) for name, value in free.items()}
        drawn = [tensor.draw(extents) for tensor in tensors.values()]
        graph, guards, symbols = trace(call(numbers), drawn, table)
        names = {
            symbol: axis
            for tensor, dims in zip(tensors.values(), symbols, strict=True)
            for axis, symbol in zip(tensor.axes, dims, strict=True)
        }
        assumed(guards, names)
        texts.append(body(graph, list(tensors), {value: name for name, value in numbers.items()}))
        for other in tried(extents):
            check(graph, call(numbers), tensors, other)
    if any(text != texts[0] for text in texts):
        raise TraceError("it depends on the value of a number")
    for name, value in free.items():
        for number in value.tried:
            other = with_number(graph, value.second, number)
            check(other, call(numbers | {name: number}), tensors, extents)
    return tuple(texts[0])


def with_number(graph: fx.GraphModule, old: float, new: float) -> fx.GraphModule:
    """Return the graph with a number in the place of another one."""
    other = copy.deepcopy(graph)
    for node in other.graph.nodes:
        node.args = tree_map(lambda value: new if value == old else value, node.args)
    other.recompile()
    return other


def tried(extents: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the traced extents, others, and each axis of one element."""
    for offset in (0, 3):
        yield {axis: size + offset for axis, size in extents.items()}
    for axis in extents:
        yield extents | {axis: 1}


def check(
    graph: fx.GraphModule,
    call: Callable[..., Any],
    tensors: dict[str, Like],
    extents: dict[str, int],
) -> None:
    """Compare the graph with PyTorch at these extents."""
    torch.manual_seed(0)
    values = [tensor.draw(extents) for tensor in tensors.values()]
    expected = tree_leaves(call(*values))
    found = tree_leaves(graph(*values))
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, Tensor):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
        elif ours != theirs:
            raise TraceError(f"it gives {ours} where PyTorch gives {theirs}")
