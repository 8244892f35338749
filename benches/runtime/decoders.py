"""Decoders with caches: one new token, or several, after what was read before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.export import Dim
from transformers import DynamicCache, EncoderDecoderCache

from tests.python.models.registry import Recipe
from tests.python.models.text import WithCache

VOCABULARY = 1000
LAYERS = 4
PAST, SOURCE = Dim("past", min=2, max=2000), Dim("source", min=2, max=2000)


def pairs(heads: int, places: int, width: int) -> list[tuple[Tensor, Tensor]]:
    """Return random keys and values for each layer."""
    shape = (1, heads, places, width)
    return [(torch.randn(shape), torch.randn(shape)) for _ in range(LAYERS)]


def after(inner: nn.Module, heads: int, width: int, past: int, new: int) -> Recipe:
    """Return a recipe for `new` tokens after `past` cached ones."""
    mask = torch.ones(1, past + new, dtype=torch.int64)
    tokens = torch.randint(3, VOCABULARY, (1, new))
    length = {1: Dim("length", min=2, max=512)} if new > 1 else {}
    shapes = (length, {1: Dim.DYNAMIC}, [({2: PAST}, {2: PAST})] * LAYERS)
    return Recipe(WithCache(inner), (tokens, mask, pairs(heads, past, width)), shapes=shapes)


class Half(nn.Module):
    """The decoder of a model of two halves, with caches of its own places and of the encoder's."""

    def __init__(self, inner: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.inner, self.head = inner, head

    def forward(
        self, tokens: Tensor, source: Tensor, own: list[Any], crossed: list[Any]
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return logits and the decoder's own cache."""
        cache = EncoderDecoderCache(DynamicCache(own), DynamicCache(crossed))
        out = self.inner(
            input_ids=tokens, encoder_hidden_states=source, past_key_values=cache, use_cache=True
        )
        layers = out.past_key_values.self_attention_cache.layers
        return self.head(out[0]), [(layer.keys, layer.values) for layer in layers]


def crossed(inner: nn.Module, head: nn.Module, heads: int, width: int, source: int) -> Recipe:
    """Return a recipe for a token after 200, over `source` places of an encoder."""
    tokens = torch.randint(3, VOCABULARY, (1, 1))
    caches = (pairs(heads, 200, width), pairs(heads, source, width))
    args = (tokens, torch.randn(1, source, heads * width), *caches)
    own, other = [({2: PAST}, {2: PAST})] * LAYERS, [({2: SOURCE}, {2: SOURCE})] * LAYERS
    return Recipe(Half(inner, head), args, shapes=({}, {1: SOURCE}, own, other))


def llama() -> nn.Module:
    """Return Llama at a width of 512, four queries to a key."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=LAYERS,
        num_attention_heads=16,
        num_key_value_heads=4,
    )
    return transformers.LlamaForCausalLM(config)


def qwen3() -> nn.Module:
    """Return Qwen 3, which normalises queries and keys."""
    config = transformers.Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
    )
    return transformers.Qwen3ForCausalLM(config)


def gemma2() -> nn.Module:
    """Return Gemma 2: every other layer sees a window, and scores are capped."""
    config = transformers.Gemma2Config(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=64,
        sliding_window=256,
    )
    return transformers.Gemma2ForCausalLM(config)


def t5() -> Recipe:
    """Return the decoder of T5 at the width of its small form."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY, num_layers=LAYERS, num_decoder_layers=LAYERS
    )
    model = transformers.T5ForConditionalGeneration(config)
    return crossed(model.decoder, model.lm_head, 8, 64, 300)


def whisper() -> Recipe:
    """Return the decoder of Whisper at the width of its base form."""
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=512,
        encoder_layers=1,
        decoder_layers=LAYERS,
        decoder_attention_heads=8,
        encoder_attention_heads=8,
        decoder_ffn_dim=2048,
        pad_token_id=1,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    return crossed(model.model.decoder, model.proj_out, 8, 64, 1500)


DECODERS: dict[str, Callable[[], Recipe]] = {
    "llama_64": lambda: after(llama(), 4, 32, 256, 64),
    "qwen3_900": lambda: after(qwen3(), 2, 64, 900, 1),
    "gemma2_900": lambda: after(gemma2(), 4, 64, 900, 1),
    "t5_200": t5,
    "whisper_200": whisper,
}
