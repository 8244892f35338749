"""Arguments of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch._export.serde import serialize
from torch.fx import GraphModule, Node

from onnxport._export.serde import facts
from onnxport._export.serde.facts import Json, UnknownError


class Scope(Protocol):
    """The context of an argument in the graph."""

    sym_ints: Mapping[str, Json]
    sym_floats: Mapping[str, Json]
    sym_bools: Mapping[str, Json]
    same: Mapping[str, str]

    def inner(self, module: GraphModule) -> Json:
        """Return a nested graph."""


def argument(scope: Scope, value: Any, type_: Any = None) -> Json:
    """Return an argument; `type_` is its type in the schema, which is needed for empty lists."""
    kind = type(value)
    if kind is Node:
        return _node(scope, value)
    if kind in _PLAIN:
        return {_PLAIN[kind]: value}
    if kind is float:
        return {"as_float": facts.number(value)}
    if value is None:
        return {"as_none": True}
    if isinstance(value, (list, tuple)):
        return _list(scope, value, type_)
    if isinstance(value, Mapping):
        if any(type(key) is not str for key in value):
            raise UnknownError(value)
        return {"as_string_to_argument": {k: argument(scope, one) for k, one in value.items()}}
    if kind is complex:
        parts = {"real": facts.number(value.real), "imag": facts.number(value.imag)}
        return {"as_complex": parts}
    if kind is torch.device:
        return {"as_device": {"type": value.type, "index": value.index}}
    for table, name in _NAMED:
        if isinstance(value, name[0]):
            if value not in table:
                raise UnknownError(value)
            return {name[1]: table[value].value}
    if isinstance(value, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
        return {"as_operator": operator(value)}
    raise UnknownError(value)


_PLAIN = {bool: "as_bool", int: "as_int", str: "as_string"}
_NAMED: tuple[tuple[Mapping[Any, Any], tuple[type, str]], ...] = (
    (serialize._TORCH_TO_SERIALIZE_DTYPE, (torch.dtype, "as_scalar_type")),
    (serialize._TORCH_TO_SERIALIZE_MEMORY_FORMAT, (torch.memory_format, "as_memory_format")),
    (serialize._TORCH_TO_SERIALIZE_LAYOUT, (torch.layout, "as_layout")),
)


def operator(target: Any) -> str:
    """Return the name of an operator."""
    module = target.__module__
    if module.startswith("torch._ops"):
        module = module.replace("torch._ops", "torch.ops")
    return f"{module}.{target.__name__}"


def _node(scope: Scope, node: Node) -> Json:
    name = node.name
    if node.op == "get_attr":
        module = getattr(node.graph.owning_module, node.target)
        if not isinstance(module, GraphModule):
            raise UnknownError(module)
        return {"as_graph": {"name": node.target, "graph": scope.inner(module)}}
    for names, kind in (
        (scope.sym_ints, "as_sym_int"),
        (scope.sym_floats, "as_sym_float"),
        (scope.sym_bools, "as_sym_bool"),
    ):
        if name in names:
            return {kind: {"as_name": name}}
    return {"as_tensor": _tensor(node, scope.same.get(name, name))}


def _tensor(node: Node, name: str | None = None) -> Json:
    if node.op == "get_attr" or not isinstance(node.meta.get("val"), torch.Tensor):
        raise UnknownError(node)
    return {"name": name or node.name}


def _list(scope: Scope, values: Sequence[Any], type_: Any) -> Json:
    kinds = {type(value) for value in values}
    if not kinds:
        return {_empty(type_): []}
    if len(kinds) == 1:
        kind = next(iter(kinds))
        if kind in _PLAIN:
            return {f"{_PLAIN[kind]}s": list(values)}
        if kind is float:
            return {"as_floats": [facts.number(value) for value in values]}
        if kind in _LISTS:
            return _nested(values)
    if not kinds <= {Node, int, float, bool, type(None)}:
        raise UnknownError(values)
    for names, kind, word, many in (
        (scope.sym_ints, int, "as_int", "as_sym_ints"),
        (scope.sym_floats, float, "as_float", "as_sym_floats"),
        (scope.sym_bools, bool, "as_bool", "as_sym_bools"),
    ):
        if all(
            value.name in names if type(value) is Node else type(value) is kind for value in values
        ):
            said = [
                {"as_name": value.name}
                if type(value) is Node
                else {word: facts.number(value) if kind is float else value}
                for value in values
            ]
            return {many: said}
    if kinds == {Node}:
        return {"as_tensors": [_tensor(value) for value in values]}
    if kinds <= {Node, type(None)}:
        nothing = {"as_none": True}
        said = [nothing if value is None else {"as_tensor": _tensor(value)} for value in values]
        return {"as_optional_tensors": said}
    raise UnknownError(values)


_LISTS = {list, tuple, torch.fx.immutable_collections.immutable_list}


def _nested(lists: Sequence[Sequence[Any]]) -> Json:
    kinds = {type(value) for values in lists for value in values}
    if kinds == {Node}:
        return {"as_nested_tensors": [[_tensor(value) for value in values] for values in lists]}
    if kinds == {int}:
        return {"as_int_lists": [list(values) for values in lists]}
    if kinds == {float}:
        return {"as_float_lists": [[facts.number(value) for value in one] for one in lists]}
    raise UnknownError(lists)


def _empty(type_: Any) -> str:
    """Return which kind of list the schema asks for, where there is nothing in it to tell."""
    if type_ is None:
        return "as_tensors"
    element = _inside(_inside(type_, torch.OptionalType), torch.ListType, required=True)
    element = _inside(element, torch.OptionalType)
    for kind, name in _EMPTY:
        if isinstance(element, kind):
            return name
    inner = _inside(element, torch.ListType, required=True)
    for kind, name in ((torch.IntType, "as_int_lists"), (torch.FloatType, "as_float_lists")):
        if isinstance(inner, kind):
            return name
    raise UnknownError(type_)


_EMPTY = (
    (torch.BoolType, "as_bools"),
    (torch.IntType, "as_ints"),
    (torch.FloatType, "as_floats"),
    (torch.StringType, "as_strings"),
    (torch.TensorType, "as_tensors"),
)


def _inside(type_: Any, kind: type, *, required: bool = False) -> Any:
    if isinstance(type_, kind):
        return type_.getElementType()
    if required:
        raise UnknownError(type_)
    return type_
