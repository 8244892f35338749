"""Values in the JSON: types of tensors, numbers, expressions."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch._export.serde import serialize

Json = dict[str, Any]


class UnknownError(Exception):
    """The program has something that only PyTorch's serializer knows."""


class Facts:
    """The types of the values of a program. Equal ones are shared."""

    def __init__(self) -> None:
        self._sizes: dict[Any, Json] = {}
        self._devices: dict[torch.device, Json] = {}

    def tensor(self, value: torch.Tensor) -> Json:
        """Return the type and the layout of a tensor."""
        dtype = serialize._TORCH_TO_SERIALIZE_DTYPE.get(value.dtype)
        layout = serialize._TORCH_TO_SERIALIZE_LAYOUT.get(value.layout)
        if dtype is None or layout is None:
            raise UnknownError(value.dtype, value.layout)
        device = value.device
        said = self._devices.get(device)
        if said is None:
            said = self._devices[device] = {"type": device.type, "index": device.index}
        return {
            "dtype": dtype.value,
            "sizes": [self.size(size) for size in value.shape],
            "requires_grad": value.requires_grad,
            "device": said,
            "strides": [self.size(stride) for stride in value.stride()],
            "storage_offset": self.size(value.storage_offset()),
            "layout": layout.value,
        }

    def size(self, value: int | torch.SymInt) -> Json:
        """Return an integer, or its expression."""
        if type(value) is int:
            key: Any = value
        elif isinstance(value, torch.SymInt):
            key = (value.node.expr, value.node.hint)
        else:
            raise UnknownError(value)
        found = self._sizes.get(key)
        if found is None:
            found = serialize._dataclass_to_dict(serialize.serialize_sym_int(value))
            self._sizes[key] = found
        return found

    @staticmethod
    def truth(value: bool | torch.SymBool) -> Json:
        """Return a truth value, or its expression."""
        said: Json = serialize._dataclass_to_dict(serialize.serialize_sym_bool(value))
        return said

    @staticmethod
    def real(value: float | torch.SymFloat) -> Json:
        """Return a floating-point number, or its expression."""
        said: Json = serialize._dataclass_to_dict(serialize.serialize_sym_float(value))
        return said


def number(value: float) -> float | str:
    """Return a floating-point number as JSON can have it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
