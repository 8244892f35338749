"""Calls that neither PyTorch's serializer nor a lowering knows, as calls that both know."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from onnxport._export.programs import with_graph

_HIGHER, _ATEN = torch.ops.higher_order, torch.ops.aten


def rewritten(program: ExportedProgram) -> ExportedProgram:
    """Return the program with known calls only, or `program` itself where it has no others."""
    if not any(_rule(node) for part in _parts(program.graph_module) for node in part.graph.nodes):
        return program
    module = copy.deepcopy(program.graph_module)
    for part in _parts(module):
        for node in list(part.graph.nodes):
            if rule := _rule(node):
                with part.graph.inserting_before(node):
                    rule(part, node)
        part.recompile()
    return with_graph(program, module)


def _parts(module: GraphModule) -> list[GraphModule]:
    return [part for part in module.modules() if isinstance(part, GraphModule)]


def _rule(node: Node) -> Callable[[GraphModule, Node], None] | None:
    if node.op != "call_function":
        return None
    if node.target is _ATEN._to_copy.default and not isinstance(node.args[0], Node):
        return _number
    return _RULES.get(node.target)


def _number(part: GraphModule, node: Node) -> None:
    """Rewrite `_to_copy` of a number, which `vmap` leaves, to a tensor with that number."""
    dtype = node.kwargs.get("dtype") or node.meta["val"].dtype
    node.target, node.args, node.kwargs = _ATEN.scalar_tensor.default, node.args, {"dtype": dtype}


def _rounded(part: GraphModule, node: Node) -> None:
    """Rewrite `round` of a number to that of a tensor, which rounds ties to even as well."""
    value, *digits = node.args
    if any(one is not None for one in digits) or not isinstance(node.meta["val"], torch.SymInt):
        return
    whole = {"dtype": torch.int64}
    tensor = _call(part, _ATEN.scalar_tensor.default, (value,), {"dtype": torch.float64}, node)
    even = _call(part, _ATEN.round.default, (tensor,), {}, node)
    integer = _call(part, _ATEN._to_copy.default, (even,), whole, node)
    node.target, node.args = _ATEN.item.default, (integer,)


def _call(part: GraphModule, target: Any, args: Any, kwargs: dict[str, Any], origin: Node) -> Node:
    """Return a new call whose result is a tensor without axes."""
    node = part.graph.call_function(target, args, kwargs)
    node.meta = {name: value for name, value in origin.meta.items() if name != "unbacked_bindings"}
    dtype = kwargs.get("dtype") or args[0].meta["val"].dtype
    node.meta["val"] = _fake(part).from_tensor(torch.empty((), dtype=dtype), static_shapes=True)
    return node


def _fake(part: GraphModule) -> Any:
    values = [node.meta.get("val") for node in part.graph.nodes]
    return detect_fake_mode([one for one in values if one is not None])


def _inlined(part: GraphModule, node: Node) -> None:
    """Rewrite `invoke_quant_packed`, a request to a compiler, to the graph that it calls."""
    graph, *operands = node.args
    node.target, node.kwargs = _HIGHER.invoke_subgraph, {}
    node.args = (graph, str(graph), *operands)


def _product(part: GraphModule, node: Node) -> None:
    """Rewrite `flex_gemm`, another one, in the same way: the product is in the graph."""
    _, graph, operands, named, _ = node.args
    if not named:
        node.target, node.args = _HIGHER.invoke_subgraph, (graph, str(graph), *operands)


def _switched(part: GraphModule, node: Node) -> None:
    """Rewrite `switch`, whose index is in range, to conditions on the index."""
    index, branches, operands = node.args
    graphs = [getattr(part, str(one.target)) for one in branches]
    operands = (*operands, index)
    values = [one.meta["val"] for one in operands]
    for graph in graphs:
        _placeholder(graph, index.meta["val"])
        graph.recompile()
    *firsts, rest = graphs
    for number in reversed(range(1, len(firsts))):
        around = GraphModule(torch.nn.Module(), Graph())
        inputs = [_placeholder(around, value) for value in values]
        call = _condition(around, number, firsts[number], rest, inputs, node)
        results = []
        for at, value in enumerate(node.meta["val"]):
            results.append(around.graph.call_function(operator.getitem, (call, at)))
            results[-1].meta["val"] = value
        around.graph.output(tuple(results))
        around.recompile()
        rest = around
    found = _condition(part, 0, firsts[0], rest, operands, node)
    node.replace_all_uses_with(found)
    part.graph.erase_node(node)
    for one in branches:
        if not one.users:
            part.graph.erase_node(one)


def _condition(
    part: GraphModule,
    number: int,
    one: GraphModule,
    other: GraphModule,
    operands: Any,
    origin: Node,
) -> Node:
    """Return a call of `one` if the last operand is `number`, else of `other`."""
    test = part.graph.call_function(_ATEN.eq.Scalar, (operands[-1], number))
    index = operands[-1].meta["val"]
    test.meta = {**origin.meta, "val": index.new_empty(index.shape, dtype=torch.bool)}
    graphs = []
    for graph in (one, other):
        name = next(n for at in itertools.count() if not hasattr(part, n := f"switch_graph_{at}"))
        setattr(part, name, graph)
        graphs.append(part.graph.get_attr(name))
    call = part.graph.call_function(_HIGHER.cond, (test, *graphs, tuple(operands)))
    call.meta = dict(origin.meta)
    return call


def _placeholder(graph: GraphModule, value: Any) -> Node:
    """Return a new last input."""
    name = f"operand_{len(graph.graph.find_nodes(op='placeholder'))}"
    first = next((node for node in graph.graph.nodes if node.op != "placeholder"), None)
    if first is None:
        node = graph.graph.placeholder(name)
    else:
        with graph.graph.inserting_before(first):
            node = graph.graph.placeholder(name)
    node.meta["val"] = value
    return node


_RULES: dict[Any, Callable[[GraphModule, Node], None]] = {
    round: _rounded,
    **{
        getattr(_HIGHER, name): rule
        for name, rule in {
            "switch": _switched,
            "invoke_quant_packed": _inlined,
            "flex_gemm": _product,
        }.items()
        if hasattr(_HIGHER, name)
    },
}
