"""From the arguments of a call to those of the function that lowers it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnxport._operators.refusal import Refusal

_MISSING = inspect.Parameter.empty


@dataclass(frozen=True)
class Formal:
    """An argument in an operator's schema."""

    keyword_only: bool
    default: Any = _MISSING

    def is_default(self, value: Any) -> bool:
        """Whether `value` is the operator's default."""
        if self.default is _MISSING or isinstance(value, bool) != isinstance(self.default, bool):
            return False
        return type(value) is type(self.default) and bool(value == self.default)


class Binder:
    """Binds the arguments of a call to a function by position, or by name as PyTorch does.

    Arguments without a parameter in the function must equal the operator's default: otherwise the
    result would be a different one.
    """

    def __init__(self, function: Callable[..., Any], skip: int) -> None:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
        kinds = {parameter.kind for parameter in parameters}
        self.any_place = inspect.Parameter.VAR_POSITIONAL in kinds
        self.any_name = inspect.Parameter.VAR_KEYWORD in kinds
        by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.places = [p.name for p in parameters if p.kind in by_place]
        self.names = {
            p.name
            for p in parameters
            if p.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        }

    def bind(
        self, formals: Mapping[str, Formal], names: Sequence[str], values: Sequence[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for name, value in zip(names, values, strict=True):
            formal = formals.get(name, Formal(keyword_only=False))
            is_free = len(positional) < len(self.places)
            if not formal.keyword_only and (is_free or self.any_place):
                positional.append(value)
            elif name and (name in self.names or self.any_name):
                keywords[name] = value
            elif not formal.is_default(value):
                which = name or len(positional)
                raise Refusal(
                    f"its lowering takes no `{which}`, and the call gives {value!r}",
                    help="add the parameter to the lowering",
                )
        return positional, keywords
