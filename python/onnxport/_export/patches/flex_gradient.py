"""`flex_attention` of values that need gradients, such as those of trainable layers."""

from __future__ import annotations

from typing import Any

import torch

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "flex-gradient",
    reason="it refuses values on the CPU that need gradients, which a capture does not compute",
)


@patch.replaces("torch.nn.attention.flex_attention._validate_device")
def validate(
    original: Function, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> Any:
    """Accept values on the CPU; others are left to the original."""
    del original, key, value
    return None if query.device.type == "cpu" else NotImplemented
