"""Rules and passes that are written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxport import _native
from onnxport._operators import functions, pattern
from onnxport._operators.refusal import Refusal

_EVERY = range(2**32 - 1)
# The further arguments that conditions and replacements can request beside the names of the
# pattern.
_FURTHER = ("root", "roots")


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: a pattern and its replacement."""

    name: str
    documentation: str
    pattern: str
    opsets: range
    priority: int
    bound: float
    """How far results may differ, relative to the larger of 1 and the value; 0 for not at all."""
    condition: Callable[..., Any] | None
    replacement: Callable[..., Any]

    @property
    def is_exact(self) -> bool:
        """Whether it changes no bit of any result."""
        return self.bound == 0

    def given(self) -> tuple[Any, ...]:
        """Return it as the extension module takes it."""
        build = _Call(self.replacement, takes_emitter=True)
        check = None if self.condition is None else _Call(self.condition, takes_emitter=False)
        low, high = self.opsets.start, self.opsets.stop - 1
        return (
            self.name,
            self.documentation,
            self.pattern,
            low,
            high,
            self.priority,
            self.bound,
            None if check is None else check.hold,
            build.make,
        )


@dataclass(frozen=True, eq=False)
class Pass:
    """A function that edits the whole graph."""

    name: str
    documentation: str
    opsets: range
    priority: int
    after_rules: bool
    bound: float | None
    """How far results may differ, relative to the larger of 1 and the value; `None` for unknown."""
    function: Callable[..., Any]

    def given(self) -> tuple[Any, ...]:
        """Return it as the extension module takes it."""
        low, high = self.opsets.start, self.opsets.stop - 1
        texts = (self.name, self.documentation)
        return (*texts, low, high, self.priority, self.after_rules, self.bound, self.function)


def rule(
    looks_for: str | Callable[..., Any],
    *,
    exact: bool = False,
    bound: float | None = None,
    where: Callable[..., Any] | None = None,
    opset: int | range = _EVERY,
    priority: int = 0,
    name: str | None = None,
    register: bool = True,
) -> Callable[[Callable[..., Any]], Rule]:
    """Turn a function into a rule, whose replacement it builds.

    The function takes an emitter called `op` and, by their names, the bindings of the pattern:
    values, nodes, extents and attributes, each `None` for an omitted optional part. `root` is the
    replaced node. It returns a value, or several; `raise onnxport.Refusal("…")` leaves a match
    unchanged.

    Args:
        looks_for: The pattern: a text, or a function that builds it with `op` and parameters.
        exact: The rule changes no bit of any result. Either this or `bound` is required.
        bound: How far results may differ, relative to the larger of 1 and the value.
        where: A condition over names of the pattern; the rule applies if it is true.
        opset: The opsets at which it is correct, as a range, or the lowest.
        priority: Of several rules for one node the highest is tried first.
        name: Its name; by default that of the function.
        register: Use it in every conversion from then on; else only where it is passed on.
    """
    if exact == (bound is not None):
        raise TypeError("state `exact=True`, or how far results may differ by `bound=`")
    if bound is not None and not 0 < bound < 1:
        raise ValueError("a bound is between 0 and 1")
    text = looks_for if isinstance(looks_for, str) else pattern.text(looks_for)
    known = {name for names in _native.names(text) for name in names}

    def make(function: Callable[..., Any]) -> Rule:
        called = name or function.__name__
        _check(called, function, known, takes_emitter=True)
        if where is not None:
            _check(called, where, known, takes_emitter=False)
        made = Rule(
            called,
            _line(function),
            text,
            _opsets(opset),
            priority,
            bound or 0.0,
            where,
            function,
        )
        if register:
            functions.RULES[called] = made
        return made

    return make


def graph_pass(
    function: Callable[..., Any] | None = None,
    *,
    after_rules: bool = False,
    exact: bool = False,
    bound: float | None = None,
    opset: int | range = _EVERY,
    priority: int = 0,
    name: str | None = None,
    register: bool = True,
) -> Any:
    """Turn a function into a pass over the graph.

    It takes an emitter, `op`, and the `graph`. It runs once for a model, and its edits are
    checked afterwards: if the graph is broken, or the function raised, all of them are undone.

    Args:
        function: The function, if the decorator has no arguments.
        after_rules: Run after the rules, not before them.
        exact: The pass changes no bit of any result.
        bound: How far results may differ, relative to the larger of 1 and the value. A pass that
            states neither does not run at `optimize=1`.
        opset: The opsets that it supports, as a range, or the lowest.
        priority: Of several passes the highest runs first.
        name: Its name; by default that of the function.
        register: Use it in every conversion from then on; else only where it is passed on.
    """
    if exact and bound is not None:
        raise TypeError("state `exact=True`, or how far results may differ by `bound=`, not both")
    if bound is not None and not 0 < bound < 1:
        raise ValueError("a bound is between 0 and 1")

    def make(function: Callable[..., Any]) -> Pass:
        if not callable(function):
            raise TypeError(f"a pass is a function, and {function!r} is none")
        called = name or function.__name__
        within = 0.0 if exact else bound
        opsets = _opsets(opset)
        made = Pass(called, _line(function), opsets, priority, after_rules, within, function)
        if register:
            functions.PASSES[called] = made
        return made

    return make if function is None else make(function)


class _Call:
    """Calls a function with the bindings of a pattern, by the names of its parameters."""

    def __init__(self, function: Callable[..., Any], *, takes_emitter: bool) -> None:
        parameters = list(inspect.signature(function).parameters.values())[int(takes_emitter) :]
        self.function = function
        self.all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        self.names = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]

    def _named(self, bindings: Mapping[str, Any]) -> dict[str, Any]:
        return dict(bindings) if self.all else {name: bindings[name] for name in self.names}

    def make(self, op: Any, bindings: Mapping[str, Any]) -> Any:
        """Build a replacement."""
        made = self.function(op, **self._named(bindings))
        if made is None:
            raise Refusal("its replacement returns nothing")
        return made

    def hold(self, bindings: Mapping[str, Any]) -> bool:
        """Ask a condition."""
        return bool(self.function(**self._named(bindings)))


def _check(name: str, function: Any, known: set[str], *, takes_emitter: bool) -> None:
    """Refuse a function with parameters that the pattern does not bind."""
    if not callable(function):
        raise TypeError(f"the rule `{name}` needs functions, and {function!r} is none")
    parameters = list(inspect.signature(function).parameters.values())
    if takes_emitter:
        if not parameters or parameters[0].name != "op":
            raise TypeError(f"the first parameter of the replacement of `{name}` is called `op`")
        parameters = parameters[1:]
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.kind in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.POSITIONAL_ONLY,
        ):
            raise TypeError(f"values that the rule `{name}` bound are passed by name")
        if parameter.name not in known and parameter.name not in _FURTHER:
            there = ", ".join(sorted(known))
            raise TypeError(
                f"the pattern of `{name}` binds no `{parameter.name}`; it binds {there}"
            )


def _line(function: Any) -> str:
    documentation = inspect.getdoc(function) or ""
    return documentation.partition("\n")[0]


def _opsets(opset: int | range) -> range:
    if isinstance(opset, int):
        return range(opset, _EVERY.stop)
    if opset.step != 1 or opset.start < 0 or opset.stop <= opset.start:
        raise ValueError("opsets are a range of versions, such as `range(18, 24)`")
    return range(opset.start, min(opset.stop, _EVERY.stop))
