"""The user's Python functions for conversions: registered ones, and those passed to one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxport import _native
    from onnxport._operators.rules import Pass, Rule

# The functions that decorators registered: lowerings by operator, each with whether it takes
# precedence over those of others and whether it takes complex tensors; rules and passes by name. A
# later one replaces an earlier one.
LOWERINGS: dict[str, tuple[Any, bool, bool]] = {}
RULES: dict[str, Rule] = {}
PASSES: dict[str, Pass] = {}


@dataclass(frozen=True)
class Custom:
    """The functions of one conversion: lowerings by operator, rules and passes."""

    table: Mapping[Any, Any] | None = None
    rules: tuple[Any, ...] = ()
    passes: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls,
        table: Mapping[Any, Any] | None = None,
        rules: Sequence[Any] = (),
        passes: Sequence[Any] = (),
    ) -> Custom:
        """Accept the user's functions."""
        if rules or passes:
            from onnxport._operators.rules import Pass, Rule

            for given, kind, decorator in (
                (rules, Rule, "@onnxport.rule"),
                (passes, Pass, "@onnxport.graph_pass"),
            ):
                for one in given:
                    if not isinstance(one, kind):
                        raise TypeError(f"{one!r} is not a result of `{decorator}`")
        return cls(table, tuple(rules), tuple(passes))

    def more(self, rules: Sequence[Any], passes: Sequence[Any]) -> Custom:
        """Return it with further rules and passes."""
        return Custom.of(self.table, (*self.rules, *rules), (*self.passes, *passes))


def collect(
    custom: Custom | None = None, called: set[str] | None = None
) -> _native.Functions | None:
    """Return the functions of a conversion, including the registered ones.

    Given functions take precedence over registered ones. Operators whose lowerings are called are
    added to `called`.
    """
    from onnxport import _native
    from onnxport._operators import registry

    custom = custom or Custom()
    lowerings = registry.given(custom.table, set() if called is None else called)
    rules = _named(custom.rules, RULES)
    passes = _named(custom.passes, PASSES)
    if not (lowerings or rules or passes):
        return None
    return _native.Functions(
        lowerings, [rule.given() for rule in rules], [one.given() for one in passes]
    )


def _named(given: Sequence[Any], registered: Mapping[str, Any]) -> list[Any]:
    chosen: dict[str, Any] = {}
    for one in given:
        if chosen.setdefault(one.name, one) is not one:
            raise ValueError(f"there are two rules or passes called `{one.name}`")
    return list({**chosen, **{k: v for k, v in registered.items() if k not in chosen}}.values())
