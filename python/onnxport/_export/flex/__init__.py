"""Dense attention as a replacement of `flex_attention`, which PyTorch does not serialize.

It computes the same as PyTorch without a compiler: scores of all pairs, the user's functions on
them, a softmax. The functions are graphs of calls on scalars, and become calls on tensors of four
axes: batch, head, query and key.
"""

from onnxport._export.flex.program import dense

__all__ = ["dense"]
