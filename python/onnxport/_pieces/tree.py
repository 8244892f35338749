"""The result: a tree of the modules, with a verdict and an error for each."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from onnxport._diagnostics import Diagnostic

UNSEEN = "not looked at"
UNCALLED = "not called"


@dataclass(eq=False)
class Node:
    """A module.

    `verdict` is `agrees`, `disagrees`, `does not convert`, `is not captured`, `does not run`, `does
    not run by itself`, `not called` or `not looked at`. `reason` and `diagnostics` explain
    it. `max_abs_diff` and `max_rel_diff` are the largest differences from the module's results.
    `like` is the path of the module that was examined instead: it is the same, or equal.
    """

    path: str
    kind: str
    calls: int = 0
    verdict: str = UNSEEN
    reason: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    max_abs_diff: float | None = None
    max_rel_diff: float | None = None
    like: str | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def is_bad(self) -> bool:
        """Whether it does not convert, or computes something else."""
        return self.verdict not in ("agrees", UNSEEN, UNCALLED)

    @property
    def begins(self) -> bool:
        """Whether it fails, and no module in it fails: the fault begins here."""
        return self.is_bad and not any(inner.is_bad for inner in self.below())

    def below(self) -> Iterator[Node]:
        """Yield all nodes below, parents first."""
        for child in self.children:
            yield child
            yield from child.below()

    def record(self) -> dict[str, Any]:
        """Return the node and those below as JSON has them."""
        said: dict[str, Any] = {
            "path": self.path,
            "kind": self.kind,
            "calls": self.calls,
            "verdict": self.verdict,
            "reason": self.reason,
            "max_abs_diff": self.max_abs_diff,
            "max_rel_diff": self.max_rel_diff,
            "like": self.like,
            "begins": self.begins,
            "diagnostics": [dataclasses.asdict(one) for one in self.diagnostics],
        }
        return {**said, "children": [child.record() for child in self.children]}


@dataclass(frozen=True)
class Pieces:
    """The result: the tree, and the number of conversions."""

    root: Node
    conversions: int

    def __getitem__(self, path: str) -> Node:
        """Return the module at a path."""
        for node in self:
            if node.path == path:
                return node
        raise KeyError(path)

    def __iter__(self) -> Iterator[Node]:
        yield self.root
        yield from self.root.below()

    @property
    def ok(self) -> bool:
        """Whether the whole model converts and agrees."""
        return not self.root.is_bad

    @property
    def found(self) -> list[Node]:
        """The modules at fault: failing ones without failing submodules."""
        return [node for node in self if node.begins]

    def to_json(self) -> str:
        """Return the tree as JSON; numbers that JSON does not have are texts."""
        said = {
            "ok": self.ok,
            "conversions": self.conversions,
            "found": [node.path for node in self.found],
            "root": self.root.record(),
        }
        return json.dumps(_finite(said), allow_nan=False)

    def __str__(self) -> str:
        lines = list(_lines(self.root, 0))
        width = max(len(line) for line, _ in lines)
        rows = [f"{line:{width}}  {said}".rstrip() for line, said in lines]
        count = "1 conversion" if self.conversions == 1 else f"{self.conversions} conversions"
        return "\n".join([*rows, count])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from onnxport._pieces import html

        return html.page(self)


def said(node: Node) -> str:
    """Return the line about a module."""
    parts = [node.verdict]
    if node.max_abs_diff is not None:
        parts.append(
            f"absolute error up to {node.max_abs_diff:.2g}, relative {node.max_rel_diff:.2g}"
        )
    if node.reason:
        parts.append(node.reason)
    if node.like is not None:
        parts.append(f"as `{node.like}`")
    if node.begins:
        parts.append("starts here")
    return "; ".join(parts)


def seen(node: Node) -> tuple[list[Node], int]:
    """Return the children to show, and how many others were not looked at."""
    shown = [
        child
        for child in node.children
        if child.verdict != UNSEEN or any(inner.verdict != UNSEEN for inner in child.below())
    ]
    return shown, len(node.children) - len(shown)


def _lines(node: Node, depth: int) -> Iterator[tuple[str, str]]:
    name = f"{node.path or '(the model)'} ({node.kind})"
    yield "  " * depth + name, said(node)
    shown, others = seen(node)
    for child in shown:
        yield from _lines(child, depth + 1)
    if others and shown:
        yield "  " * (depth + 1) + f"{others} more", UNSEEN


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
