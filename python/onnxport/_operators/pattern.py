"""Patterns written as functions: the result becomes the text of a rule's pattern.

A function takes `op` and its own parameters, which match anything: values if they are used as
operands, attributes if they are used as attributes. `docs/optimizer-plugins.md` has the grammar of
the texts.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

# Verbs that are one operator applied to their operands, as in lowerings.
_SIMPLE = """
    Abs Neg Exp Log Sqrt Reciprocal Sigmoid Tanh Erf Floor Ceil Round Sign Relu Identity
    Add Sub Mul Div Pow Equal Less Greater Xor Max Min MatMul
"""
_VERBS = {
    **{name.lower(): name for name in _SIMPLE.split()},
    "is_nan": "IsNaN",
    "less_equal": "LessOrEqual",
    "greater_equal": "GreaterOrEqual",
    "not_": "Not",
    "and_": "And",
    "or_": "Or",
    "select": "Where",
}


class Term:
    """A part of a pattern. Operators on it match the nodes that they emit in a lowering."""

    def __add__(self, other: Any) -> Node:
        return Node("Add", (self, other))

    def __radd__(self, other: Any) -> Node:
        return Node("Add", (other, self))

    def __sub__(self, other: Any) -> Node:
        return Node("Sub", (self, other))

    def __rsub__(self, other: Any) -> Node:
        return Node("Sub", (other, self))

    def __mul__(self, other: Any) -> Node:
        return Node("Mul", (self, other))

    def __rmul__(self, other: Any) -> Node:
        return Node("Mul", (other, self))

    def __truediv__(self, other: Any) -> Node:
        return Node("Div", (self, other))

    def __rtruediv__(self, other: Any) -> Node:
        return Node("Div", (other, self))

    def __pow__(self, other: Any) -> Node:
        return Node("Pow", (self, other))

    def __rpow__(self, other: Any) -> Node:
        return Node("Pow", (other, self))

    def __matmul__(self, other: Any) -> Node:
        return Node("MatMul", (self, other))

    def __and__(self, other: Any) -> Node:
        return Node("And", (self, other))

    def __or__(self, other: Any) -> Node:
        return Node("Or", (self, other))

    def __xor__(self, other: Any) -> Node:
        return Node("Xor", (self, other))

    def __lt__(self, other: Any) -> Node:
        return Node("Less", (self, other))

    def __le__(self, other: Any) -> Node:
        return Node("LessOrEqual", (self, other))

    def __gt__(self, other: Any) -> Node:
        return Node("Greater", (self, other))

    def __ge__(self, other: Any) -> Node:
        return Node("GreaterOrEqual", (self, other))

    def __neg__(self) -> Node:
        return Node("Neg", (self,))

    def __invert__(self) -> Node:
        return Node("Not", (self,))

    def __abs__(self) -> Node:
        return Node("Abs", (self,))

    def __bool__(self) -> bool:
        raise TypeError("a pattern decides nothing: give the rule a condition, `where=`")

    def parts(self) -> Iterator[Any]:
        """Yield the parts of the term."""
        yield from ()


@dataclass(frozen=True, eq=False)
class Plain(Term):
    """A term without parts: a variable, a number, anything."""

    text: str


@dataclass(frozen=True, eq=False)
class Around(Term):
    """A term with a prefix or a suffix."""

    before: str
    inner: Any
    behind: str = ""

    def parts(self) -> Iterator[Any]:
        """Yield the parts of the term."""
        yield self.inner


@dataclass(frozen=True, eq=False)
class Either(Term):
    """The first of several terms that fits."""

    terms: tuple[Any, ...]

    def parts(self) -> Iterator[Any]:
        """Yield the parts of the term."""
        yield from self.terms


@dataclass(frozen=True, eq=False)
class Node(Term):
    """A node, and the first value that it makes."""

    op: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: str = ""
    name: str = ""

    def __getitem__(self, output: int) -> Output:
        """Return another output of the node."""
        return Output(self, output)

    # A node can be indexed, but is not a sequence.
    __iter__ = None

    def parts(self) -> Iterator[Any]:
        """Yield the parts of the term."""
        yield from self.operands
        yield from self.attributes.values()


@dataclass(frozen=True, eq=False)
class Output(Term):
    """An output of a node."""

    node: Node
    index: int

    def parts(self) -> Iterator[Any]:
        """Yield the parts of the term."""
        yield self.node


class Builder:
    """The builder of a pattern: operators, verbs, and constructs that only patterns have.

    `op.Conv(x, w, ...)` matches a node; three dots allow inputs and attributes that are not
    mentioned.
    """

    anything = Plain("_")
    """Any value, which gets no name."""

    def const(self, x: Term) -> Term:
        """Match `x` where it is an initializer."""
        return Around("const ", x)

    def optional(self, x: Any) -> Term:
        """Match an input, or an attribute, that may be left out."""
        return Around("", x, "?")

    def number(self, value: float, *, within: float = 0.0) -> Term:
        """Match a constant that is this number, or differs from it by `within` at most."""
        return Plain(f"{_number(value)} ~ {_number(within)}" if within else _number(value))

    def each(self, *operands: Any) -> Node:
        """Match an elementwise operator over `x`, or a broadcasting one over exactly these.

        Further inputs of an elementwise operator are scalars; attributes are any.
        """
        return Node("each", operands)

    def view(self, x: Any) -> Node:
        """Match an operator that only changes the shape of `x`."""
        return Node("view", (x,))

    def reduce(self, *operands: Any) -> Node:
        """Match a reduction of `x`, and its axes where they are given."""
        return Node("reduce", operands)

    def maybe(self, node: Node) -> Term:
        """Match the node, or its first operand alone."""
        return Around("maybe ", node)

    def shared(self, node: Node) -> Term:
        """Match a node whose outputs others may read as well."""
        return Around("shared ", node)

    def ordered(self, node: Node) -> Term:
        """Match the first two operands in this order only."""
        return Around("ordered ", node)

    def commutative(self, node: Node) -> Term:
        """Match the first two operands in either order."""
        return Around("commutative ", node)

    def either(self, *terms: Term) -> Term:
        """Match the first of several terms that fits."""
        return Either(terms)

    def named(self, name: str, node: Node) -> Node:
        """Name a node for conditions and replacements."""
        return Node(node.op, node.operands, node.attributes, node.domain, name)

    def shaped(self, x: Term, extents: Sequence[Any]) -> Term:
        """Match a value of this shape: numbers, names, `None` for any, `...` for several."""
        return Around("", x, f": [{', '.join(map(_extent, extents))}]")

    def custom(self, domain: str, name: str, *operands: Any, **attributes: Any) -> Node:
        """Match a node of another domain's operator."""
        return Node(name, operands, attributes, domain)

    def cast(self, x: Any, dtype: Any) -> Node:
        """Match a cast to a type, or to one that a parameter matches."""
        from onnxport._operators import dtype as types

        return Node("Cast", (x,), {"to": dtype if isinstance(dtype, Term) else types.number(dtype)})

    def __getattr__(self, name: str) -> Callable[..., Node]:
        if name.startswith("_") or not (name[:1].isupper() or name in _VERBS):
            raise AttributeError(f"a pattern has no verb `{name}`; operators begin with a capital")

        def make(*operands: Any, **attributes: Any) -> Node:
            return Node(_VERBS.get(name, name), operands, attributes)

        return make


