"""Finds a smaller graph with the same failure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from tests.python.generated.graphs.graph import Block, Graph, Node, Value
from tests.python.generated.shrink import smallest


def shrink(graph: Graph, fails: Callable[[Graph], bool], most: int = 150) -> Graph:
    """Return the smallest graph found for which `fails` is true, in at most so many tries."""
    return smallest(graph, _smaller, fails, most)


def _smaller(graph: Graph) -> Iterator[Graph]:
    """Yield simpler graphs, those that lose most first."""
    if len(graph.outputs) > 1:
        for name in graph.outputs:
            yield graph.replace(outputs=(name,)).pruned()
    # An earlier value in place of the result.
    (last, *_) = graph.outputs
    for node in reversed(graph.nodes):
        for name in node.outputs:
            if name != last and name in graph.values:
                yield graph.replace(outputs=(name,)).pruned()
    for index in reversed(range(len(graph.nodes))):
        yield from _without(graph, index)
    for name, array in graph.constants.items():
        simple = np.full_like(array, array.reshape(-1)[0]) if array.size else array
        if array.dtype.kind != "i" and not np.array_equal(simple, array, equal_nan=True):
            yield graph.replace(constants={**graph.constants, name: simple})
    yield from _static(graph)


def _without(graph: Graph, index: int) -> Iterator[Graph]:
    """Yield graphs without a node: with an operand or an input in place of its results."""
    node = graph.nodes[index]
    if any(name not in graph.values for name in node.outputs):
        return
    nodes = (*graph.nodes[:index], *graph.nodes[index + 1 :])
    earlier = [*graph.inputs, *(name for one in graph.nodes[:index] for name in one.outputs)]
    if len(node.outputs) == 1:
        (own,) = node.outputs
        kind = graph.values[own].type()
        for other in dict.fromkeys([*(x for x in node.inputs if x in earlier), *earlier]):
            if other in graph.values and graph.values[other].type() == kind:
                changed = graph.replace(nodes=tuple(_renamed(one, own, other) for one in nodes))
                outputs = tuple(other if one == own else one for one in graph.outputs)
                if not set(outputs) <= set(graph.inputs):
                    yield changed.replace(outputs=tuple(dict.fromkeys(outputs))).pruned()
                break
    # Inputs must have dimensions that have a name.
    declared = {dim for value in graph.inputs.values() for dim in value.dims}
    values = {name: graph.values[name] for name in node.outputs}
    is_simple = all(
        dim in declared or len(set(dim)) == 1 for value in values.values() for dim in value.dims
    )
    if is_simple and not set(node.outputs) & set(graph.outputs):
        inputs = {**graph.inputs, **{name: _plain(value) for name, value in values.items()}}
        yield graph.replace(nodes=nodes, inputs=inputs).pruned()


def _plain(value: Value) -> Value:
    return dataclasses.replace(value, most=2.0, exact=True)


def _static(graph: Graph) -> Iterator[Graph]:
    """Yield the graph at one of its sizes."""
    if all(len(set(dim)) == 1 for value in graph.inputs.values() for dim in value.dims):
        return
    for at in (0, 2, 1, 3):
        values = {
            name: dataclasses.replace(
                value, dims=tuple((dim[at],) * len(dim) for dim in value.dims)
            )
            for name, value in graph.values.items()
        }
        yield graph.replace(values=values, inputs={name: values[name] for name in graph.inputs})


def _renamed(node: Node, old: str, new: str) -> Node:
    """Return a node with another operand, also in its blocks."""
    attributes = {
        name: dataclasses.replace(
            value,
            nodes=tuple(_renamed(one, old, new) for one in value.nodes),
            outputs=tuple((new if one == old else one, *rest) for one, *rest in value.outputs),
        )
        if isinstance(value, Block)
        else value
        for name, value in node.attributes.items()
    }
    inputs = tuple(new if name == old else name for name in node.inputs)
    return dataclasses.replace(node, inputs=inputs, attributes=attributes)
