"""Weights under which a model's outputs depend on all of it.

With the weights that models start from, outputs are often near zero or constant, layer scales
switch whole branches off and attention is uniform: anything would agree with such a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


def fan_in(name: str, owner: nn.Module, weight: Tensor) -> int:
    """Return over how many elements the products with `weight` sum."""
    if isinstance(owner, nn.modules.conv._ConvTransposeNd):
        return weight.shape[0] * weight[0, 0].numel() // owner.groups
    if isinstance(owner, nn.modules.conv._ConvNd):
        return weight[0].numel()
    if type(owner).__name__ == "Conv1D":
        return weight.shape[0]
    return weight.shape[-1]


@torch.no_grad()
def lively(
    module: nn.Module, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> nn.Module:
    """Give `module` weights that keep the scale of activations, and its batch norms statistics.

    Matrices get a scale by their fan-in, constant vectors some variation; vectors that hold
    anything else stay, since they may mean something, like decay rates.
    """
    for owner in module.modules():
        for name, weight in owner.named_parameters(recurse=False):
            if not weight.is_floating_point() or weight.numel() < 2:
                continue
            constant = bool((weight == weight.flatten()[0]).all())
            if isinstance(owner, nn.Embedding):
                weight.normal_()
            elif weight.dim() >= 2 and not constant:
                scale = fan_in(name, owner, weight) ** -0.5 / weight.std()
                weight.mul_(scale)
            elif constant:
                centre = 1.0 if 0 < abs(weight.flatten()[0].item()) < 0.5 else 0.0
                weight.add_(torch.randn_like(weight), alpha=0.1).add_(centre)
    norms = [m for m in module.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]
    if norms:
        momenta = [norm.momentum for norm in norms]
        module.eval()
        for norm in norms:
            norm.train()
            norm.momentum = 1.0
        module(*args, **(kwargs or {}))
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
            norm.running_var.clamp_(min=0.05)
    return module.eval()
