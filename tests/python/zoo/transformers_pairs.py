"""Architectures of transformers for several kinds of inputs, and unusual ones."""

from __future__ import annotations

import torch
import transformers
from torch.export import Dim

from tests.python.models.text import mask, tokens
from tests.python.zoo.inputs import (
    DECODER,
    PICTURE,
    SMALL,
    TOKENS,
    fixed_id_inputs,
    hf,
    named_inputs,
)

TEXT_TOWER = {**SMALL, "projection_dim": 16}
VISION_TOWER = {**SMALL, **PICTURE, "projection_dim": 16}
CAPTIONS = named_inputs(
    {
        "input_ids": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC},
        "attention_mask": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC},
    },
    input_ids=lambda: tokens(7, 3),
    pixel_values=lambda: torch.randn(2, 3, 32, 32),
    attention_mask=lambda: mask(7, 3),
)
hf("clip", "CLIPModel", CAPTIONS, text_config=TEXT_TOWER, vision_config=VISION_TOWER)
hf("siglip", "SiglipModel", CAPTIONS, text_config=TEXT_TOWER, vision_config=VISION_TOWER)
hf(
    "layoutlm",
    "LayoutLMForTokenClassification",
    named_inputs(
        {"input_ids": TOKENS, "bbox": TOKENS},
        input_ids=tokens,
        bbox=lambda: torch.randint(0, 32, (2, 7, 4)).sort(-1).values,
    ),
    max_2d_position_embeddings=64,
)
hf(
    "llava",
    "LlavaForConditionalGeneration",
    named_inputs(
        {"input_ids": None, "pixel_values": None},
        input_ids=lambda: torch.cat([torch.full((2, 16), 127), tokens() % 120], 1),
        pixel_values=lambda: torch.randn(2, 3, 32, 32),
    ),
    text_config=transformers.LlamaConfig(**SMALL, **DECODER),
    vision_config=transformers.CLIPVisionConfig(**VISION_TOWER),
    image_token_index=127,
    image_token_id=127,
)
hf(
    "blip",
    "BlipForConditionalGeneration",
    named_inputs(
        {"input_ids": TOKENS, "attention_mask": TOKENS},
        input_ids=tokens,
        attention_mask=mask,
        pixel_values=lambda: torch.randn(2, 3, 32, 32),
    ),
    text_config={**TEXT_TOWER, "encoder_hidden_size": 32},
    vision_config=VISION_TOWER,
)
hf(
    "tapas",
    "TapasModel",
    named_inputs(
        dict.fromkeys(["input_ids", "attention_mask", "token_type_ids"], TOKENS),
        input_ids=tokens,
        attention_mask=mask,
        token_type_ids=lambda: torch.randint(0, 2, (2, 7, 7)),
    ),
)
hf("esm", "EsmForMaskedLM", position_embedding_type="rotary", mask_token_id=4)
hf("ibert", "IBertForMaskedLM", max_position_embeddings=80)
hf(
    "canine",
    "CanineModel",
    fixed_id_inputs,
    num_hash_functions=4,
    num_hash_buckets=64,
    downsampling_rate=2,
    local_transformer_stride=4,
)
hf(
    "perceiver",
    "PerceiverModel",
    named_inputs({}, inputs=lambda: torch.randn(2, 9, 16)),
    d_model=16,
    d_latents=32,
    num_latents=6,
    num_self_attends_per_block=2,
    num_self_attention_heads=4,
    num_cross_attention_heads=4,
)
hf(
    "sam",
    "SamModel",
    named_inputs(
        {},
        pixel_values=lambda: torch.randn(2, 3, 64, 64),
        input_points=lambda: torch.rand(2, 1, 2, 2) * 60,
    ),
    vision_config={
        **SMALL,
        "image_size": 64,
        "patch_size": 16,
        "mlp_dim": 64,
        "output_channels": 16,
        "window_size": 2,
        "global_attn_indexes": [1],
        "num_pos_feats": 8,
    },
    prompt_encoder_config={
        "hidden_size": 16,
        "image_size": 64,
        "patch_size": 16,
        "mask_input_channels": 4,
        "image_embedding_size": 4,
    },
    mask_decoder_config={
        "hidden_size": 16,
        "mlp_dim": 32,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    },
)
