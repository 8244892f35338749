"""Instance normalization of as many elements as values decide."""

from __future__ import annotations

import math
from typing import Any

import torch

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "norm-sizes",
    reason="it branches on the number of elements, of which there must be several",
)

_MESSAGE = "an instance normalization needs more than one element per channel"


@patch.replaces("torch.nn.functional._verify_spatial_size")
def spatial(original: Function, size: Any) -> Any:
    """Assert that there are several elements after the axes of batch and channels."""
    del original
    count = math.prod(size[2:])
    if not isinstance(count, torch.SymInt):
        return NotImplemented
    # PyTorch's kernels also ask whether there are elements at all.
    torch._check(count > 1, lambda: _MESSAGE)
    return None
