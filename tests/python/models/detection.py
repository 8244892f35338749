"""Detectors of torchvision, with random weights, and a network of deformable convolutions.

`torch.export` cannot export the detectors as they stand: two functions ask how many boxes there
are. Users exchange the two, as is done here. Mask R-CNN and Keypoint R-CNN also loop over the
detections in Python, which cannot be exported at all.
"""

from __future__ import annotations

from unittest import mock

import torch
from torch import Tensor, nn
from torchvision import ops
from torchvision.models import detection
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

from tests.python.models.registry import BATCH, Recipe, model

FIXED_IMAGE = "the resizing of images specialises their size, and a detector takes them one by one"
SMALL = {"min_size": 64, "max_size": 128}
# The more detections, the smaller the distance of two scores, whose order rounding could change.
FEW = 20


def batched_nms(boxes: Tensor, scores: Tensor, classes: Tensor, iou_threshold: float) -> Tensor:
    """Suppress boxes of each class by itself: those of different classes are moved apart."""
    apart = classes.to(boxes) * (boxes.max() + 1)
    return ops.nms(boxes + apart[:, None], scores, iou_threshold)


def extent(values: object) -> int:
    """Return `len`, without asking a tensor for a number."""
    return values.shape[0] if isinstance(values, Tensor) else len(values)


class Detector(nn.Module):
    """A detector of one image, in a form that can be exported."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module.eval()
        # The scores of fresh heads are all but equal: rounding would decide the order of the boxes.
        for name, layer in module.named_modules():
            if isinstance(layer, nn.Conv2d | nn.Linear) and not name.startswith("backbone.body"):
                fan_in = layer.weight[0].numel()
                nn.init.normal_(layer.weight, std=fan_in**-0.5)
        norms = [layer for layer in module.modules() if isinstance(layer, nn.BatchNorm2d)]
        for norm in norms:
            norm.train().momentum = 1.0
        with torch.no_grad():
            module([torch.rand(3, 96, 128), torch.rand(3, 96, 128)])
        module.eval()
        for norm in norms:
            norm.running_var.clamp_(min=0.1)

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        """Detect."""
        with (
            mock.patch("torchvision.ops.boxes.batched_nms", batched_nms),
            mock.patch("torchvision.ops.poolers.len", extent, create=True),
        ):
            return self.module([image])[0]


def backbone() -> nn.Module:
    """Return a pyramid of features over a ResNet-18."""
    return resnet_fpn_backbone(backbone_name="resnet18", weights=None)


@model("fasterrcnn_resnet18", static=FIXED_IMAGE)
def fasterrcnn_resnet18():
    few = {"rpn_pre_nms_top_n_test": 200, "rpn_post_nms_top_n_test": 50}
    module = detection.FasterRCNN(backbone(), 21, box_detections_per_img=FEW, **few, **SMALL)
    return Recipe(Detector(module), (torch.rand(3, 96, 128),))


@model("retinanet_resnet18", static=FIXED_IMAGE)
def retinanet_resnet18():
    module = detection.RetinaNet(
        backbone(), 21, topk_candidates=100, detections_per_img=FEW, **SMALL
    )
    return Recipe(Detector(module), (torch.rand(3, 96, 128),))


@model("fcos_resnet18", static=FIXED_IMAGE)
def fcos_resnet18():
    module = detection.FCOS(backbone(), 21, score_thresh=0.05, detections_per_img=FEW, **SMALL)
    return Recipe(Detector(module), (torch.rand(3, 96, 128),))


@model("ssdlite320_mobilenet_v3", static=FIXED_IMAGE)
def ssdlite320_mobilenet_v3():
    module = detection.ssdlite320_mobilenet_v3_large(
        weights=None,
        weights_backbone=None,
        num_classes=11,
        topk_candidates=50,
        detections_per_img=FEW,
    )
    return Recipe(Detector(module), (torch.rand(3, 96, 128),))


class DeformNet(nn.Module):
    """Convolutions that decide by themselves where they read."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.offset = nn.Conv2d(8, 2 * 2 * 9, 3, padding=1)
        self.mask = nn.Conv2d(8, 2 * 9, 3, padding=1)
        self.deform = ops.DeformConv2d(8, 12, 3, padding=1, groups=2)
        self.head = nn.Conv2d(12, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem(x))
        weights = torch.sigmoid(self.mask(x))
        return self.head(torch.relu(self.deform(x, 3 * self.offset(x), weights)))


@model("deform_net")
def deform_net():
    shapes = {0: BATCH, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    return Recipe(DeformNet(), (torch.randn(2, 3, 18, 21),), shapes=(shapes,))
