"""Five small networks of different kinds, each with places for every kind of fault.

Each has, at least twice: a softmax or a running sum along an axis, a bias, an operator whose
operands are not to be exchanged, a cast that rounds, and a slice that leaves something out.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


def rounded(x: Tensor) -> Tensor:
    """Return `x` in steps of an eighth, as codes of integers give it."""
    return (x * 8).to(torch.int32).to(x.dtype) / 8


class Convolutional(nn.Module):
    """Residual blocks with crops."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.block = nn.Conv2d(8, 8, 3)
        self.head = nn.Linear(8 * 8, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Compute ten scores of an image."""
        x = self.stem(x).relu()
        cropped = x[:, :, 1:11, 1:11]
        x = (cropped - self.block(x)).softmax(1)
        x = rounded(x * 4)
        x = x[:, :, 1:9, 1:9].cumsum(2)
        x = (x + 1) / (4 + rounded(x.sin() * 3))
        return self.head(x.mean(3).flatten(1))


class Attention(nn.Module):
    """Attention with rotated positions."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))
        self.norm = nn.LayerNorm(16)
        self.gate = nn.Linear(16, 16)

    def rotated(self, x: Tensor) -> Tensor:
        """Return `x` turned by its positions."""
        low, high = x[..., :8], x[..., 8:]
        angle = torch.arange(x.shape[1], dtype=x.dtype)[:, None] / 7
        return torch.cat([low * angle.cos() - high * angle.sin(), high * angle.cos()], -1)

    def forward(self, x: Tensor) -> Tensor:
        """Attend once, and gate the result."""
        query, key = self.rotated(self.query(x)), self.rotated(self.key(x))
        weights = (query @ key.transpose(1, 2)).softmax(-1)
        x = self.norm(x - rounded(weights @ self.value(x)))
        gate = self.gate(x)[:, 1:6]
        return (gate.softmax(1) - rounded(gate * 2)).cumsum(1)


class Recurrent(nn.Module):
    """A gated cell, three steps of it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(12, 24)
        self.outer = nn.Linear(8, 24)

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the next state."""
        ours, theirs = self.inner(x), self.outer(state)
        reset = (ours[:, :8] + theirs[:, :8]).sigmoid()
        update = (ours[:, 8:16] - theirs[:, 8:16]).softmax(1)
        new = (ours[:, 16:] + reset * theirs[:, 16:]).tanh()
        return rounded(new * 3) - update * (new - state)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the last state, and its running sum."""
        state = torch.zeros(x.shape[0], 8) + 0.25
        for at in range(3):
            state = self.step(x[:, at], state)
        return state, state.cumsum(1)


class Mixer(nn.Module):
    """Features and tokens mixed by turns."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Linear(6, 6)
        self.features = nn.Linear(10, 20)
        self.back = nn.Linear(20, 10)
        self.norm = nn.LayerNorm(10)

    def forward(self, x: Tensor) -> Tensor:
        """Mix tokens, then features."""
        mixed = self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        x = x - rounded(mixed)
        wide = functional.gelu(self.features(x))
        wide = wide[:, :, 2:18].softmax(1)
        wide = functional.pad(wide, (2, 2)) / (2 + rounded(self.features(x).cos()))
        narrow = self.back(wide)
        return (narrow - x)[:, 1:5].cumsum(1).softmax(-1)


class Encoder(nn.Module):
    """Down and up again, with skip connections."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv1d(4, 8, 3, padding=1)
        self.inner = nn.Conv1d(8, 8, 3, padding=1)
        self.up = nn.ConvTranspose1d(8, 4, 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """Go down, up, and join both."""
        wide = self.down(x)
        small = functional.max_pool1d(wide.relu(), 2)
        inner = (self.inner(small) - rounded(small)).softmax(1)
        up = self.up(inner)
        both = torch.cat([x[:, :, 1:15], up[:, :, :14]], 1)
        both = both.cumsum(2) / (3 + rounded(both.sin()))
        return both[:, 2:6].softmax(2)


def networks() -> dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]]:
    """Return the constructor of each network, and the shape of its input."""
    return {
        "convolutional": (Convolutional, (2, 3, 12, 12)),
        "attention": (Attention, (2, 7, 16)),
        "recurrent": (Recurrent, (3, 3, 12)),
        "mixer": (Mixer, (2, 6, 10)),
        "encoder": (Encoder, (2, 4, 16)),
    }


def program(name: str) -> torch.export.ExportedProgram:
    """Export a network with seeded weights."""
    make, shape = networks()[name]
    torch.manual_seed(len(name))
    module = make().eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return torch.export.export(module, (torch.randn(shape),))
