"""Decoders: a prompt without a cache, or new tokens behind a cache."""

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

from .encoders import LAYERS, LENGTH, VOCABULARY, sentences

# The widths of decoders with four queries to a key.
GROUPED: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
}
PAST, SOURCE = Dim("past", min=2, max=2000), Dim("source", min=2, max=2000)


def pairs(heads: int, places: int, width: int) -> list[tuple[Tensor, Tensor]]:
    """Return random keys and values for each layer."""
    shape = (1, heads, places, width)
    return [(torch.randn(shape), torch.randn(shape)) for _ in range(LAYERS)]


def after(
    inner: nn.Module, heads: int, width: int, past: int, new: int, own: bool = False
) -> Recipe:
    """Return a recipe for `new` tokens after `past` cached ones.

    With `own`, each axis of the cache is dynamic on its own, instead of sharing one `Dim`.
    """
    mask = torch.ones(1, past + new, dtype=torch.int64)
    tokens = torch.randint(3, VOCABULARY, (1, new))
    length = {1: LENGTH} if new > 1 else {}
    cached = {2: Dim.DYNAMIC if own else PAST}
    shapes = (length, {1: Dim.DYNAMIC}, [(cached, cached)] * LAYERS)
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


def gpt2(use_cache: bool = True) -> nn.Module:
    """Return GPT-2 at its own width."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_layer=LAYERS,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=use_cache,
    )
    return transformers.GPT2LMHeadModel(config)


def llama(places: int = 2048, use_cache: bool = True) -> nn.Module:
    """Return Llama at a width of 1024, four queries to a key."""
    config = transformers.LlamaConfig(
        **GROUPED,
        max_position_embeddings=places,
        use_cache=use_cache,
    )
    return transformers.LlamaForCausalLM(config)


def mistral() -> nn.Module:
    """Return Mistral, whose places see a window of 256 before them."""
    config = transformers.MistralConfig(
        **GROUPED,
        sliding_window=256,
        use_cache=False,
    )
    return transformers.MistralForCausalLM(config)


def qwen3(use_cache: bool = True) -> nn.Module:
    """Return Qwen 3, which normalises queries and keys."""
    config = transformers.Qwen3Config(
        **GROUPED,
        head_dim=64,
        use_cache=use_cache,
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


def t5_whole() -> Recipe:
    """Return both halves of T5 at the width of its small form."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY, num_layers=LAYERS, num_decoder_layers=LAYERS, use_cache=False
    )
    kwargs = {
        "input_ids": torch.randint(3, VOCABULARY, (1, 256)),
        "attention_mask": torch.ones(1, 256, dtype=torch.int64),
        "decoder_input_ids": torch.randint(3, VOCABULARY, (1, 64)),
    }
    target = {1: Dim("target", min=2, max=512)}
    shapes = {**{key: {1: LENGTH} for key in kwargs}, "decoder_input_ids": target}
    return Recipe(transformers.T5ForConditionalGeneration(config), kwargs=kwargs, shapes=shapes)


def whisper_whole() -> Recipe:
    """Return both halves of Whisper at the width of its tiny form, with half of its layers."""
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
        use_cache=False,
    )
    kwargs = {
        "input_features": torch.randn(1, 80, 3000),
        "decoder_input_ids": torch.randint(3, VOCABULARY, (1, 32)),
    }
    shapes = {"input_features": {}, "decoder_input_ids": {1: Dim("target", min=2, max=256)}}
    module = transformers.WhisperForConditionalGeneration(config)
    return Recipe(module, kwargs=kwargs, shapes=shapes)


def mamba() -> Recipe:
    """Return Mamba; its scan is a step for each token, so that the length is fixed."""
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=768, num_hidden_layers=2, use_cache=False
    )
    tokens = torch.randint(3, VOCABULARY, (1, 16))
    return Recipe(transformers.MambaForCausalLM(config), kwargs={"input_ids": tokens})


PROMPTS: dict[str, Callable[[], Recipe]] = {
    "gpt2": lambda: sentences(gpt2(use_cache=False), 512),
    "llama": lambda: sentences(llama(use_cache=False), 512),
    "qwen3": lambda: sentences(qwen3(use_cache=False), 512),
    "mistral": lambda: sentences(mistral(), 512),
    "t5": t5_whole,
    "whisper": whisper_whole,
    "mamba": mamba,
}
DECODERS: dict[str, Callable[[], Recipe]] = {
    "gpt2_900": lambda: after(gpt2(), 12, 64, 900, 1),
    "llama_900": lambda: after(llama(), 4, 64, 900, 1),
    "llama_900_dims": lambda: after(llama(), 4, 64, 900, 1, own=True),
    "gpt2_900_dims": lambda: after(gpt2(), 12, 64, 900, 1, own=True),
    "llama_3000_dims": lambda: after(llama(4096), 4, 64, 3000, 1, own=True),
    "llama_64": lambda: after(llama(), 4, 64, 256, 64),
    "qwen3_900": lambda: after(qwen3(), 4, 64, 900, 1),
    "gemma2_900": lambda: after(gemma2(), 4, 64, 900, 1),
    "t5_200": t5,
    "whisper_200": whisper,
}
