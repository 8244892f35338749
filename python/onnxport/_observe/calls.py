"""Recorded calls, by the parameters of the called function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree

from onnxport import _errors

Kind = inspect._ParameterKind
POSITIONAL = (Kind.POSITIONAL_ONLY, Kind.POSITIONAL_OR_KEYWORD)
SCALARS = (bool, int, float, str)


@dataclass(frozen=True)
class Call:
    """One call: its arguments by parameter, and its results.

    `positional` are the parameters with positional arguments.
    """

    arguments: dict[str, Any]
    positional: tuple[str, ...]
    outputs: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def copied(self) -> Call:
        """Return the call with copies of its tensors, which the model may change."""
        arguments = pytree.tree_map_only(
            torch.Tensor, lambda tensor: tensor.detach().clone(), self.arguments
        )
        return Call(arguments, self.positional)

    def leaves(self, name: str) -> list[Any] | None:
        """Return the leaves of an argument, None where it was not given or is empty."""
        value = self.arguments.get(name)
        if value is None or (
            not isinstance(value, (torch.Tensor, *SCALARS)) and not pytree.tree_leaves(value)
        ):
            return None
        return pytree.tree_leaves(value)


def record(
    signature: inspect.Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    missing: Mapping[str | int, Any],
) -> Call:
    """Return the call, with `missing` for arguments that it does not give.

    Arguments that are None, and numbers and texts that equal the defaults, count as not given.
    """
    parameters = list(signature.parameters.values())
    arguments = dict(signature.bind(*args, **kwargs).arguments)
    for key, value in missing.items():
        name = _name(key, parameters)
        if name in signature.parameters and arguments.get(name) is None:
            arguments[name] = value
        elif name not in signature.parameters:
            further = next(p.name for p in parameters if p.kind is Kind.VAR_KEYWORD)
            arguments[further] = {name: value, **arguments.get(further, {})}
    kept = {}
    for parameter in parameters:
        value = arguments.get(parameter.name)
        is_default = isinstance(value, SCALARS) and value == parameter.default
        given = sum(p.kind in POSITIONAL for p in parameters[: len(args)])
        by_place = parameter.kind in POSITIONAL and parameters.index(parameter) < given
        if value is None or (is_default and not by_place):
            continue
        kept[parameter.name] = value
    places = tuple(
        p.name for p in parameters[: len(args)] if p.kind in POSITIONAL and p.name in kept
    )
    return Call(kept, places)


def _name(key: str | int, parameters: Sequence[inspect.Parameter]) -> str:
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        raise TypeError(f"{key!r} is neither the name nor the position of an argument")
    names = [parameter.name for parameter in parameters]
    if isinstance(key, int):
        if not 0 <= key < len(names):
            raise _errors.usage(f"unknown argument {key}: the signature has {', '.join(names)}")
        return names[key]
    if key not in names and all(p.kind is not Kind.VAR_KEYWORD for p in parameters):
        raise _errors.usage(f"unknown argument `{key}`: the signature has {', '.join(names)}")
    return key
