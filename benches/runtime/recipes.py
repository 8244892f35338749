"""The models that are timed, by kind: realistic widths, few layers, random weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torchvision import models

from tests.python.models import detection
from tests.python.models.registry import Recipe
from tests.python.models.vision import images

from .blocks import Recurrent, UNet
from .decoders import DECODERS, PROMPTS
from .encoders import ENCODERS


def unet() -> Recipe:
    """Return a diffusion U-Net, a step on a latent of 32 by 32."""
    return Recipe(UNet(), (torch.randn(1, 4, 32, 32), torch.randn(1, 256), torch.randn(1, 77, 256)))


CONVOLUTIONAL: dict[str, Callable[[], Recipe]] = {
    "resnet50": lambda: images(models.resnet50()),
    "mobilenet_v3": lambda: images(models.mobilenet_v3_large()),
    "efficientnet_b0": lambda: images(models.efficientnet_b0()),
    "regnet_y_800mf": lambda: images(models.regnet_y_800mf()),
    "densenet121": lambda: images(models.densenet121()),
    "convnext_tiny": lambda: images(models.convnext_tiny()),
    "unet": unet,
    "fcos": detection.fcos_resnet18,
    "ssdlite": detection.ssdlite320_mobilenet_v3,
}
VISION: dict[str, Callable[[], Recipe]] = {
    "vit": lambda: images(models.VisionTransformer(224, 16, 4, 12, 768, 3072)),
    "swin_t": lambda: images(models.swin_t()),
}
RECURRENT: dict[str, Callable[[], Recipe]] = {
    "recurrent": lambda: Recipe(Recurrent(), (torch.randn(4, 50, 256),)),
}

# A kind, and its models.
KINDS: dict[str, dict[str, Callable[[], Recipe]]] = {
    "convolutional": CONVOLUTIONAL,
    "encoders": {**VISION, **ENCODERS},
    "decoders": PROMPTS,
    "decoders with a cache": DECODERS,
    "recurrent": RECURRENT,
}
RECIPES = {name: make for models in KINDS.values() for name, make in models.items()}
