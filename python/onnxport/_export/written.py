"""Tensors that a program writes to and that its module does not have as parameters or buffers.

An example are those of a cache that the module keeps in an attribute. PyTorch makes each a
constant, also where the module has it as a buffer besides. Here they become buffers, whose values
a call continues from.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._export import places

OUTSIDE = "onnxport.written_outside"
"""In the `meta` of a graph that writes to tensors through other references than its buffers."""
_DEEPEST = 4
"""How many objects inside one another are searched for tensors, such as a cache and its layers."""


_LARGEST = 1 << 26
"""The size in bytes up to which a tensor is copied, to undo a write during the capture."""


@contextlib.contextmanager
def undone(module: torch.nn.Module) -> Iterator[None]:
    """Undo the writes of PyTorch to tensors in attributes while it captures `module`.

    It runs an operator without dynamic operands, such as `self.count.add_(1)`, and records it as
    well: the program would begin with the state after the first call.

    Raises:
        UnsupportedError: PyTorch writes to a tensor that is too large to be copied.
    """
    kept = [
        (name, tensor, tensor._version, tensor.clone() if tensor.nbytes <= _LARGEST else None)
        for name, tensor in _attributes(module)
    ]
    lost = []
    try:
        yield
    finally:
        for name, tensor, version, copy in kept:
            if tensor._version != version:
                if copy is None:
                    lost.append(name)
                else:
                    with unset_fake_temporarily(), torch.no_grad():
                        tensor.copy_(copy)
    if lost:
        raise _errors.UnsupportedError(diagnostics=[_lost(name) for name in lost])


def _attributes(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors in attributes of modules and of the objects there, with their paths."""
    registered = {id(one) for one in (*module.parameters(), *module.buffers())}
    stack = [(path, vars(part), 0) for path, part in module.named_modules()]
    seen: set[int] = set()
    while stack:
        path, held, depth = stack.pop()
        for name, value in held.items():
            if id(value) in seen or isinstance(value, torch.nn.Module):
                continue
            seen.add(id(value))
            own = f"{path}.{name}".removeprefix(".")
            if isinstance(value, torch.Tensor):
                if id(value) not in registered and _is_plain(value) and not value.is_inference():
                    yield own, value
            elif depth < _DEEPEST:
                stack.append((own, _parts(value), depth + 1))


def _parts(value: object) -> dict[object, object]:
    if isinstance(value, dict):
        return value
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    return getattr(value, "__dict__", {}) if type(value).__module__ != "builtins" else {}


def _lost(name: str) -> Diagnostic:
    message = f"PyTorch wrote to the tensor `{name}` while it captured the module"
    help = f"let it be a buffer: `self.register_buffer({name.rpartition('.')[2]!r}, ...)`"
    return Diagnostic("error", "OP210", message, help=help)


def as_buffers(program: ExportedProgram) -> None:
    """Declare written constants of `program` as buffers; those that are buffers become these.

    Raises:
        UnsupportedError: A written tensor is another view of one of the others.
    """
    merged: set[str] = set()
    states: set[str] = set()
    for name, node, same in _written(program):
        if same is None:
            states.add(name)
            continue
        node.replace_all_uses_with(same)
        program.graph.erase_node(node)
        del program.constants[name]
        merged.add(name)
    if not merged and not states:
        return
    program.graph_module.meta[OUTSIDE] = True
    program.graph_signature.input_specs[:] = [
        dataclasses.replace(spec, kind=InputKind.BUFFER, persistent=False)
        if spec.target in states
        else spec
        for spec in program.graph_signature.input_specs
        if spec.target not in merged
    ]
    program.graph_module.recompile()


def check(program: ExportedProgram) -> None:
    """Refuse written tensors that are another view of one of the others.

    Raises:
        UnsupportedError: There is one.
    """
    for _ in _written(program):
        pass


def _written(program: ExportedProgram) -> Iterator[tuple[str, Node, Node | None]]:
    """Yield written constants with their names, and the inputs that are the same tensors."""
    nodes = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    held = dict(_held(program, nodes))
    for spec in list(program.graph_signature.input_specs):
        if spec.kind is not InputKind.CONSTANT_TENSOR or spec.target is None:
            continue
        node, value = nodes[spec.arg.name], program.constants.get(spec.target)
        if not _is_plain(value):
            continue
        others = [one for one, tensor in held.items() if _overlap(value, tensor)]
        writes = [write for one in (node, *others) if (write := _write(one)) is not None]
        same = next((one for one in others if _is_same(value, held[one])), None)
        if others and writes and same is None:
            raise _refused(writes[0])
        if same is None:
            held[node] = value
        if writes:
            yield spec.target, node, same


def _held(
    program: ExportedProgram, nodes: Mapping[str, Node]
) -> Iterator[tuple[Node, torch.Tensor]]:
    """Yield the inputs that are parameters or buffers, with their values."""
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and spec.target is not None:
            is_kept = spec.kind is InputKind.PARAMETER or spec.persistent
            values = program.state_dict if is_kept else program.constants
            value = values.get(spec.target)
            if _is_plain(value):
                yield nodes[spec.arg.name], value


def _is_plain(value: object) -> bool:
    if type(value) not in (torch.Tensor, torch.nn.Buffer, torch.nn.Parameter):
        return False
    if value.layout is not torch.strided or value.numel() == 0:
        return False
    try:
        value.data_ptr()
    except RuntimeError:
        # A value of a transform, such as that of `torch.func.grad`.
        return False
    return True


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are the same memory, seen in the same way."""
    return (
        one.device == other.device
        and one.dtype is other.dtype
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.data_ptr() == other.data_ptr()
    )


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.device != other.device:
        return False
    (first, end), (start, last) = (
        (tensor.data_ptr(), tensor.data_ptr() + _extent(tensor)) for tensor in (one, other)
    )
    return first < last and start < end


def _extent(tensor: torch.Tensor) -> int:
    """Return the number of bytes from the first element to the end of the last one."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return (1 + sum((size - 1) * step for size, step in steps)) * tensor.element_size()


def _write(node: Node) -> Node | None:
    """Return an operator that writes to a value or to a view of it, None if there is none."""
    views, seen = [node], {node}
    while views:
        value = views.pop()
        for user in value.users:
            for is_write in _aliases(user, value):
                if is_write:
                    return user
                if user not in seen:
                    seen.add(user)
                    views.append(user)
    return None


def _aliases(user: Node, value: Node) -> Iterator[bool]:
    """Yield, for each use of `value` that the result shares memory with, whether it is written."""
    schema = getattr(user.target, "_schema", None)
    if schema is None:
        return
    names = [one.name for one in schema.arguments]
    given = {**dict(zip(names, user.args, strict=False)), **user.kwargs}
    for argument in schema.arguments:
        used = given.get(argument.name)
        uses = used if isinstance(used, (list, tuple)) else [used]
        if argument.alias_info is not None and any(one is value for one in uses):
            yield argument.alias_info.is_write


def _refused(write: Node) -> _errors.UnsupportedError:
    found = Diagnostic(
        "error",
        "OP201",
        "the program writes to a tensor that shares memory with another one of the module",
        **places.of_trace(write.meta.get("stack_trace")),
        help="let the module have it once: as a buffer, whose parts `forward` selects",
    )
    return _errors.UnsupportedError(diagnostics=[found])
