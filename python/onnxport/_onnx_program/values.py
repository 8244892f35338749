"""Values on their way between PyTorch or NumPy and ONNX Runtime."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Types that NumPy lacks are passed as integers of their size: PyTorch's name, ONNX's number,
# PyTorch's integer.
_BITS = {
    "bfloat16": (16, "uint16"),
    "float8_e4m3fn": (17, "uint8"),
    "float8_e4m3fnuz": (18, "uint8"),
    "float8_e5m2": (19, "uint8"),
    "float8_e5m2fnuz": (20, "uint8"),
    "float8_e8m0fnu": (24, "uint8"),
}
_TYPES = {
    "tensor(bfloat16)": "bfloat16",
    "tensor(float8e4m3fn)": "float8_e4m3fn",
    "tensor(float8e4m3fnuz)": "float8_e4m3fnuz",
    "tensor(float8e5m2)": "float8_e5m2",
    "tensor(float8e5m2fnuz)": "float8_e5m2fnuz",
    "tensor(float8e8m0)": "float8_e8m0fnu",
}
_NUMPY = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
    "tensor(float16)": "float16",
}


def is_torch(value: Any) -> bool:
    """Tell whether `value` is a tensor of PyTorch, without loading it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_numpy(value: Any) -> bool:
    """Tell whether `value` is an array of NumPy, without loading it."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def flatten(value: Any) -> Iterator[Any]:
    """Yield the leaves of nested containers, as PyTorch orders them."""
    if "torch" in sys.modules:
        import torch.utils._pytree as pytree

        yield from pytree.tree_leaves(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from flatten(inner)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for inner in value:
            yield from flatten(inner)
    else:
        yield value


def to_runtime(value: Any, type_name: str) -> Any:
    """Return a value of ONNX Runtime for an input of a type, such as `tensor(float)`."""
    import numpy as np
    import onnxruntime as ort

    if not is_torch(value):
        dtype = None if is_numpy(value) else _NUMPY.get(type_name, _integer(type_name))
        array = np.asarray(value, dtype)
        if np.iscomplexobj(array):
            array = np.stack([array.real, array.imag], -1)
        return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    import torch

    tensor = value.detach().cpu()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    tensor = tensor.resolve_neg().contiguous()
    number, bits = _BITS.get(str(tensor.dtype).removeprefix("torch."), (None, None))
    if bits is None:
        return ort.OrtValue.ortvalue_from_numpy(tensor.numpy())
    array = tensor.view(getattr(torch, bits)).numpy()
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)


def _integer(type_name: str) -> str | None:
    name = type_name.removeprefix("tensor(").removesuffix(")")
    return name if name.startswith(("int", "uint")) else None


def from_runtime(value: Any, as_torch: bool) -> Any:
    """Return a value of ONNX Runtime as a tensor of PyTorch, or as an array of NumPy."""
    name = _TYPES.get(value.data_type())
    if not as_torch:
        return value.numpy()
    import torch

    if name is None:
        # Runtimes may return their own memory.
        return torch.from_numpy(value.numpy().copy())
    # The runtime exports these by DLPack only, where PyTorch identifies them by their number.
    tensor = torch.utils.dlpack.from_dlpack(value._ortvalue.to_dlpack())
    return tensor.clone().view(getattr(torch, name))


def to_numpy(value: Any, type_name: str) -> Any:
    """Return an array for an input of the type `type_name`."""
    import ml_dtypes
    import numpy as np

    if not is_torch(value):
        dtype = None if is_numpy(value) else _NUMPY.get(type_name, _integer(type_name))
        array = np.asarray(value, dtype)
        return np.stack([array.real, array.imag], -1) if np.iscomplexobj(array) else array
    import torch

    tensor = value.detach().cpu()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    tensor = tensor.resolve_neg().contiguous()
    name = str(tensor.dtype).removeprefix("torch.")
    _, bits = _BITS.get(name, (None, None))
    return (
        tensor.numpy()
        if bits is None
        else tensor.view(getattr(torch, bits)).numpy().view(getattr(ml_dtypes, name))
    )


def from_numpy(array: Any) -> Any:
    """Return a tensor of PyTorch for an array, also of the types of `ml_dtypes`."""
    import numpy as np
    import torch

    if not isinstance(array, (np.ndarray, np.generic)):
        return array
    array = np.asarray(array)
    _, bits = _BITS.get(array.dtype.name, (None, None))
    if bits is None:
        return torch.from_numpy(array.copy())
    return torch.from_numpy(array.view(bits).copy()).view(getattr(torch, array.dtype.name))
