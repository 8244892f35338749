"""Families of transformers that generate text, with small configurations and random weights.

`FAMILIES` has every model type that transformers maps to a causal or an encoder-decoder language
model, by its class; `build` makes a small one. `check_families.py` exports each from calls of
`generate`; `families.toml` lists those that fail. `python -m tests.python.zoo.families` prints
`docs/families.md`.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from tests.python import known_failures

# The values of fields of configurations, wherever these have them.
FIELDS: dict[str, Any] = {
    **dict.fromkeys(
        (
            "hidden_size",
            "d_model",
            "n_embd",
            "embed_dim",
            "embedding_size",
            "embedding_dim",
            "lru_width",
            "attention_hidden_size",
            "word_embed_proj_dim",
            "dim_model",
        ),
        32,
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "ffn_dim",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "ffn_hidden_size",
            "d_ff",
            "dim_ff",
            "n_inner",
            "dff",
            "d_inner",
            "shared_intermediate_size",
            "intermediate_size_mlp",
            "dense_intermediate_size",
            "prefix_dense_intermediate_size",
        ),
        64,
    ),
    **dict.fromkeys(
        ("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size"), 16
    ),
    **dict.fromkeys(
        (
            "num_hidden_layers",
            "n_layer",
            "n_layers",
            "num_layers",
            "encoder_layers",
            "decoder_layers",
            "num_encoder_layers",
            "num_decoder_layers",
            "num_blocks",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "n_head",
            "n_heads",
            "num_heads",
            "attention_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
            "num_encoder_attention_heads",
            "num_decoder_attention_heads",
        ),
        4,
    ),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "kv_n_heads"), 2),
    **dict.fromkeys(
        (
            "head_dim",
            "d_kv",
            "v_head_dim",
            "swa_head_dim",
            "swa_v_head_dim",
            "kv_lora_rank",
            "qk_nope_head_dim",
            "qk_rope_head_dim",
            "attention_head_dim",
            "dim_head",
            "rotary_dim",
            "mamba_d_state",
            "state_size",
            "mamba_d_head",
            "mamba_headdim",
            "mamba_head_dim",
            "ssm_state_size",
            "linear_key_head_dim",
            "linear_value_head_dim",
            "global_head_dim",
            "index_head_dim",
            "hidden_size_per_layer_input",
            "adapter_rank",
        ),
        8,
    ),
    **dict.fromkeys(("q_lora_rank", "o_lora_rank"), 16),
    **dict.fromkeys(
        (
            "num_experts",
            "num_local_experts",
            "n_routed_experts",
            "moe_num_experts",
            "mamba_dt_rank",
            "time_step_rank",
            "linear_num_key_heads",
            "linear_num_value_heads",
            "chunk_size",
            "mamba_chunk_size",
            "index_n_heads",
            "index_topk",
            "sliding_window",
            "attention_window_size",
        ),
        4,
    ),
    **dict.fromkeys(
        (
            "num_experts_per_tok",
            "num_experts_per_token",
            "moe_topk",
            "moe_top_k",
            "moe_k",
            "top_k_experts",
            "n_group",
            "mamba_n_groups",
            "n_groups",
            "mamba_ngroups",
            "num_global_key_value_heads",
        ),
        2,
    ),
    **dict.fromkeys(("topk_group", "first_k_dense_replace", "num_mem_blocks"), 1),
    **dict.fromkeys(("mamba_n_heads", "n_mamba_heads", "mamba_num_heads"), 8),
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "expert_layer_period": 2,
    "use_mamba_kernels": False,
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input", "decoder_vocab_size"), 128),
    **dict.fromkeys(
        (
            "max_position_embeddings",
            "n_positions",
            "max_seq_len",
            "max_target_positions",
            "max_source_positions",
            "context_length",
            "max_sequence_length",
        ),
        96,
    ),
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}

# Encoders that can be decoders.
_ENCODERS = (
    "bert",
    "bert-generation",
    "big_bird",
    "camembert",
    "data2vec-text",
    "electra",
    "ernie",
    "megatron-bert",
    "rembert",
    "roberta",
    "roberta-prelayernorm",
    "roformer",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
)
_DELTA_RULE = ("qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "qwen4_exp_text")
_LINEAR = ["linear_attention", "full_attention"]
_SHARED = ["sliding_attention", "full_attention"] * 2

# Where that does not fit together.
FURTHER: dict[str, dict[str, Any]] = {
    **{name: {"is_decoder": True} for name in _ENCODERS},
    "roc_bert": {
        "is_decoder": True,
        "pronunciation_vocab_size": 16,
        "shape_vocab_size": 16,
    },
    "bailing_hybrid": {"layer_group_size": 2},
    "bamba": {"attn_layer_indices": [1]},
    "cohere_compass_text": {"layer_types": ["sliding_attention", "full_attention"]},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1},
    "dots3_note_text": {"num_key_value_heads": 4},
    "falcon_h1": {"mamba_d_ssm": 64},
    "fsmt": {
        "langs": ["en", "de"],
        "src_vocab_size": 128,
        "tgt_vocab_size": 128,
    },
    "gemma3n_text": {"num_hidden_layers": 4, "num_kv_shared_layers": 2, "layer_types": _SHARED},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 4},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "kimi_linear": {"layer_types": _LINEAR},
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "lfm3": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"num_heads": 8, "expand": 2, "n_groups": 2},
    **{name: {"layer_types": _LINEAR} for name in _DELTA_RULE},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "minimax": {"layer_types": _LINEAR},
    "reformer": {
        "is_decoder": True,
        "attn_layers": ["local", "lsh"],
        "axial_pos_shape": [8, 12],
        "axial_pos_embds_dim": [16, 16],
        "num_buckets": 4,
    },
    "zamba": {"num_hidden_layers": 3, "attn_layer_period": 2},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"]},
    "xlstm": {"num_heads": 4, "num_blocks": 2, "chunk_size": 4},
    "zaya": {"num_experts_per_tok": 1},
    "xlm": {"n_words": 128, "emb_dim": 32},
}

FAMILIES: dict[str, str] = {
    **auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    **auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
}


def sizes(config: type, **given: Any) -> dict[str, Any]:
    """Return small sizes for the fields that a class of configurations has."""
    fields = {field.name for field in dataclasses.fields(config)}
    options: dict[str, Any] = {name: FIELDS[name] for name in FIELDS if name in fields}
    for name, inner in getattr(config, "sub_configs", {}).items():
        if name in fields and dataclasses.is_dataclass(inner):
            options[name] = sizes(inner, **given.pop(name, {}))
    if "kv_lora_rank" in options:
        # Its keys have as many heads as its queries.
        options["num_key_value_heads"] = 4
    return options | given


def build(family: str) -> nn.Module:
    """Return a small model of a family."""
    config = CONFIG_MAPPING[family]
    cls = getattr(transformers, FAMILIES[family])
    model = cls(config(**sizes(config, **FURTHER.get(family, {}))))
    for name, weight in model.named_parameters():
        # Zeros score all experts alike, and which of them are selected is not defined.
        if "router" in name and not weight.any():
            nn.init.normal_(weight, std=0.02)
    return model


def results() -> dict[str, str]:
    """Return the result of each family: nothing if its steps are equal, or why they are not."""
    known = known_failures.load(Path(__file__).with_name("families.toml"))
    return {family: known.get(family, "") for family in sorted(FAMILIES)}


def is_untried(reason: str) -> bool:
    """Tell whether a family was not tried."""
    return reason.startswith("not tried")


PAGE = """# Families of language models

Each family of transformers that generates text, with a small configuration and random weights:
`onnxport.observe` records two calls of `generate`, `export_all` writes the models, and every step
of two other calls, with another batch and other lengths, is compared with the module in ONNX
Runtime. *Equal* steps differ by at most 1e-4. See [observing calls](observing.md).

transformers {version}, PyTorch {torch}: {equal} of {tried} families are equal, and {untried} were
not tried. The table is generated by `python -m tests.python.zoo.families`, and
`pytest tests/python/zoo/check_families.py` checks it.

| family | class | steps |
|---|---|---|
{rows}
"""


def page() -> str:
    """Return the text of `docs/families.md`."""
    known = results()
    rows = [
        f"| {family} | `{FAMILIES[family]}` | {reason or 'equal'} |"
        for family, reason in known.items()
    ]
    return PAGE.format(
        version=transformers.__version__,
        torch=torch.__version__.split("+")[0],
        equal=sum(not reason for reason in known.values()),
        tried=sum(not is_untried(reason) for reason in known.values()),
        untried=sum(is_untried(reason) for reason in known.values()),
        rows="\n".join(rows),
    )


if __name__ == "__main__":
    print(page(), end="")
