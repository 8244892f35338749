"""Which module of a model does not convert, or computes something else: piece by piece."""

from onnxport._pieces.api import pieces
from onnxport._pieces.tree import Node, Pieces

__all__ = ["Node", "Pieces", "pieces"]
