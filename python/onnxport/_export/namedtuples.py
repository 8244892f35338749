"""Names for the classes in arguments and results that the user did not give one."""

from __future__ import annotations

import contextlib
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import torch.utils._pytree as pytree
from torch.export import ExportedProgram


@contextlib.contextmanager
def registered(program: ExportedProgram) -> Iterator[None]:
    """Give the classes of named tuples in the program's calls a serializable name.

    PyTorch can flatten them, but has no name for them. Classes that the user registered keep
    theirs.
    """
    mine = [kind for kind in _classes(program) if kind not in pytree.SUPPORTED_SERIALIZED_TYPES]
    with contextlib.ExitStack() as stack:
        for number, kind in enumerate(mine):
            # Two classes of one name can be local ones.
            name = f"{kind.__module__}.{kind.__qualname__}"
            known = [f"{one.__module__}.{one.__qualname__}" for one in mine[:number]]
            name = f"{name}@{number}" if name in known else name
            pytree._register_namedtuple(kind, serialized_type_name=name)
            stack.callback(pytree._deregister_pytree_node, kind)
        for kind in _constants(program):
            stack.enter_context(_named(kind))
        yield


@contextlib.contextmanager
def _named(kind: Any) -> Iterator[None]:
    """Give a class of constants a serializable name, and its objects their text as contents."""
    known = pytree.SUPPORTED_SERIALIZED_TYPES
    before = known.get(kind)
    if before is not None and before.serialized_type_name != pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        yield
        return
    name = f"{kind.__module__}.{kind.__qualname__}"
    known[kind] = pytree._SerializeNodeDef(kind, name, repr, None)
    try:
        yield
    finally:
        if before is None:
            del known[kind]
        else:
            known[kind] = before


def _constants(program: ExportedProgram) -> set[Any]:
    """Return the classes in the program's calls whose objects PyTorch takes for constants."""
    is_constant = getattr(pytree, "is_constant_class", lambda _: False)
    signatures = (call.signature for call in program.module_call_graph)
    specs = (spec for one in signatures if one for spec in (one.in_spec, one.out_spec))
    return {kind for spec in specs for kind in _types(spec) if is_constant(kind)}


def _types(spec: Any) -> Iterator[Any]:
    if isinstance(spec.type, type):
        yield spec.type
    children = spec.children() if hasattr(spec, "children") else spec.children_specs
    for child in children:
        yield from _types(child)


def _classes(program: ExportedProgram) -> list[Any]:
    """Return the classes of named tuples, each once, in the order of the program."""
    found: dict[Any, None] = {}
    for call in program.module_call_graph:
        if call.signature is not None:
            for spec in (call.signature.in_spec, call.signature.out_spec):
                found.update(dict.fromkeys(_below(spec)))
    return list(found)


def _below(spec: Any) -> Iterator[Any]:
    if spec.type is namedtuple:
        yield spec.context
    children = spec.children() if hasattr(spec, "children") else spec.children_specs
    for child in children:
        yield from _below(child)
