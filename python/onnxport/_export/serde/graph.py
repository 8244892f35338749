"""Graphs, and the calls in them."""

from __future__ import annotations

import inspect
import json
import math
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch._export.serde import serialize
from torch._export.serde.schema import ArgumentKind
from torch.fx import GraphModule, Node

from onnxport._export.serde import arguments
from onnxport._export.serde.arguments import argument
from onnxport._export.serde.facts import Facts, Json, UnknownError

_POSITIONAL, _KEYWORD = ArgumentKind.POSITIONAL.value, ArgumentKind.KEYWORD.value
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

# PyTorch's serializer does not write `sym_sum`.
_SYM_OPS = frozenset({*serialize._SYM_OPS, torch.sym_sum})


class Walk:
    """The state of a walk over a program with its nested graphs."""

    def __init__(self) -> None:
        self.facts = Facts()
        # Of several nodes that take the same result of a call, the first represents all.
        self.same: dict[str, str] = {}
        self._schemas: dict[Any, Schema] = {}

    def graph(self, module: GraphModule) -> Json:
        """Return a graph."""
        return Graph(self).walk(module)

    def schema(self, target: Any) -> Schema:
        """Return the schema of an overload."""
        found = self._schemas.get(target)
        if found is None:
            found = self._schemas[target] = Schema(target)
        return found


class Schema:
    """Facts about an overload's schema, cached because computing them is slow."""

    def __init__(self, target: Any) -> None:
        self.name = arguments.operator(target)
        schema = target._schema
        self.arguments = [(one.name, one.kwarg_only, one.type) for one in schema.arguments]
        self.returns = [one.real_type for one in schema.returns]

    @property
    def returns_list(self) -> bool:
        """Whether the only result is a list of tensors."""
        return len(self.returns) == 1 and _is_list_of_tensors(self.returns[0])


def _is_list_of_tensors(kind: Any) -> bool:
    return isinstance(kind, torch.ListType) and isinstance(kind.getElementType(), torch.TensorType)


