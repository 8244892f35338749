"""Networks that no library has as they are needed here: recurrent layers, a diffusion U-Net."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Recurrent(nn.Module):
    """An LSTM in both directions and a GRU behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(256, 256, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(512, 256, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states of `x`, `[batch, length, 256]`."""
        return self.gru(self.lstm(x)[0])[0]


class Residual(nn.Module):
    """A block of a diffusion U-Net: norms, SiLU and convolutions around a skip."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(32, width) for width in (inner, outer))
        self.first = nn.Conv2d(inner, outer, 3, padding=1)
        self.second = nn.Conv2d(outer, outer, 3, padding=1)
        self.time = nn.Linear(256, outer)
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        """Return `[batch, outer, height, width]`."""
        silu = nn.functional.silu
        hidden = self.first(silu(self.norms[0](x))) + self.time(silu(time))[:, :, None, None]
        return self.skip(x) + self.second(silu(self.norms[1](hidden)))


class Spatial(nn.Module):
    """Attention over the places of an image, and to a text."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = nn.MultiheadAttention(width, 8, batch_first=True)
        self.other = nn.MultiheadAttention(width, 8, batch_first=True, kdim=256, vdim=256)
        self.wide = nn.Linear(width, 8 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        """Return `[batch, width, height, width]`."""
        hidden = self.norm(x).flatten(2).transpose(1, 2)
        one = self.norms[0](hidden)
        hidden = hidden + self.own(one, one, one, need_weights=False)[0]
        hidden = hidden + self.other(self.norms[1](hidden), text, text, need_weights=False)[0]
        value, gate = self.wide(self.norms[2](hidden)).chunk(2, -1)
        hidden = hidden + self.narrow(value * nn.functional.gelu(gate))
        return x + hidden.transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    """A diffusion U-Net of two resolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv2d(4, 128, 3, padding=1)
        self.down = nn.ModuleList([Residual(128, 128), Residual(128, 256)])
        self.halve = nn.Conv2d(128, 128, 3, stride=2, padding=1)
        self.spatial = Spatial(256)
        self.up = nn.ModuleList([Residual(256, 256), Residual(384, 128)])
        self.larger = nn.Upsample(scale_factor=2)
        self.norm = nn.GroupNorm(32, 128)
        self.leave = nn.Conv2d(128, 4, 3, padding=1)

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        """Return the noise of `x`, `[batch, 4, height, width]`."""
        fine = self.down[0](self.enter(x), time)
        hidden = self.spatial(self.down[1](self.halve(fine), time), text)
        hidden = self.larger(self.up[0](hidden, time))
        hidden = self.up[1](torch.cat([hidden, fine], 1), time)
        return self.leave(nn.functional.silu(self.norm(hidden)))
