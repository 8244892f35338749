"""Serializers of the user's own, who get the model, and a reader of each weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from onnxport import _errors

if TYPE_CHECKING:
    from onnxport._onnx_program.program import ONNXProgram

PIECE = 1 << 20


@dataclass(frozen=True)
class Weight:
    """A weight of a model. Its bytes are in ONNX's order: row-major, and little-endian."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    read: Callable[[int, int], bytes]

    def pieces(self, size: int = PIECE) -> Iterator[bytes]:
        """Yield the bytes in pieces of at most `size`."""
        for start in range(0, self.nbytes, size):
            yield self.read(start, min(size, self.nbytes - start))


class Serializer(Protocol):
    """Writes a model in a custom way."""

    def __call__(self, destination: Path, model: bytes, weights: Sequence[Weight]) -> None:
        """Write the model, whose message has no weights, and the weights that belong to it."""


def write(
    serializer: Serializer, path: Path, program: ONNXProgram, include: bool, as_inputs: bool
) -> None:
    """Hand the model to `serializer`."""
    if not callable(serializer):
        raise _errors.usage(
            "`serializer` cannot be called", "it takes a path, the model and its weights"
        )
    model = program.to_bytes(include_initializers=False, keep_initializers_as_inputs=as_inputs)
    serializer(path, model, program.weights(as_given=True) if include else [])
