"""Models of the `onnx` package and of `onnx_ir` that go to the library and back without a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxport import _commands, _native

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from onnxport._operators.functions import Custom

# Smaller weights stay in the message.
SMALL = 1 << 10


def optimize(model: Any, options: Mapping[str, Any], custom: Custom) -> Any:
    """Optimize a model; return one of the same kind."""
    import onnx

    if isinstance(model, onnx.ModelProto):
        return _from_native(_optimized(*_of_proto(model), options, custom))
    if type(model).__module__.partition(".")[0] != "onnx_ir":
        raise TypeError(f"a {type(model).__name__} is neither a path nor a model")
    import onnx_ir

    with _lent(model) as lent:
        message = onnx_ir.to_proto(model).SerializeToString()
    return onnx_ir.from_proto(_from_native(_optimized(message, lent, options, custom)))


def _optimized(
    message: bytes, lent: Mapping[str, Any], options: Mapping[str, Any], custom: Custom
) -> _native.Optimized:
    weights = {location: _tensor(array) for location, array in lent.items()}
    said = _commands.to_json(options)
    with _commands.collected(custom) as functions:
        return _native.optimize(message, weights, said, functions=functions)


def _of_proto(model: onnx.ModelProto) -> tuple[bytes, dict[str, Any]]:
    """Return the message of a model without large weights, and these by their locations."""
    import onnx

    def copied(source: Any, left_out: str) -> Any:
        made = type(source)()
        for field, value in source.ListFields():
            if field.name != left_out:
                part = type(source)(**{field.name: value})
                made.MergeFrom(part)
        return made

    slim, lent = copied(model, "graph"), {}
    slim.graph.CopyFrom(copied(model.graph, "initializer"))
    for tensor in model.graph.initializer:
        data = tensor.raw_data
        if len(data) < SMALL:
            slim.graph.initializer.append(tensor)
            continue
        location = _location(len(lent))
        lent[location] = np.frombuffer(data, np.uint8)
        made = copied(tensor, "raw_data")
        made.data_location = onnx.TensorProto.EXTERNAL
        made.external_data.add(key="location", value=location)
        slim.graph.initializer.append(made)
    return slim.SerializeToString(), lent


@contextmanager
def _lent(model: onnx_ir.Model) -> Iterator[dict[str, Any]]:
    """Have large weights in other memory for a while; yield their bytes by their locations."""
    import onnx_ir

    lent: dict[str, Any] = {}
    held = {value: value.const_value for value in model.graph.initializers.values()}
    try:
        for value, tensor in held.items():
            # Data of files is read here too: a message in memory has no folder.
            is_outside = isinstance(tensor, onnx_ir.ExternalTensor)
            if tensor is None or tensor.dtype == onnx_ir.DataType.STRING:
                continue
            if tensor.nbytes < SMALL and not is_outside:
                continue
            location = _location(len(lent))
            lent[location] = _bytes(tensor)
            value.const_value = onnx_ir.ExternalTensor(
                location,
                None,
                tensor.nbytes,
                tensor.dtype,
                shape=tensor.shape,
                name=tensor.name or value.name or "",
            )
        yield lent
    finally:
        for value, tensor in held.items():
            value.const_value = tensor


def _bytes(tensor: Any) -> Any:
    """Return the bytes of a tensor, without a copy if numpy has them as ONNX does."""
    array = tensor.numpy()
    if array.nbytes == tensor.nbytes and array.flags.c_contiguous and array.dtype.isnative:
        return array.reshape(-1).view(np.uint8)
    return np.frombuffer(tensor.tobytes(), np.uint8)


def _location(index: int) -> str:
    return f"onnxport.memory.{index}"


def _tensor(array: Any) -> _native.Tensor:
    return _native.Tensor(
        address=array.ctypes.data,
        nbytes=array.nbytes,
        dtype="uint8",
        shape=array.shape,
        strides=(1,),
        offset=0,
        storage=id(array),
        owner=array,
    )


def _from_native(made: _native.Optimized) -> onnx.ModelProto:
    import onnx

    model = onnx.ModelProto.FromString(made.to_bytes())
    for name, number, shape, size in made.initializers():
        data = made.read(name, 0, size)
        model.graph.initializer.add(name=name, data_type=number, dims=shape, raw_data=data)
    return model