def text(function: Callable[..., Any]) -> str:
    """Return the text of the pattern that a function builds."""
    parameters = list(inspect.signature(function).parameters.values())
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not parameters or parameters[0].name != "op":
        raise TypeError("the first parameter of a pattern is called `op`")
    if any(parameter.kind not in plain for parameter in parameters):
        raise TypeError("the parameters of a pattern have names")
    names = [parameter.name for parameter in parameters[1:]]
    variables = {name: Plain(name) for name in names}
    made = function(Builder(), **variables)
    roots = list(made) if isinstance(made, (tuple, list)) else [made]
    return _Printer(set(names)).pattern(roots)


class _Printer:
    """Prints terms. A node that is used several times, or has a name, is printed separately."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.kept: list[Any] = []

    def pattern(self, roots: list[Any]) -> str:
        counts: dict[int, int] = {}
        order: list[Any] = []
        for root in roots:
            self._count(root, counts, order, 0)
        for term in order:
            if isinstance(term, Node) and (term.name or counts[id(term)] > 1):
                self._part(term)
        said = [self.term(root) for root in roots]
        whole = said[0] if len(said) == 1 else f"({', '.join(said)})"
        return "".join(self.lines) + whole

    def _count(self, term: Any, counts: dict[int, int], order: list[Any], depth: int) -> None:
        if not isinstance(term, Term):
            return
        counts[id(term)] = counts.get(id(term), 0) + 1
        if counts[id(term)] > 1:
            return
        if depth > 64:
            raise ValueError("a pattern is nested deeper than 64")
        for part in term.parts():
            self._count(part, counts, order, depth + 1)
        order.append(term)

    def _part(self, node: Node) -> None:
        name = node.name
        if not name:
            number = len(self.lines) + 1
            while f"part{number}" in self.taken:
                number += 1
            name = f"part{number}"
        elif name in self.taken or not name.isidentifier():
            raise ValueError(f"`{name}` cannot be the name of a node")
        self.taken.add(name)
        line = f"let {name} = {self.node(node)}; "
        self.names[id(node)] = name
        self.lines.append(line)

    def term(self, term: Any) -> str:
        """Print an operand."""
        if term is Ellipsis:
            return ".."
        if isinstance(term, bool) or not isinstance(term, (Term, int, float)):
            raise TypeError(f"a pattern holds {term!r}, which is neither a term nor a number")
        if isinstance(term, (int, float)):
            return _number(term)
        if id(term) in self.names:
            return self.names[id(term)]
        if isinstance(term, Node):
            return self.node(term)
        if isinstance(term, Output):
            return f"{self.term(term.node)}.{term.index}"
        if isinstance(term, Either):
            return f"({' | '.join(map(self.term, term.terms))})"
        if isinstance(term, Around):
            if term.before and id(term.inner) in self.names:
                raise ValueError(
                    f"`{term.before.strip()}` is around a node that is used elsewhere:"
                    " use its result there as well"
                )
            return f"{term.before}{self.term(term.inner)}{term.behind}"
        return term.text

    def node(self, node: Node) -> str:
        """Print a node."""
        domain = f"{json.dumps(node.domain)}::" if node.domain else ""
        parts = [self.term(operand) for operand in node.operands if operand is not Ellipsis]
        parts += [f"{name} = {self.attribute(value)}" for name, value in node.attributes.items()]
        if any(operand is Ellipsis for operand in node.operands):
            parts.append("..")
        return f"{domain}{node.op}({', '.join(parts)})"

    def attribute(self, value: Any) -> str:
        """Print the constraint on an attribute."""
        if isinstance(value, Around) and value.behind == "?":
            return f"{self.attribute(value.inner)}?"
        if isinstance(value, Plain):
            return value.text
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(_number, value))}]"
        if isinstance(value, (int, float)):
            return _number(value)
        raise TypeError(f"an attribute cannot be {value!r}: a number, a text, a list, a parameter")


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{value!r} is not a number of a pattern")
    return repr(value)


def _extent(extent: Any) -> str:
    if extent is Ellipsis:
        return ".."
    return "_" if extent is None else str(extent)
