"""A decoder without transformers: a module, and the function `decoder` that describes it."""

# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, SIZE, KERNEL, VOCABULARY = 40, 3, 10, 3, 128


class Attention(nn.Module):
    """Causal attention with a penalty for distance."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * HEADS * SIZE)
        self.out = nn.Linear(HEADS * SIZE, WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, past: list[torch.Tensor]) -> Any:
        batch, tokens, _ = x.shape
        parts = self.project(x).reshape(batch, tokens, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        key, value = (torch.cat([one, parts[at]], 2) for at, one in enumerate(past, 1))
        places = mask.cumsum(1)
        distance = places[:, -tokens:, None] - places[:, None]
        allowed = (distance >= 0) & (mask[:, None] > 0)
        penalty = torch.where(allowed, -0.1 * distance, -1e9)[:, None].to(x.dtype)
        mixed = functional.scaled_dot_product_attention(parts[0], key, value, penalty)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, -1)), [key, value]


class Convolution(nn.Module):
    """A causal convolution of each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, 1, KERNEL))

    def forward(self, x: torch.Tensor, mask: torch.Tensor, past: list[torch.Tensor]) -> Any:
        counted = (x * mask[:, -x.shape[1] :, None].to(x.dtype)).transpose(1, 2)
        extended = torch.cat([past[0], counted], 2)
        mixed = functional.conv1d(extended, self.weight, groups=WIDTH)
        return functional.silu(mixed).transpose(1, 2), [extended[:, :, -(KERNEL - 1) :]]


class Tiny(nn.Module):
    """A convolution, attention, and the embedding as head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Convolution(), Attention(), Attention()])
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)])

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, *caches: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        x, rest, present = self.embedding(input_ids), list(caches), []
        for norm, layer in zip(self.norms, self.layers, strict=True):
            count = 2 if isinstance(layer, Attention) else 1
            past, rest = rest[:count], rest[count:]
            mixed, kept = layer(norm(x), attention_mask, past)
            x, present = x + mixed, present + kept
        return functional.linear(x, self.embedding.weight), *present


def decoder(checkpoint: str) -> dict[str, Any]:
    """Describe the model for `onnxport llm --code`."""
    attention = {"heads": HEADS, "size": SIZE}
    return {
        "model": Tiny(),
        "caches": [{"channels": WIDTH, "length": KERNEL - 1}, attention, attention],
        "vocabulary": VOCABULARY,
        "context": 96,
        "eos": 2,
    }
