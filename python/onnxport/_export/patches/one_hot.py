"""`torch.nn.functional.one_hot` without a number of classes."""

from __future__ import annotations

from typing import Any

import torch

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "one-hot",
    reason="without a number of classes, it has one more than the largest value, which it reads",
)


@patch.replaces("torch.nn.functional.one_hot")
def one_hot(original: Function, tensor: torch.Tensor, num_classes: Any = -1) -> Any:
    """Compare the values with as many classes as there are."""
    del original
    if num_classes != -1 or tensor.dtype is not torch.int64:
        return NotImplemented
    smallest, largest = tensor.min().item(), tensor.max().item()
    torch._check(smallest >= 0, lambda: "class values must not be negative")
    torch._check(largest >= 0)
    return (tensor.unsqueeze(-1) == torch.arange(largest + 1, device=tensor.device)).long()
