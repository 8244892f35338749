"""An exported program in its form for Rust: JSON, and tensors by their pointers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.export import ExportedProgram

from onnxport import _errors, _guards
from onnxport._diagnostics import Diagnostic
from onnxport._export import flex

# Code that converts a tensor of each kind to a plain one.
_INSTEAD = {
    "quantised": "model.{0} = model.{0}.dequantize()",
    "sparse": "model.{0} = model.{0}.to_dense()",
}


@dataclass(frozen=True)
class Buffer:
    """A tensor in memory.

    Strides and the offset count elements, `nbytes` is the size of the whole storage. `storage` is
    equal for tensors that share one. `owner` keeps the memory alive.
    """

    address: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int
    owner: Any

    @property
    def dense_bytes(self) -> int:
        """The size of the tensor alone, without gaps."""
        return math.prod(self.shape) * getattr(torch, self.dtype).itemsize


@dataclass(frozen=True)
class Parts:
    """A program in parts. A tensor that is None has no data: it is fake, or on the meta device.

    `guards` has stack traces of the code that asked for each guard.
    """

    program: bytes
    weights: Mapping[str, Buffer | None]
    constants: Mapping[str, Buffer | None]
    guards: Mapping[str, str] = field(default_factory=dict)


def parts(program: ExportedProgram) -> Parts:
    """Return the parts of `program`.

    Raises:
        UnsupportedError: It holds a tensor whose memory cannot be read, or something that PyTorch
            does not serialize.
    """
    # A user may export while a fake mode is active.
    if sparse := list(_sparse_inputs(program)):
        raise _errors.UnsupportedError(diagnostics=sparse)
    with unset_fake_temporarily():
        weights, constants = _buffers(program.state_dict, program.constants)
        return Parts(to_json(program), weights, constants, _guards.traces(program))


def _sparse_inputs(program: ExportedProgram) -> Iterator[Diagnostic]:
    # Weights have an error of their own.
    given = set(program.graph_signature.user_inputs)
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name not in given:
            continue
        layout = getattr(node.meta.get("val"), "layout", torch.strided)
        if layout is not torch.strided:
            said = str(layout).removeprefix("torch.")
            message = (
                f"the input `{node.name}` has the layout {said}, and inputs of models are dense"
            )
            help = "pass it as `to_dense()` gives it"
            yield Diagnostic("error", "OP212", message, help=help)


def replaced(parts: Parts, tensors: Mapping[str, Any]) -> tuple[Parts, list[str]]:
    """Return the parts with other tensors, and the names that they do not have.

    Raises:
        UnsupportedError: The memory of a tensor cannot be read.
    """
    weights, constants = _buffers(
        {name: tensor for name, tensor in tensors.items() if name in parts.weights},
        {
            name: tensor
            for name, tensor in tensors.items()
            if name in parts.constants and name not in parts.weights
        },
    )
    strangers = [name for name in tensors if name not in weights and name not in constants]
    weights, constants = {**parts.weights, **weights}, {**parts.constants, **constants}
    return replace(parts, weights=weights, constants=constants), strangers


def _buffers(*tables: Mapping[str, Any]) -> list[dict[str, Buffer | None]]:
    """Return where the data of tensors lies, for each of the tables.

    Raises:
        UnsupportedError: The memory of some cannot be read; all of them are named.
    """
    reasons = {
        name: reason
        for table in tables
        for name, tensor in table.items()
        if (reason := unreadable(tensor)) is not None
    }
    if reasons:
        problems = [problem(name, reason) for name, reason in reasons.items()]
        raise _errors.UnsupportedError(diagnostics=problems)
    storages: dict[int, Any] = {}
    return [{name: buffer(tensor, storages) for name, tensor in table.items()} for table in tables]


def problem(name: str, reason: str) -> Diagnostic:
    """Return the error for a tensor that cannot be read, for this reason."""
    instead = next((text for text in _INSTEAD if text in reason), None)
    help = (
        f"make it a plain tensor before the export: `{_INSTEAD[instead].format(name)}`"
        if instead
        else "replace it by a plain tensor before the export"
    )
    return Diagnostic("error", "OP212", f"`{name}` cannot be read: {reason}", help=help)


def unwritten(error: Exception) -> _errors.UnsupportedError:
    """Return the error for a program that PyTorch's serializer does not write."""
    return _errors.UnsupportedError(diagnostics=[_reason(error)])


