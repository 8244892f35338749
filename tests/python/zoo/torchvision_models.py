"""Architectures of torchvision."""

from __future__ import annotations

import torch
import torchvision

from tests.python.models.registry import BATCH, Recipe
from tests.python.models.weights import lively
from tests.python.zoo.registry import architecture

TORCHVISION = {
    "alexnet": (2, 3, 224, 224),
    "convnext_tiny": (2, 3, 64, 64),
    "efficientnet_v2_s": (2, 3, 64, 64),
    "fcn_resnet50": (2, 3, 64, 64),
    "googlenet": (2, 3, 96, 96),
    "inception_v3": (2, 3, 96, 96),
    "lraspp_mobilenet_v3_large": (2, 3, 64, 64),
    "maxvit_t": (2, 3, 224, 224),
    "mnasnet0_5": (2, 3, 64, 64),
    "mobilenet_v2": (2, 3, 64, 64),
    "mvit_v2_s": (2, 3, 16, 224, 224),
    "r2plus1d_18": (2, 3, 4, 32, 32),
    "r3d_18": (2, 3, 4, 32, 32),
    "regnet_y_400mf": (2, 3, 64, 64),
    "s3d": (2, 3, 16, 224, 224),
    "shufflenet_v2_x0_5": (2, 3, 64, 64),
    "squeezenet1_1": (2, 3, 64, 64),
    "swin_t": (2, 3, 64, 64),
    "swin3d_t": (2, 3, 4, 64, 64),
    "vgg11_bn": (2, 3, 64, 64),
    "wide_resnet50_2": (2, 3, 64, 64),
}


def torchvision_model(name: str, shape: tuple[int, ...]) -> None:
    """Register an architecture of torchvision, dynamic in the batch."""

    def build() -> Recipe:
        module = torchvision.models.get_model(
            name,
            weights=None,
            **(
                {"weights_backbone": None}
                if ("resnet50" in name and "fcn" in name) or "raspp" in name
                else {}
            ),
        )
        x = torch.randn(shape)
        return Recipe(lively(module, (x,)), (x,), shapes=({0: BATCH},))

    architecture(f"tv_{name}", static="images have one size; batch is dynamic")(build)


for _name, _shape in TORCHVISION.items():
    torchvision_model(_name, _shape)


@architecture("tv_raft_small", static="torch.export cannot show that a batch has two halves")
def raft_small():
    module = torchvision.models.optical_flow.raft_small(weights=None)
    images = torch.randn(2, 2, 3, 128, 128).unbind()
    return Recipe(lively(module, images), images, {"num_flow_updates": 3})
