"""A call of an exported program: its leaves in order, and which of them a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind

from onnxport import _errors


def taken(program: ExportedProgram) -> list[int]:
    """Return the positions of the leaves that a model takes; others are part of the program."""
    specs = program.graph_signature.input_specs
    users = [spec.arg for spec in specs if spec.kind is InputKind.USER_INPUT]
    return [number for number, arg in enumerate(users) if not isinstance(arg, ConstantArgument)]


def names(program: ExportedProgram) -> list[str]:
    """Return the program's names for the inputs of the model, in order."""
    specs = program.graph_signature.input_specs
    users = [spec.arg for spec in specs if spec.kind is InputKind.USER_INPUT]
    return [arg.name for arg in users if not isinstance(arg, ConstantArgument)]


def output_count(program: ExportedProgram) -> int:
    """Return the number of flattened outputs, constant ones included."""
    return len(program.graph_signature.user_outputs)


def leaves(program: ExportedProgram, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the leaves of a call, which may name arguments that were positional in the trace.

    Raises:
        UsageError: The call has another structure than the traced one.
    """
    spec = program.call_spec.in_spec
    positional, named = pytree.tree_unflatten(range(spec.num_leaves), spec)
    given, rest = tuple(args), dict(kwargs)
    parameters = _parameters(program)
    for name in parameters[len(given) : len(positional)]:
        if name in rest:
            given = (*given, rest.pop(name))
    if len(given) > len(positional):
        surplus = given[len(positional) :]
        further = dict(zip(parameters[len(positional) :], surplus, strict=False))
        if len(further) == len(surplus) and not further.keys() & rest.keys():
            given, rest = given[: len(positional)], {**further, **rest}
    if len(given) != len(positional) or rest.keys() != named.keys():
        expected = ", ".join([f"{len(positional)} positional", *named])
        raise _errors.usage(f"the program takes other arguments: {expected}")
    given = tuple(_ordered(one, like) for one, like in zip(given, positional, strict=True))
    rest = {name: _ordered(rest[name], like) for name, like in named.items()}
    found, structure = pytree.tree_flatten((given, rest))
    if structure.num_leaves != spec.num_leaves:
        raise _errors.usage("the arguments do not have the structure of those that were traced")
    return found


def _ordered(value: Any, like: Any) -> Any:
    """Return a value whose dicts have their keys in the order of `like`, if they are the same."""
    if type(value) is dict and type(like) is dict and value.keys() == like.keys():
        return {key: _ordered(value[key], inner) for key, inner in like.items()}
    if type(value) in (list, tuple) and type(like) is type(value) and len(like) == len(value):
        return type(value)(_ordered(*pair) for pair in zip(value, like, strict=True))
    return value


def _parameters(program: ExportedProgram) -> list[str]:
    signature = program.module_call_graph[0].signature if program.module_call_graph else None
    return list(getattr(signature, "forward_arg_names", None) or ())


def numbers(outputs: Any) -> list[torch.Tensor]:
    """Return the outputs of a model: tensors and numbers, complex ones as pairs."""
    found = []
    for leaf in pytree.tree_leaves(outputs):
        if isinstance(leaf, (bool, int, float)):
            leaf = torch.tensor(leaf)
        if isinstance(leaf, torch.Tensor):
            found.append(torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf)
    return found


def copied(tree: Any) -> Any:
    """Return arguments whose tensors are copies: a call may write to them."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), tree)
