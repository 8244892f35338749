"""The lowerings: functions registered by decorator, and those of one export."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from onnxport import _native
from onnxport._operators import binding, function, functions
from onnxport._operators.refusal import Refusal

# The namespace of operators over graphs, such as `cond`. They have no overloads.
_HIGHER = "higher_order"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operator:
    """An operator of PyTorch: its name in programs, and its schema where PyTorch knows it."""

    target: str
    schema: str | None = None
    formals: tuple[tuple[str, binding.Formal], ...] = ()


def lowering(
    *operators: Any, override: bool = False, complex: bool = False
) -> Callable[[Function], Function]:
    """Register a function as the lowering of operators, for every later conversion.

    An operator is a name such as `"mylib::foo"` or `"aten::add.Tensor"`, or one of `torch.ops`.
    The function takes an emitter called `op` and the arguments of the call, and returns the
    results. `override` replaces a lowering of onnxport or of a plugin. `complex` states that it
    takes and returns complex tensors: values of reals with one more axis, of extent 2.
    """
    if not operators:
        raise TypeError("name an operator: `@onnxport.lowering('mylib::foo')`")

    def register(function: Function) -> Function:
        _check(function)
        for operator in operators:
            for found in _operators(operator):
                functions.LOWERINGS[found.target] = (function, override, complex)
        return function

    return register


def given(table: Mapping[Any, Any] | None, called: set[str]) -> list[tuple[Any, ...]]:
    """Return the lowerings of a conversion: those of `table` go before all others.

    The operators of those that are called are added to `called`.
    """
    chosen: dict[str, tuple[Operator, Any, bool, bool]] = {}
    for target, (registered, override, complex) in functions.LOWERINGS.items():
        [operator] = _operators(target)
        chosen[target] = (operator, registered, override, complex)
    for key, value in (table or {}).items():
        for operator in _operators(key):
            several = value if isinstance(value, Sequence) else [value]
            complex = any(getattr(one, "takes_complex", False) for one in several)
            chosen[operator.target] = (operator, value, True, complex)
    return [
        (
            target,
            operator.schema,
            first,
            complex,
            functools.partial(_lower, operator, function, called),
        )
        for target, (operator, function, first, complex) in chosen.items()
    ]


def _check(given: Any) -> None:
    if isinstance(given, Sequence) and given and not isinstance(given, str):
        for one in given:
            _check(one)
    elif not callable(given):
        raise TypeError(f"a lowering is a function, and {given!r} is none")


def _lower(
    operator: Operator,
    given: Any,
    called: set[str],
    op: _native.Emitter,
    names: list[str],
    values: list[Any],
) -> Any:
    """Lower a call. Of several functions the first that does not refuse it counts."""
    called.add(operator.target)
    several = given if isinstance(given, Sequence) else [given]
    for place, one in enumerate(several):
        try:
            return _flat(_call(operator, one, op, names, values))
        except Refusal:
            if place + 1 == len(several):
                raise
    raise Refusal("the list of its lowerings is empty")


def _call(operator: Operator, given: Any, op: Any, names: list[str], values: list[Any]) -> Any:
    formals = dict(operator.formals)
    if function.is_scripted(given):
        positional, keywords = binding.Binder(given, 0).bind(formals, names, values)
        return function.call(op, given, positional, keywords)
    traced = function.traced(given)
    takes_emitter = traced is None and _takes_emitter(given)
    positional, keywords = binding.Binder(traced or given, int(takes_emitter)).bind(
        formals, names, values
    )
    if takes_emitter:
        return given(op, *positional, **keywords)
    with function.evaluating(op):
        return (traced or given)(*positional, **keywords)


def _takes_emitter(given: Callable[..., Any]) -> bool:
    """Whether the first parameter is called `op`, or annotated as an emitter."""
    first = next(iter(inspect.signature(given).parameters.values()), None)
    if first is None:
        return False
    return first.name == "op" or str(first.annotation).rsplit(".", 1)[-1].strip("'>") == "Emitter"


def _flat(results: Any) -> Any:
    if isinstance(results, (list, tuple)):
        return [one for result in results for one in _listed(_flat(result))]
    return results


def _listed(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [result]


def _operators(key: Any) -> Iterator[Operator]:
    """Find the operators that a name or an object of PyTorch means."""
    if isinstance(key, str):
        yield _named(key)
        return
    overload = getattr(key, "_opoverload", key)  # an object of `torch.library.custom_op`
    if hasattr(overload, "_schema") and hasattr(overload, "_overloadname"):
        yield _of_overload(overload)
    elif getattr(overload, "namespace", None) == _HIGHER:
        yield Operator(f"{_HIGHER}.{overload.name()}")
    elif hasattr(overload, "overloads") and callable(overload.overloads):
        for name in overload.overloads():
            yield _of_overload(getattr(overload, name))
    else:
        raise TypeError(f"{key!r} is not an operator: name one of `torch.ops`")


def _of_overload(overload: Any) -> Operator:
    schema = overload._schema
    namespace, name = schema.name.split("::", 1)
    formals = tuple(
        (
            argument.name,
            binding.Formal(
                argument.kwarg_only,
                argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
            ),
        )
        for argument in schema.arguments
    )
    return Operator(f"{namespace}.{name}.{overload._overloadname}", str(schema), formals)


def _named(name: str) -> Operator:
    """Read `mylib::foo`, `mylib::foo.Tensor` or `mylib.foo.default`."""
    namespace, colons, rest = name.partition("::")
    if not colons:
        namespace, _, rest = name.partition(".")
    base, _, overload = rest.partition(".")
    if not namespace or not base:
        raise ValueError(f"{name!r} is not an operator: write `mylib::foo` or `mylib::foo.Tensor`")
    if namespace == _HIGHER:
        return Operator(f"{namespace}.{base}")
    target = f"{namespace}.{base}.{overload or 'default'}"
    torch = sys.modules.get("torch")
    if torch is not None:
        packet = getattr(getattr(torch.ops, namespace), base, None)
        found = getattr(packet, overload or "default", None)
        if hasattr(found, "_schema"):
            return _of_overload(found)
    return Operator(target)
