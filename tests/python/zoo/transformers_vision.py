"""Architectures of transformers for pictures and films."""

from __future__ import annotations

import torch
import transformers

from tests.python.zoo.inputs import (
    PICTURE,
    SMALL,
    hf,
    named_inputs,
    picture_inputs,
)

hf("dinov2", "Dinov2Model", picture_inputs(), **PICTURE)
hf("dinov2_registers", "Dinov2WithRegistersModel", picture_inputs(), **PICTURE)
hf("dinov3", "DINOv3ViTModel", picture_inputs(), num_register_tokens=2, **PICTURE)
hf("vit", "ViTForImageClassification", picture_inputs(), **PICTURE)
hf(
    "vit_mae",
    "ViTMAEForPreTraining",
    named_inputs(
        {}, pixel_values=lambda: torch.randn(2, 3, 32, 32), noise=lambda: torch.rand(2, 16)
    ),
    decoder_hidden_size=16,
    decoder_num_hidden_layers=1,
    decoder_num_attention_heads=2,
    decoder_intermediate_size=32,
    **PICTURE,
)
hf(
    "beit",
    "BeitForImageClassification",
    picture_inputs(),
    use_relative_position_bias=True,
    out_indices=[1, 2],
    **PICTURE,
)
hf("siglip_vision", "SiglipVisionModel", picture_inputs(), **PICTURE)
hf("clip_vision", "CLIPVisionModelWithProjection", picture_inputs(), **PICTURE)
hf(
    "swin",
    "SwinForImageClassification",
    picture_inputs(64),
    without=("num_hidden_layers", "num_attention_heads"),
    image_size=64,
    patch_size=4,
    embed_dim=16,
    depths=[2, 2],
    num_heads=[2, 4],
    window_size=4,
)
hf(
    "swin2sr",
    "Swin2SRForImageSuperResolution",
    picture_inputs(16),
    without=("num_hidden_layers", "num_attention_heads"),
    image_size=16,
    patch_size=1,
    embed_dim=16,
    depths=[2, 2],
    num_heads=[2, 4],
    window_size=4,
    upscale=2,
)
hf(
    "segformer",
    "SegformerForSemanticSegmentation",
    picture_inputs(64),
    num_encoder_blocks=4,
    hidden_sizes=[8, 16, 24, 32],
    depths=[1, 1, 1, 1],
    num_attention_heads=[1, 2, 2, 4],
    decoder_hidden_size=32,
    sr_ratios=[8, 4, 2, 1],
)
hf(
    "glpn",
    "GLPNForDepthEstimation",
    picture_inputs(64),
    hidden_sizes=[8, 16, 24, 32],
    depths=[1, 1, 1, 1],
    num_attention_heads=[1, 2, 2, 4],
    decoder_hidden_size=32,
)
hf(
    "mobilevit",
    "MobileViTForImageClassification",
    picture_inputs(64),
    image_size=64,
    hidden_sizes=[16, 24, 32],
    neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32],
)
hf(
    "convnext",
    "ConvNextForImageClassification",
    picture_inputs(64),
    without=("num_hidden_layers", "num_attention_heads"),
    depths=[1, 1, 1, 1],
    hidden_sizes=[8, 16, 24, 32],
)
hf(
    "videomae",
    "VideoMAEForVideoClassification",
    named_inputs({}, pixel_values=lambda: torch.randn(2, 4, 3, 32, 32)),
    num_frames=4,
    **PICTURE,
)
hf(
    "timesformer",
    "TimesformerForVideoClassification",
    named_inputs({}, pixel_values=lambda: torch.randn(2, 4, 3, 32, 32)),
    num_frames=4,
    **PICTURE,
)
hf(
    "vivit",
    "VivitForVideoClassification",
    named_inputs({}, pixel_values=lambda: torch.randn(2, 4, 3, 32, 32)),
    num_frames=4,
    tubelet_size=[2, 8, 8],
    **PICTURE,
)
hf(
    "yolos",
    "YolosForObjectDetection",
    picture_inputs(),
    num_detection_tokens=5,
    **{**PICTURE, "image_size": [32, 32]},
)
hf(
    "depth_anything",
    "DepthAnythingForDepthEstimation",
    picture_inputs(56),
    backbone_config=transformers.Dinov2Config(
        **{**SMALL, "image_size": 56, "patch_size": 14, "num_hidden_layers": 4},
        out_indices=[1, 2, 3, 4],
        reshape_hidden_states=False,
        apply_layernorm=True,
    ),
    reassemble_hidden_size=32,
    patch_size=14,
    neck_hidden_sizes=[8, 8, 16, 16],
    fusion_hidden_size=16,
    head_hidden_size=8,
)
hf(
    "dpt",
    "DPTForDepthEstimation",
    picture_inputs(64),
    backbone_out_indices=[0, 1, 2, 3],
    neck_hidden_sizes=[8, 8, 16, 16],
    fusion_hidden_size=16,
    is_hybrid=False,
    **{**PICTURE, "image_size": 64, "patch_size": 16, "num_hidden_layers": 4},
)
hf(
    "detr",
    "DetrForObjectDetection",
    picture_inputs(64),
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
    num_queries=6,
    use_timm_backbone=False,
    use_pretrained_backbone=False,
    backbone=None,
    backbone_config=transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], out_features=["stage4"]
    ),
)
hf(
    "vitpose",
    "VitPoseForPoseEstimation",
    picture_inputs(64),
    backbone_config=transformers.VitPoseBackboneConfig(
        **{**SMALL, "image_size": [64, 64], "patch_size": [16, 16]}, out_indices=[2]
    ),
    num_labels=5,
    use_simple_decoder=False,
)
hf(
    "superpoint",
    "SuperPointForKeypointDetection",
    named_inputs({"pixel_values": None}, pixel_values=lambda: torch.randn(1, 3, 64, 64)),
    encoder_hidden_sizes=[8, 8, 16, 16],
    decoder_hidden_size=16,
    descriptor_decoder_dim=16,
    keypoint_decoder_dim=65,
    fields=("keypoints", "scores", "descriptors"),
)
