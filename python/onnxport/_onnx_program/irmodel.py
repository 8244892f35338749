"""Models of `onnx_ir`, with which users change a model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _errors

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from onnxport._onnx_program.serializer import Weight


def package() -> Any:
    """Return `onnx_ir`, or raise an error if it is missing."""
    try:
        import onnx_ir
    except ImportError as error:
        raise _errors.usage("this needs the package `onnx_ir`", "pip install onnx_ir") from error
    return onnx_ir


def load(message: bytes) -> onnx_ir.Model:
    """Return the model of a message."""
    import onnx

    model: onnx_ir.Model = package().from_proto(onnx.ModelProto.FromString(message))
    return model


def load_lazily(message: bytes, weights: Sequence[Weight]) -> onnx_ir.Model:
    """Return the model of a message without weights, which are read on demand."""
    import onnx

    ir = package()
    proto = onnx.ModelProto.FromString(message)
    declared = {weight.name: _declared(weight) for weight in weights}
    proto.graph.initializer.extend(declared.values())
    model: onnx_ir.Model = ir.from_proto(proto)

    def reader(weight: Weight) -> Callable[[], Any]:
        def read() -> Any:
            whole = onnx.TensorProto()
            whole.CopyFrom(declared[weight.name])
            whole.ClearField("external_data")
            whole.ClearField("data_location")
            whole.raw_data = b"".join(weight.pieces())
            return ir.from_proto(whole)

        return read

    for weight in weights:
        dtype = ir.DataType(declared[weight.name].data_type)
        shape = ir.Shape(weight.shape)
        lazy = ir.LazyTensor(reader(weight), dtype, shape, name=weight.name)
        model.graph.initializers[weight.name].const_value = lazy
    return model


def _declared(weight: Weight) -> onnx.TensorProto:
    """Return the declaration of a weight, whose data is declared as external."""
    import onnx

    long = {"f": "FLOAT", "bf": "BFLOAT", "i": "INT", "u": "UINT", "c": "COMPLEX"}
    name = {"f32": "FLOAT", "f64": "DOUBLE"}.get(weight.dtype) or re.sub(
        r"^[a-z]+(?=\d)", lambda found: long[found[0]], weight.dtype
    )
    declared = onnx.TensorProto(
        name=weight.name,
        dims=weight.shape,
        data_type=onnx.TensorProto.DataType.Value(name.upper()),
        data_location=onnx.TensorProto.EXTERNAL,
    )
    declared.external_data.add(key="location", value="lazy")
    return declared


def mark(model: onnx_ir.Model) -> bytes:
    """Return a hash of a model: of its message without the data, and of which data it has."""
    digest = hashlib.sha256()
    graph = model.graph
    for name, value in graph.initializers.items():
        digest.update(f"{name} {id(value.const_value)}".encode())
    with _initializers(model, include=False, as_inputs=False):
        digest.update(package().to_proto(model).SerializeToString(deterministic=True))
    return digest.digest()


def weight_bytes(model: onnx_ir.Model) -> int:
    """Return the size of the initializers."""
    values = (value.const_value for value in model.graph.initializers.values())
    return sum(value.nbytes for value in values if value is not None)


def weights(model: onnx_ir.Model) -> list[Any]:
    """Return the initializers in the form for a serializer."""
    from onnxport._onnx_program.serializer import Weight

    def weight(name: str, tensor: Any) -> Weight:
        def read(offset: int, length: int) -> bytes:
            data: bytes = tensor.tobytes()[offset : offset + length]
            return data

        return Weight(
            name, tensor.dtype.name.lower(), tuple(tensor.shape.numpy()), tensor.nbytes, read
        )

    given = model.graph.initializers.items()
    return [
        weight(name, value.const_value) for name, value in given if value.const_value is not None
    ]


def to_bytes(model: onnx_ir.Model, initializers: bool, as_inputs: bool) -> bytes:
    """Return the message of a model."""
    with _initializers(model, initializers, as_inputs), _in_memory(model):
        message: bytes = package().to_proto(model).SerializeToString()
        return message


def save(
    model: onnx_ir.Model, path: Path, initializers: bool, as_inputs: bool, beside: bool
) -> None:
    """Write a model."""
    with _initializers(model, initializers, as_inputs):
        package().save(model, path, external_data=f"{path.name}.data" if beside else None)


def apply_weights(model: onnx_ir.Model, weights: Mapping[str, Any]) -> list[str]:
    """Give initializers new data; return the names that the model does not have."""
    ir, strangers = package(), []
    for name, tensor in weights.items():
        value = model.graph.initializers.get(name)
        if value is None:
            strangers.append(name)
        else:
            value.const_value = ir.tensor(tensor, name=name)
    return strangers


def rename_axes(model: onnx_ir.Model, names: Mapping[str, str]) -> None:
    """Rename dimensions, everywhere in the graph."""
    ir = package()
    values = [*model.graph.inputs, *model.graph.outputs]
    values += [output for node in model.graph.all_nodes() for output in node.outputs]
    for value in values:
        if value.shape is None:
            continue
        value.shape = ir.Shape([_renamed(dim, names) for dim in value.shape])


def _renamed(dim: Any, names: Mapping[str, str]) -> Any:
    """Return a dimension by its new name; expressions are renamed as a whole, or in parts."""
    text = getattr(dim, "value", dim)
    if not isinstance(text, str):
        return dim
    new = re.sub(r"[^\W\d]\w*", lambda found: names.get(found[0], found[0]), text)
    return package().SymbolicDim(names.get(text, new))


@contextmanager
def _in_memory(model: onnx_ir.Model) -> Iterator[None]:
    """Have the data of files in memory for a while: one message has no files beside it."""
    ir = package()
    held = {value: value.const_value for value in model.graph.initializers.values()}
    outside = {v: data for v, data in held.items() if isinstance(data, ir.ExternalTensor)}
    for value, tensor in outside.items():
        value.const_value = ir.Tensor(tensor.numpy(), dtype=tensor.dtype, name=tensor.name)
    try:
        yield
    finally:
        for value, tensor in outside.items():
            value.const_value = tensor


@contextmanager
def _initializers(model: onnx_ir.Model, include: bool, as_inputs: bool) -> Iterator[None]:
    """Leave out the initializers, or declare them as inputs, for a while."""
    graph = model.graph
    kept, inputs = dict(graph.initializers), list(graph.inputs)
    if as_inputs:
        graph.inputs.extend(value for value in kept.values() if value not in inputs)
    if not include:
        graph.initializers.clear()
    try:
        yield
    finally:
        if not include:
            graph.initializers.update(kept)
        if as_inputs:
            graph.inputs.clear()
            graph.inputs.extend(inputs)