class Graph:
    """A graph that is being walked."""

    def __init__(self, walk: Walk) -> None:
        self.walked = walk
        self.same = walk.same
        self.facts = walk.facts
        self.tensors: dict[str, Json] = {}
        self.sym_ints: dict[str, Json] = {}
        self.sym_floats: dict[str, Json] = {}
        self.sym_bools: dict[str, Json] = {}

    def inner(self, module: GraphModule) -> Json:
        """Return a nested graph, which knows none of the values of this one."""
        return self.walked.graph(module)

    def walk(self, module: GraphModule) -> Json:
        """Return the graph of a module."""
        inputs, nodes = [], []
        outputs: list[Json] = []
        is_single = False
        for node in module.graph.nodes:
            if node.op == "call_function":
                if node.target is not operator.getitem:
                    nodes.append(self._call(node))
            elif node.op == "placeholder":
                inputs.append(self._input(node))
            elif node.op == "output":
                is_single = isinstance(node.args[0], Node)
                given = node.args if is_single else node.args[0]
                outputs = [argument(self, one) for one in given]
            elif node.op != "get_attr":
                raise UnknownError(node)
        return {
            "inputs": inputs,
            "outputs": outputs,
            "nodes": nodes,
            "tensor_values": self.tensors,
            "sym_int_values": self.sym_ints,
            "sym_bool_values": self.sym_bools,
            "is_single_tensor_return": is_single,
            "custom_obj_values": {},
            "sym_float_values": self.sym_floats,
        }

    def _input(self, node: Node) -> Json:
        value = node.meta["val"]
        if isinstance(value, torch.Tensor):
            return {"as_tensor": self._tensor(node.name, value)}
        if isinstance(value, torch.SymInt):
            return self._value(node.name, value)
        if value is None or type(value) in (int, bool, str, float):
            return argument(self, value)
        raise UnknownError(value)

    def _call(self, node: Node) -> Json:
        target, value = node.target, node.meta.get("val")
        single = None
        if isinstance(value, _SYMBOLIC) or target in _SYM_OPS:
            name, inputs = self._symbolic(node)
            outputs = [self._value(node.name, value)]
        elif isinstance(target, torch._ops.OpOverload):
            schema = self.walked.schema(target)
            name, inputs = schema.name, list(self._given(schema, node))
            outputs = self._results(schema, node)
        elif isinstance(target, torch._ops.HigherOrderOperator) and target not in _SPECIAL:
            name = arguments.operator(target)
            inputs = [_named("", argument(self, one), _POSITIONAL) for one in node.args]
            inputs += [_named(n, argument(self, v), _KEYWORD) for n, v in node.kwargs.items()]
            outputs = self._results_of_higher(node)
            single = isinstance(value, torch.Tensor)
        else:
            raise UnknownError(target)
        return {
            "target": name,
            "inputs": inputs,
            "outputs": outputs,
            "metadata": _metadata(node),
            "is_hop_single_tensor_return": single,
            "name": node.name,
        }

    def _symbolic(self, node: Node) -> tuple[str, list[Json]]:
        target = node.target
        if node.kwargs:
            raise UnknownError(target)
        if isinstance(target, torch._ops.OpOverload):
            schema = self.walked.schema(target)
            name, names = schema.name, [one for one, *_ in schema.arguments]
        elif target in _SYM_OPS:
            name, names = arguments.operator(target), list(inspect.signature(target).parameters)
        else:
            raise UnknownError(target)
        if len(node.args) > len(names):
            raise UnknownError(target)
        pairs = zip(names, node.args, strict=False)
        return name, [_named(one, argument(self, value), _POSITIONAL) for one, value in pairs]

    def _given(self, schema: Schema, node: Node) -> Iterator[Json]:
        """Yield the arguments; those that have their default are not written."""
        args, kwargs = node.args, node.kwargs
        for place, (name, by_name, kind) in enumerate(schema.arguments):
            if name in kwargs:
                yield _named(name, argument(self, kwargs[name], kind), _KEYWORD)
            elif not by_name and place < len(args):
                yield _named(name, argument(self, args[place], kind), _POSITIONAL)

    def _results(self, schema: Schema, node: Node) -> list[Json]:
        if not schema.returns:
            return []
        values = node.meta["val"]
        if schema.returns_list:
            taken = self._taken(node)
            names = [self._name(node, taken, place) for place in range(len(values))]
            return [self._tensors(names, values)]
        if len(schema.returns) == 1:
            return [self._value(node.name, values)]
        taken = self._taken(node)
        results = []
        for place, (value, kind) in enumerate(zip(values, schema.returns, strict=False)):
            if value is None:
                results.append({"as_none": True})
            elif isinstance(value, list):
                if not _is_list_of_tensors(kind):
                    raise UnknownError(kind)
                names = self._names_of_list(node, taken, place, len(value))
                pairs = [pair for pair in zip(names, value, strict=True) if pair[1] is not None]
                results.append(self._tensors(*zip(*pairs, strict=True)) if pairs else _NO_TENSORS)
            else:
                results.append(self._value(self._name(node, taken, place), value))
        return results

    def _results_of_higher(self, node: Node) -> list[Json]:
        values = node.meta["val"]
        if isinstance(values, dict):
            raise UnknownError(values)
        if not isinstance(values, tuple):
            return [self._value(node.name, values)]
        taken = self._taken(node)
        results = []
        for place, value in enumerate(values):
            if isinstance(value, list):
                names = self._names_of_list(node, taken, place, len(value))
                results.append(self._tensors(names, value))
            else:
                results.append(self._value(self._name(node, taken, place), value))
        return results

    def _taken(self, node: Node) -> dict[Any, list[Node]]:
        """Return who takes each of several results."""
        taken: dict[Any, list[Node]] = {}
        for user in node.users:
            if user.target is not operator.getitem:
                raise UnknownError(user)
            taken.setdefault(user.args[1], []).append(user)
        return taken

    def _name(self, node: Node, taken: dict[Any, list[Node]], place: int) -> str:
        users = taken.get(place)
        if not users:
            return f"{node.name}_unused_{place}"
        first, *others = (user.name for user in users)
        self.same.update(dict.fromkeys(others, first))
        return first

    def _names_of_list(
        self, node: Node, taken: dict[Any, list[Node]], place: int, count: int
    ) -> list[str]:
        if place not in taken:
            return [f"{node.name}_unused_{place}_{inner}" for inner in range(count)]
        first, *others = taken[place]
        self.same.update(dict.fromkeys((other.name for other in others), first.name))
        inside = self._taken(first)
        return [self._name(first, inside, inner) for inner in range(count)]

    def _tensors(self, names: Iterable[str], values: Iterable[Any]) -> Json:
        return {"as_tensors": [self._tensor(*one) for one in zip(names, values, strict=True)]}

    def _tensor(self, name: str, value: Any) -> Json:
        if name in self.tensors or not isinstance(value, torch.Tensor):
            raise UnknownError(name)
        self.tensors[name] = self.facts.tensor(value)
        return {"name": name}

    def _value(self, name: str, value: Any) -> Json:
        """Declare a result, and return it."""
        if value is None:
            return {"as_none": True}
        if isinstance(value, torch.Tensor):
            return {"as_tensor": self._tensor(name, value)}
        if isinstance(value, (bool, torch.SymBool)):
            self.sym_bools[name] = self.facts.truth(value)
            return {"as_sym_bool": {"as_name": name}}
        if isinstance(value, (int, torch.SymInt)):
            self.sym_ints[name] = self.facts.size(value)
            return {"as_sym_int": {"as_name": name}}
        if isinstance(value, (float, torch.SymFloat)):
            if isinstance(value, float) and not math.isfinite(value):
                raise UnknownError(value)
            self.sym_floats[name] = self.facts.real(value)
            return {"as_sym_float": {"as_name": name}}
        raise UnknownError(value)


_NO_TENSORS: Json = {"as_tensors": []}

# Operators whose arguments and results have their own format.
_SPECIAL = (
    torch._higher_order_ops.aoti_call_delegate,
    torch._higher_order_ops.triton_kernel_wrap.triton_kernel_wrapper_functional,
)


def _named(name: str, value: Json, kind: int) -> Json:
    return {"name": name, "arg": value, "kind": kind}


def _metadata(node: Node) -> dict[str, str]:
    """Return the origin of a call."""
    meta, said = node.meta, {}
    if trace := meta.get("stack_trace"):
        said["stack_trace"] = trace
    if modules := meta.get("nn_module_stack"):
        found = (f"{key},{path},{kind}" for key, (path, kind) in modules.items())
        said["nn_module_stack"] = ";".join(found)
    if functions := meta.get("source_fn_stack"):
        names = (f"{one[0]},{_source(one[1])}" for one in functions)
        said["source_fn_stack"] = ";".join(names)
    if function := meta.get("torch_fn"):
        said["torch_fn"] = ";".join(function)
    if custom := meta.get("custom"):
        said["custom"] = _dumped(custom)
    if "from_node" in meta:
        sources = meta["from_node"]
        kind = torch.fx.traceback.NodeSource
        listed = sources and [one.to_dict() for one in sources if isinstance(one, kind)]
        said["from_node"] = _dumped(listed)
    return said


def _source(target: Any) -> str:
    return target if isinstance(target, str) else arguments.operator(target)


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise UnknownError(value) from error
