"""A family that no list has: short convolutions, full and sliding attention, and two norms.

It registers itself with transformers, so that `--code` with this file converts its checkpoints.
The heads have an odd size, whose sum is not the width of the model.
"""

# ruff: noqa: D102, D105

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    DynamicCache,
    GenerationMixin,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast


class UnlistedConfig(PretrainedConfig):
    """The sizes of a model; `layer_types` says which layers it has."""

    model_type = "unlisted"

    vocab_size: int = 128
    hidden_size: int = 52
    num_hidden_layers: int = 4
    num_attention_heads: int = 6
    num_key_value_heads: int = 3
    head_dim: int = 14
    kernel: int = 4
    sliding_window: int = 5
    max_position_embeddings: int = 96
    tie_word_embeddings: bool = False
    layer_types: list[str] | None = None
    bos_token_id: int | None = 1
    eos_token_id: int | None = 2
    pad_token_id: int | None = 0

    def __post_init__(self, **rest: Any) -> None:
        if self.layer_types is None:
            self.layer_types = ["conv", "sliding_attention", "conv", "full_attention"]
        super().__post_init__(**rest)


class Norm(nn.Module):
    """A root mean square norm with a bias."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight + self.bias


class Attention(nn.Module):
    """Grouped attention with rotated heads and a norm of queries."""

    def __init__(self, config: UnlistedConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.size = layer, config.head_dim
        self.heads, self.shared = config.num_attention_heads, config.num_key_value_heads
        width = config.hidden_size
        self.query = nn.Linear(width, self.heads * self.size, bias=False)
        self.key = nn.Linear(width, self.shared * self.size, bias=False)
        self.value = nn.Linear(width, self.shared * self.size, bias=True)
        self.out = nn.Linear(self.heads * self.size, width, bias=False)
        self.norm = nn.LayerNorm(self.size)

    def forward(self, x: torch.Tensor, places: torch.Tensor, mask: Any, cache: Any) -> torch.Tensor:
        batch, tokens, _ = x.shape

        def split(of: nn.Linear, heads: int) -> torch.Tensor:
            return of(x).reshape(batch, tokens, heads, self.size).transpose(1, 2)

        def turned(part: torch.Tensor) -> torch.Tensor:
            rates = 100.0 ** (-torch.arange(self.size // 2, dtype=torch.float32) / self.size)
            angles = places[:, None, :, None].float() * rates
            one, other = part.chunk(2, -1)
            cos, sin = angles.cos().to(part.dtype), angles.sin().to(part.dtype)
            return torch.cat([one * cos - other * sin, other * cos + one * sin], -1)

        query = turned(self.norm(split(self.query, self.heads)))
        key, value = turned(split(self.key, self.shared)), split(self.value, self.shared)
        key, value = cache.update(key, value, self.layer)
        groups = self.heads // self.shared
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        if mask is None:
            length = key.shape[2]
            mask = torch.ones(tokens, length, dtype=torch.bool).tril(length - tokens)
        mixed = functional.scaled_dot_product_attention(query, key, value, mask)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, self.heads * self.size))


class Convolution(nn.Module):
    """A gated causal convolution of each channel, with the last inputs as its state."""

    def __init__(self, config: UnlistedConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.kernel, width = layer, config.kernel, config.hidden_size
        self.project, self.out = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.weight = nn.Parameter(torch.randn(width, 1, config.kernel))

    def forward(self, x: torch.Tensor, places: torch.Tensor, mask: Any, cache: Any) -> torch.Tensor:
        tokens = x.shape[1]
        if mask is not None:
            x = x * mask[:, :, None].to(x.dtype)
        gate, x = self.project(x).transpose(1, 2).chunk(2, 1)
        extended = cache.update_conv_state(x, self.layer, conv_kernel_size=self.kernel)
        extended = functional.pad(extended, (self.kernel - 1, 0))
        x = functional.conv1d(extended, self.weight, groups=x.shape[1])[:, :, -tokens:]
        return self.out((functional.silu(gate) * x).transpose(1, 2))


class Layer(nn.Module):
    """A mixer and a projection, each behind its own norm."""

    def __init__(self, config: UnlistedConfig, layer: int) -> None:
        super().__init__()
        kind = Convolution if config.layer_types[layer] == "conv" else Attention
        width = config.hidden_size
        self.before, self.between = Norm(width), nn.LayerNorm(width)
        self.mixer = kind(config, layer)
        self.up, self.down = nn.Linear(width, 70), nn.Linear(70, width)

    def forward(self, x: torch.Tensor, *rest: Any) -> torch.Tensor:
        x = x + self.mixer(self.before(x), *rest)
        return x + self.down(functional.gelu(self.up(self.between(x))))


class UnlistedPreTrainedModel(PreTrainedModel):
    """The base of both classes."""

    config_class = UnlistedConfig
    base_model_prefix = "model"
    _supports_sdpa = True


class UnlistedModel(UnlistedPreTrainedModel):
    """The layers."""

    def __init__(self, config: UnlistedConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, at) for at in range(config.num_hidden_layers))
        self.norm = nn.LayerNorm(config.hidden_size)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        **_: Any,
    ) -> BaseModelOutputWithPast:
        x = self.embedding(input_ids)
        tokens = input_ids.shape[1]
        cache = DynamicCache(config=self.config) if past_key_values is None else past_key_values
        if position_ids is None:
            position_ids = torch.arange(tokens)[None] + cache.get_seq_length()
        given = {
            "config": self.config,
            "inputs_embeds": x,
            "attention_mask": attention_mask,
            "past_key_values": cache,
            "position_ids": position_ids,
        }
        masks = {
            "full_attention": create_causal_mask(**given),
            "sliding_attention": create_sliding_window_causal_mask(**given),
            "conv": None if attention_mask is None else attention_mask[:, -tokens:],
        }
        for kind, layer in zip(self.config.layer_types, self.layers, strict=True):
            x = layer(x, position_ids, masks[kind], cache)
        return BaseModelOutputWithPast(last_hidden_state=self.norm(x), past_key_values=cache)


class UnlistedForCausalLM(UnlistedPreTrainedModel, GenerationMixin):
    """The layers and a head."""

    def __init__(self, config: UnlistedConfig) -> None:
        super().__init__(config)
        self.model = UnlistedModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: Any = None,
        logits_to_keep: int = 0,
        **rest: Any,
    ) -> CausalLMOutputWithPast:
        out = self.model(input_ids, attention_mask, position_ids, past_key_values)
        logits = self.lm_head(out.last_hidden_state[:, -logits_to_keep:])
        return CausalLMOutputWithPast(logits=logits, past_key_values=out.past_key_values)


AutoConfig.register("unlisted", UnlistedConfig, exist_ok=True)
AutoModelForCausalLM.register(UnlistedConfig, UnlistedForCausalLM, exist_ok=True)
