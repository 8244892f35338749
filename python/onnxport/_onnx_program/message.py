"""The few fields of a `ModelProto` that are read and written without the `onnx` package.

A message may be continued by another one: fields that repeat are appended, nested messages are
merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Numbers of fields, as onnx.proto has them.
GRAPH, METADATA = 7, 14
INPUT, OUTPUT = 11, 12
NAME, TYPE = 1, 2
TENSOR, ELEMENT, SHAPE, DIM, SIZE, PARAMETER = 1, 1, 2, 1, 1, 2
KEY, VALUE = 1, 2

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Declared = tuple[str, int, tuple[str | int | None, ...]]


@dataclass
class Declarations:
    """Inputs and outputs (name, number of the element type, extents), and the metadata."""

    inputs: list[Declared] = field(default_factory=list)
    outputs: list[Declared] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


def with_outputs(model: bytes, names: Iterable[str]) -> bytes:
    """Return the model with further outputs, whose types the reader infers."""
    outputs = b"".join(_field(OUTPUT, _field(NAME, name.encode())) for name in names)
    return model + _field(GRAPH, outputs)


def read(model: bytes) -> Declarations:
    """Return what a model declares."""
    found = Declarations()
    for number, value in _fields(memoryview(model)):
        if number == METADATA:
            entry = dict(_fields(value))
            found.metadata[_text(entry[KEY])] = _text(entry.get(VALUE))
        elif number == GRAPH:
            for kind, inner in _fields(value):
                if kind in (INPUT, OUTPUT):
                    (found.inputs if kind == INPUT else found.outputs).append(_declared(inner))
    return found


def _declared(value: memoryview) -> Declared:
    fields = dict(_fields(value))
    tensor = dict(_fields(dict(_fields(fields.get(TYPE))).get(TENSOR)))
    dims = []
    for number, dim in _fields(tensor.get(SHAPE)):
        if number == DIM:
            said = dict(_fields(dim))
            dims.append(_text(said[PARAMETER]) if PARAMETER in said else said.get(SIZE))
    return _text(fields.get(NAME)), tensor.get(ELEMENT, 0), tuple(dims)


def _text(value: memoryview | None) -> str:
    return "" if value is None else bytes(value).decode()


def _fields(content: memoryview | None) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of every field: bytes, or a number."""
    content = memoryview(b"") if content is None else content
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        kind = key & 7
        if kind == _BYTES:
            length, at = _read_varint(content, at)
            yield key >> 3, content[at : at + length]
            at += length
        elif kind == _VARINT:
            value, at = _read_varint(content, at)
            yield key >> 3, value
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"a field of the model has the kind {kind}")


def _read_varint(content: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
