"""Three operators of our own, and a model that uses them."""

from __future__ import annotations

import torch
from torch import Tensor, nn


@torch.library.custom_op("example::rms_scale", mutates_args=())
def rms_scale(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Divide by the root mean square along the last axis, times `weight`."""
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps) * weight


@rms_scale.register_fake
def _(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("example::clip_rows_", mutates_args={"x"})
def clip_rows_(x: Tensor, limit: float) -> None:
    """Scale rows down to a norm of at most `limit`, in place."""
    x.mul_((limit / x.norm(dim=-1, keepdim=True)).clamp(max=1.0))


@clip_rows_.register_fake
def _(x: Tensor, limit: float) -> None:
    return None


@torch.library.custom_op("example::swish", mutates_args=())
def swish(x: Tensor, beta: float) -> Tensor:
    """Gate `x` by itself."""
    return x * torch.sigmoid(beta * x)


@swish.register_fake
def _(x: Tensor, beta: float) -> Tensor:
    return torch.empty_like(x)


class Model(nn.Module):
    """Two layers and all three operators."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(8, 16)
        self.scale = nn.Parameter(torch.rand(16) + 0.5)
        self.second = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return results `[batch, 4]` of `[batch, 8]`, and the clipped features."""
        features = swish(self.first(x), 1.5)
        clip_rows_(features, 0.5)
        scaled = rms_scale(features, self.scale, 1e-5)
        return swish(self.second(scaled), 1.0), features
