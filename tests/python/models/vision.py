"""The torchvision architectures, with random weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torchvision import models

from tests.python.models.registry import BATCH, Recipe, model

FIXED_IMAGE = "the architecture fixes or the exporter specialises the image size; batch is dynamic"


def images(module: nn.Module, size: int = 224) -> Recipe:
    """Return a recipe with two RGB images: `[2, 3, size, size]`.

    The initial weights of these models give outputs near zero, with which anything would agree:
    linear layers get weights that keep the scale, and batch norms the statistics of the images.
    """
    x = torch.randn(2, 3, size, size)
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(x)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
        # The variance of two values can be tiny; dividing by it would amplify rounding.
        norm.running_var.clamp_(min=0.1)
    return Recipe(module.eval(), (x,), shapes=({0: BATCH},))


@model("resnet18", static=FIXED_IMAGE)
def resnet18():
    return images(models.resnet18())


@model("mobilenet_v3_large", static=FIXED_IMAGE)
def mobilenet_v3_large():
    return images(models.mobilenet_v3_large())


@model("densenet121", static=FIXED_IMAGE)
def densenet121():
    return images(models.densenet121())


@model("vit_b_16", static=FIXED_IMAGE)
def vit_b_16():
    return images(models.vit_b_16())


@model("swin_v2_t", static=FIXED_IMAGE)
def swin_v2_t():
    return images(models.swin_v2_t(), 256)


# The rounding of fifty convolutions shows in a few of its 700,000 values: up to 1.3 times the noise
# of the computation, which `verify` measures before it condemns a model.
@model("deeplabv3_resnet50", static=FIXED_IMAGE, tolerance=4)
def deeplabv3_resnet50():
    return images(models.segmentation.deeplabv3_resnet50(weights_backbone=None), 128)


class MnistConvNet(nn.Module):
    """The convolutional network of PyTorch's MNIST example."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = self.dropout1(torch.max_pool2d(x, 2))
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return torch.log_softmax(self.fc2(self.dropout2(x)), dim=1)


@model("mnist_convnet", static="fc1 fixes the image size; batch is dynamic")
def mnist_convnet():
    return Recipe(MnistConvNet(), (torch.randn(2, 1, 28, 28),), shapes=({0: BATCH},))
