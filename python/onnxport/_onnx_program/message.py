"""The few fields of a `ModelProto` that are read and written without the `onnx` package.

A message may be continued by another one: fields that repeat are appended, nested messages are
merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

GRAPH, INPUT, OUTPUT, NAME = 7, 11, 12, 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def with_outputs(model: bytes, names: Iterable[str]) -> bytes:
    """Return the model with further outputs, whose types the reader infers."""
    outputs = b"".join(_field(OUTPUT, _field(NAME, name.encode())) for name in names)
    return model + _field(GRAPH, outputs)


def ports(model: bytes) -> tuple[list[str], list[str]]:
    """Return the names of the inputs and outputs of the main graph."""
    found: dict[int, list[str]] = {INPUT: [], OUTPUT: []}
    for number, graph in _fields(memoryview(model)):
        if number == GRAPH:
            for kind, value in _fields(graph):
                if kind in found:
                    names = [bytes(text).decode() for key, text in _fields(value) if key == NAME]
                    found[kind] += names[-1:]
    return found[INPUT], found[OUTPUT]


def _fields(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of every field that has a length."""
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        kind = key & 7
        if kind == _BYTES:
            length, at = _read_varint(content, at)
            yield key >> 3, content[at : at + length]
            at += length
        elif kind == _VARINT:
            _, at = _read_varint(content, at)
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
