"""Tensors that a nested graph holds, as constants of the program.

PyTorch lifts the tensors of the main graph, but not those of the graphs of `cond`, `while_loop`
and the like, and then does not serialize the program. Here they become operands.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import GraphModule, Node

from onnxport._export.programs import with_graph

_HIGHER = torch.ops.higher_order

# The position of the operands that all graphs of a call take last.
_OPERANDS = {
    _HIGHER.cond: 3,
    _HIGHER.while_loop: 3,
    _HIGHER.map_impl: 2,
    _HIGHER.scan: 3,
    _HIGHER.associative_scan: 2,
}


def lifted(program: ExportedProgram) -> ExportedProgram:
    """Return the program without tensors in nested graphs, or `program` itself without any."""
    main = program.graph_module
    parts = (one for one in main.modules() if isinstance(one, GraphModule) and one is not main)
    if not any(_tensors(part) for part in parts):
        return program
    return _Lifting(program).program()


class _Lifting:
    """A copy of a program whose nested tensors become constants."""

    def __init__(self, program: ExportedProgram) -> None:
        self.given = program
        self.module = copy.deepcopy(program.graph_module)
        self.constants = dict(program.constants)
        self.placeholders = self.module.graph.find_nodes(op="placeholder")
        values = [node.meta.get("val") for node in self.placeholders]
        self.fake = detect_fake_mode([one for one in values if one is not None])
        # The inputs for tensors, by the identity of these, and their declarations.
        self.inputs: dict[int, Node] = {}
        self.specs: list[InputSpec] = []
        # Several calls may share a graph.
        self.done: dict[int, list[torch.Tensor]] = {}

    def program(self) -> ExportedProgram:
        """Return the changed program."""
        given = self.given
        specs = list(given.graph_signature.input_specs)
        is_given = (at for at, one in enumerate(specs) if one.kind is InputKind.USER_INPUT)
        at = next(is_given, len(specs))
        self.before = list(self.module.graph.nodes)[at]
        for call in _calls(self.module):
            extend(call, [self.input(one) for one in self.taken_out(self.module, call)])
        self.module.recompile()
        inputs = [*specs[:at], *self.specs, *specs[at:]]
        signature = dataclasses.replace(given.graph_signature, input_specs=inputs)
        return with_graph(given, self.module, signature=signature, constants=self.constants)

    def input(self, tensor: torch.Tensor) -> Node:
        """Return the input of the main graph for a tensor."""
        if id(tensor) not in self.inputs:
            number = len(self.constants)
            while (name := f"lifted_tensor_{number}") in self.constants:
                number += 1
            self.constants[name] = tensor
            with self.module.graph.inserting_before(self.before):
                node = self.placeholder(self.module, f"c_{name}", tensor)
            argument = TensorArgument(name=node.name)
            self.specs.append(InputSpec(InputKind.CONSTANT_TENSOR, argument, name))
            self.inputs[id(tensor)] = node
        return self.inputs[id(tensor)]

    def placeholder(self, module: GraphModule, name: str, tensor: torch.Tensor) -> Node:
        """Return a new input of a graph at the point of insertion."""
        node = module.graph.placeholder(name)
        node.meta["val"] = self.fake.from_tensor(tensor, static_shapes=True)
        return node

    def taken_out(self, module: GraphModule, call: Node) -> list[torch.Tensor]:
        """Make operands of the tensors in the graphs of a call, and return these tensors."""
        attributes = (one for one in call.args if isinstance(one, Node) and one.op == "get_attr")
        found = (_attribute(module, one) for one in attributes)
        graphs = list(dict.fromkeys(one for one in found if isinstance(one, GraphModule)))
        if not graphs or id(graphs[0]) in self.done:
            return self.done[id(graphs[0])] if graphs else []
        tensors: list[torch.Tensor] = []
        counts = []
        for graph in graphs:
            for tensor in tensors:
                self.last(graph, tensor)
            tensors += self.operands(graph)
            counts.append(len(tensors))
        for graph, count in zip(graphs, counts, strict=True):
            for tensor in tensors[count:]:
                self.last(graph, tensor)
            graph.recompile()
        self.done[id(graphs[0])] = tensors
        return tensors

    def operands(self, graph: GraphModule) -> list[torch.Tensor]:
        """Make inputs of the tensors in a nested graph and in those within, and return them."""
        found: list[torch.Tensor] = []
        for node in _tensors(graph):
            tensor = _attribute(graph, node)
            node.replace_all_uses_with(self.last(graph, tensor))
            graph.graph.erase_node(node)
            found.append(tensor)
        for call in _calls(graph):
            inner = self.taken_out(graph, call)
            extend(call, [self.last(graph, tensor) for tensor in inner])
            found += inner
        return found

    def last(self, graph: GraphModule, tensor: torch.Tensor) -> Node:
        """Return a new last input of a nested graph."""
        count = len(graph.graph.find_nodes(op="placeholder"))
        first = next(node for node in graph.graph.nodes if node.op != "placeholder")
        with graph.graph.inserting_before(first):
            return self.placeholder(graph, f"lifted_{count}", tensor)


def extend(call: Node, operands: list[Node]) -> None:
    """Append operands to a call."""
    if not operands:
        return
    if call.target is _HIGHER.invoke_subgraph:
        call.args = (*call.args, *operands)
        return
    at = _OPERANDS[call.target]
    before = tuple(call.args[at]) if at < len(call.args) else ()
    call.args = (*call.args[:at], (*before, *operands), *call.args[at + 1 :])


def _calls(module: GraphModule) -> list[Node]:
    """Return the calls whose graphs take operands."""
    targets = (_HIGHER.invoke_subgraph, *_OPERANDS)
    find = module.graph.find_nodes
    return [node for one in targets for node in find(op="call_function", target=one)]


def _tensors(module: GraphModule) -> list[Node]:
    """Return the nodes that read a tensor of the module itself."""
    nodes = module.graph.find_nodes(op="get_attr")
    return [node for node in nodes if isinstance(_attribute(module, node), torch.Tensor)]


def _attribute(module: GraphModule, node: Node) -> Any:
    value: Any = module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value
