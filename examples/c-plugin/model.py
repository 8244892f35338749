"""An operator of our own, and a model that uses it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


@torch.library.custom_op("cexample::softclip", mutates_args=())
def softclip(x: Tensor, limit: float) -> Tensor:
    """Bend `x` towards `limit`."""
    return limit * x / (limit + x.abs())


@softclip.register_fake
def _(x: Tensor, limit: float) -> Tensor:
    return torch.empty_like(x)


class Model(nn.Module):
    """A layer, the operator, and a match for the rule."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return `[batch, 4]` and sizes of `[batch, 8]`."""
        return softclip(self.layer(x), 3.0), torch.relu(torch.abs(x))
