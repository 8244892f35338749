"""`torch.nn.TransformerEncoder` and `TransformerDecoder` with a mask."""

from __future__ import annotations

from typing import Any

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "causal-mask",
    reason="it compares the values of the mask with a causal one, only to choose a faster kernel",
)


@patch.replaces("torch.nn.modules.transformer._detect_is_causal_mask")
def detect(
    original: Function, mask: Any, is_causal: bool | None = None, size: int | None = None
) -> bool:
    """Return the caller's hint only: without one, attention uses the mask, which is passed too."""
    del original, size
    return NotImplemented if mask is None else is_causal is True
