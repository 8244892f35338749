"""Small checkpoints of language models, with random weights in several shards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedModel

VOCABULARY = 128
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"

_BASE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 96,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_GROUPED = {**_BASE, "num_key_value_heads": 2}

# Grouped heads, tied heads, biases, norms of heads, softcaps, sliding windows, fused projections,
# learned positions, positions from the mask alone, experts that are stored one by one,
# states of convolutions, and a table of masks.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {**_GROUPED, "eos_token_id": [2, 3]}),
    "qwen3": ("Qwen3Config", {**_GROUPED, "head_dim": 16, "tie_word_embeddings": True}),
    "gemma2": ("Gemma2Config", {**_GROUPED, "head_dim": 8, "sliding_window": 4}),
    "gemma3": ("Gemma3TextConfig", {**_GROUPED, "head_dim": 8, "sliding_window": 4}),
    "mistral": ("MistralConfig", {**_GROUPED, "sliding_window": 4}),
    "phi3": ("Phi3Config", _GROUPED),
    "cohere": ("CohereConfig", {**_GROUPED, "hidden_size": 64}),
    "gpt_neox": ("GPTNeoXConfig", {**_BASE, "hidden_size": 128, "rotary_pct": 0.5}),
    "gpt2": (
        "GPT2Config",
        {
            "vocab_size": VOCABULARY,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 96,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
    ),
    "bloom": (
        "BloomConfig",
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "n_layer": 2,
            "n_head": 4,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
    ),
    "mixtral": ("MixtralConfig", {**_GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "lfm2": (
        "Lfm2Config",
        {
            **_GROUPED,
            "num_hidden_layers": 3,
            "layer_types": ["conv", "full_attention", "conv"],
            "block_auto_adjust_ff_dim": False,
        },
    ),
    "gpt_neo": (
        "GPTNeoConfig",
        {
            **_BASE,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
        },
    ),
    # Its conversion has diagnostics about lines of the model.
    "mpt": (
        "MptConfig",
        {
            "vocab_size": VOCABULARY,
            "d_model": 32,
            "n_layers": 2,
            "n_heads": 4,
            "max_seq_len": 96,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
    ),
    "mamba": (
        "MambaConfig",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
    ),
}


def build(family: str, **changed: Any) -> PreTrainedModel:
    """Return a model whose layers all matter; `changed` are further settings."""
    name, options = FAMILIES[family]
    config = getattr(transformers, name)(**{**options, **changed})
    torch.manual_seed(0)
    # The fused attention has no softcap.
    attention = {"attn_implementation": "eager"} if family == "gemma2" else {}
    model = transformers.AutoModelForCausalLM.from_config(config, **attention).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn_like(parameter)
            parameter.copy_(noise * 0.3 if parameter.dim() > 1 else parameter + noise * 0.1)
    return model


def save(model: PreTrainedModel, folder: Path, shard: str = "40KB", **options: Any) -> Path:
    """Write a checkpoint with a tokenizer; `options` are those of `save_pretrained`."""
    model.save_pretrained(folder, max_shard_size=shard, **options)
    words = {f"w{token}": token for token in range(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="w1", eos_token="w2", pad_token="w0"
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    return folder


def made_once(
    folders: Any, make: Callable[[str, Path], tuple[Path, Path, dict]]
) -> Callable[[str], tuple[Path, Path, dict]]:
    """Return a function that calls `make` once for each family, in a folder of its own.

    `folders` is pytest's `tmp_path_factory`. A result is a checkpoint, its model and the output.
    """
    return functools.cache(lambda family: make(family, folders.mktemp(family)))
