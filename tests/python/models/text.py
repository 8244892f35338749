"""Transformers of two small layers with random weights; Whisper has its real tiny size."""

from __future__ import annotations

import torch
import transformers
from torch import Tensor, nn
from torch.export import Dim
from transformers import DynamicCache

from tests.python.models.registry import BATCH, SEQUENCE, Recipe, model

VOCABULARY = 128
HEADS = 4
TOKENS = {0: BATCH, 1: SEQUENCE}


class WithCache(nn.Module):
    """A decoder step: `past` holds key and value `[batch, heads, past, width]` per layer."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, past: list[tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        cache = DynamicCache(past)
        out = self.inner(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
        )
        present = [(layer.keys, layer.values) for layer in out.past_key_values.layers]
        return out.logits, present


def tokens(length: int = 7, batch: int = 2) -> Tensor:
    """Return random token ids `[batch, length]`."""
    return torch.randint(3, VOCABULARY, (batch, length))


def mask(length: int = 7, batch: int = 2) -> Tensor:
    """Return an attention mask `[batch, length]` whose last row hides its first position."""
    result = torch.ones(batch, length, dtype=torch.int64)
    result[-1, 0] = 0
    return result


def tokens_and_mask(inner: nn.Module) -> Recipe:
    """Return a recipe with token ids and a mask, dynamic in batch and sequence."""
    kwargs = {"input_ids": tokens(), "attention_mask": mask()}
    return Recipe(inner, kwargs=kwargs, shapes=dict.fromkeys(kwargs, TOKENS))


def decoder_with_cache(inner: nn.Module, heads: int, width: int) -> Recipe:
    """Return a recipe for three new tokens after five cached ones."""
    layers = inner.config.num_hidden_layers
    past = [
        (torch.randn(2, heads, 5, width), torch.randn(2, heads, 5, width)) for _ in range(layers)
    ]
    cached = {0: BATCH, 2: Dim("past")}
    shapes = (TOKENS, {0: BATCH, 1: Dim.DYNAMIC}, [(cached, cached)] * layers)
    return Recipe(WithCache(inner), (tokens(3), mask(8), past), shapes=shapes)


@model("distilbert")
def distilbert():
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY, dim=32, hidden_dim=64, n_layers=2, n_heads=HEADS
    )
    return tokens_and_mask(transformers.DistilBertForSequenceClassification(config))


@model("deberta_v2")
def deberta_v2():
    config = transformers.DebertaV2Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=16,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
    )
    return tokens_and_mask(transformers.DebertaV2Model(config))


def gpt2_model(use_cache: bool) -> nn.Module:
    """Return GPT-2 of two layers."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=32,
        n_layer=2,
        n_head=HEADS,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=use_cache,
    )
    return transformers.GPT2LMHeadModel(config)


@model("gpt2")
def gpt2():
    return tokens_and_mask(gpt2_model(use_cache=False))


@model("gpt2_cache")
def gpt2_cache():
    return decoder_with_cache(gpt2_model(use_cache=True), HEADS, 8)


def llama_model(use_cache: bool) -> nn.Module:
    """Return Llama of two layers with grouped key and value heads."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        max_position_embeddings=64,
        use_cache=use_cache,
    )
    return transformers.LlamaForCausalLM(config)


@model("llama")
def llama():
    return tokens_and_mask(llama_model(use_cache=False))


@model("llama_cache")
def llama_cache():
    return decoder_with_cache(llama_model(use_cache=True), 2, 8)


@model("t5")
def t5():
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=HEADS,
        use_cache=False,
    )
    kwargs = {
        "input_ids": tokens(),
        "attention_mask": mask(),
        "decoder_input_ids": tokens(4),
    }
    shapes = {**dict.fromkeys(kwargs, TOKENS), "decoder_input_ids": {0: BATCH, 1: Dim("target")}}
    module = transformers.T5ForConditionalGeneration(config)
    return Recipe(module, kwargs=kwargs, shapes=shapes)


@model("whisper_tiny", static="the audio is always 3000 frames; batch and target are dynamic")
def whisper_tiny():
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        decoder_layers=4,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
        use_cache=False,
    )
    kwargs = {"input_features": torch.randn(2, 80, 3000), "decoder_input_ids": tokens(4)}
    shapes = {"input_features": {0: BATCH}, "decoder_input_ids": {0: BATCH, 1: Dim("target")}}
    module = transformers.WhisperForConditionalGeneration(config)
    return Recipe(module, kwargs=kwargs, shapes=shapes)
