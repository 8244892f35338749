"""Element types."""

from __future__ import annotations

import enum
import sys
from typing import Any


class DType(enum.IntEnum):
    """The element type of a tensor, by ONNX's names and numbers.

    It equals the constants of `onnx.TensorProto`, and is accepted in their place.
    """

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26

    @classmethod
    def of(cls, value: Any) -> DType:
        """Return the type that a number, a name, or a type of PyTorch or NumPy means."""
        if isinstance(value, int):
            return cls(value)
        name = value if isinstance(value, str) else _name(value)
        found = cls.__members__.get(name.upper()) or cls.__members__.get(_OTHER_NAMES.get(name, ""))
        if found is None:
            raise ValueError(f"{value!r} is not an element type of ONNX")
        return found

    @property
    def is_float(self) -> bool:
        """Whether it is a type of floating-point numbers."""
        return self.name.startswith(("FLOAT", "BFLOAT")) or self is DType.DOUBLE

    @property
    def is_int(self) -> bool:
        """Whether it is a type of integers; truth values are none."""
        return "INT" in self.name


# The names in PyTorch and NumPy of types with another name in ONNX.
_OTHER_NAMES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
    "float8_e8m0fnu": "FLOAT8E8M0",
    "bool_": "BOOL",
    "str": "STRING",
}


def _name(value: Any) -> str:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        raise ValueError(f"{value!r} is not an element type of ONNX")
    return name


def number(value: Any) -> int:
    """Return ONNX's number of an element type."""
    return int(DType.of(value))
