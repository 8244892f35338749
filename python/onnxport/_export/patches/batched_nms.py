"""`torchvision.ops.batched_nms` of as many boxes as values decide."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "batched-nms",
    reason="it branches on the number of boxes, which may depend on values",
)


@patch.replaces("torchvision.ops.boxes.batched_nms")
def batched_nms(
    original: Function, boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float
) -> Any:
    """Move the boxes of each class apart, as the original does for few boxes."""
    del original
    if not boxes.is_floating_point():
        return NotImplemented
    # Without boxes there is no largest coordinate.
    coordinates = torch.cat([boxes.flatten(), boxes.new_full((1,), -torch.inf)])
    offsets = idxs.to(boxes) * (coordinates.max() + 1)
    return torch.ops.torchvision.nms(boxes + offsets[:, None], scores, iou_threshold)