def _reason(error: Exception) -> Diagnostic:
    found = isinstance(error, NotImplementedError) and re.search(
        r"(?:for|Serializing) <class '([^']+)'>", str(error)
    )
    if not found:
        said = str(error).strip().split("\n", 1)[0] or "no message"
        return Diagnostic(
            "error",
            "OP210",
            f"PyTorch's serializer does not write this program: {type(error).__name__}: {said}",
            help="remove the operation that the message names from the module, or compute it "
            "outside of the model; `__cause__` of this error has the whole message",
        )
    name = found[1]
    return Diagnostic(
        "error",
        "OP213",
        f"`{name}` is registered without a name under which programs can state it",
        help=f'give its registration the argument `serialized_type_name="{name}"`',
    )


def to_json(program: ExportedProgram) -> bytes:
    """Return the program as `torch.export.save` writes it, without weights and sample inputs.

    Attentions by functions of scores, which PyTorch does not serialize, become dense.

    Raises:
        UnsupportedError: PyTorch does not serialize the program.
    """
    from onnxport._export import namedtuples, serde

    program = flex.dense(program)
    with namedtuples.registered(program):
        if serde.is_followed():
            from onnxport._export.serde.program import to_json as walked

            try:
                return walked(program)
            except NotImplementedError as error:
                raise unwritten(error) from error
            except Exception:
                # The serializer may know programs that the walk does not, or has a better message.
                pass
        try:
            return of_torch(program)
        except Exception as error:
            # It fails with exceptions of every kind, assertions among them.
            raise unwritten(error) from error


def of_torch(program: ExportedProgram) -> bytes:
    """Return the output of PyTorch's own serializer."""
    from torch._export.serde import serialize

    return serialize.serialize(
        program,
        serialize_state_dict=False,
        serialize_constants=False,
        serialize_example_inputs=False,
    ).exported_program


def unreadable(value: Any) -> str | None:
    """Return why the memory of `value` cannot be read, None if it can be or if it has none."""
    if not isinstance(value, torch.Tensor):
        return f"it is a {type(value).__name__} and no tensor"
    if torch._C._functorch.is_functorch_wrapped_tensor(value):
        return "it is a tensor inside of a transformation of `torch.func`, and has no data"
    if isinstance(value, FakeTensor) or value.device.type == "meta":
        return None
    if isinstance(value, torch.nn.parameter.UninitializedTensorMixin):
        return "it is a parameter without a shape yet"
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"it is a {type(value).__name__}, whose data is not that of a plain tensor"
    if value.layout is not torch.strided:
        return f"its layout is {str(value.layout).removeprefix('torch.')}"
    return "it is quantised" if value.is_quantized else None


def buffer(tensor: torch.Tensor, storages: dict[int, Any]) -> Buffer | None:
    """Return where the data of `tensor` lies.

    `storages` are those that were copied from another device, each once however many tensors share
    it.
    """
    if isinstance(tensor, FakeTensor) or tensor.device.type == "meta":
        return None
    # The memory holds the values before the pending operation.
    tensor = tensor.detach().resolve_conj().resolve_neg()
    storage = tensor.untyped_storage()
    identity = storage._cdata
    if storage.device.type != "cpu":
        if identity not in storages:
            # The source is kept too: its identity is a pointer, which another storage could get.
            storages[identity] = (storage.cpu(), storage)
        storage = storages[identity][0]
    return Buffer(
        storage.data_ptr(),
        storage.nbytes(),
        str(tensor.dtype).removeprefix("torch."),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        identity,
        (storage, tensor),
    )


def native(parts: Parts, tensor: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of `Conversion.from_parts`, whose tensors `tensor` makes."""

    def converted(buffers: Mapping[str, Buffer | None]) -> dict[str, Any]:
        return {name: None if one is None else tensor(**vars(one)) for name, one in buffers.items()}

    return {
        "program": parts.program,
        "weights": converted(parts.weights),
        "constants": converted(parts.constants),
        "guards": dict(parts.guards),
    }
