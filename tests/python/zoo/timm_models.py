"""Architectures of timm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import timm
import torch

from tests.python.models.registry import BATCH, Recipe
from tests.python.models.weights import lively
from tests.python.zoo.registry import architecture

TIMM = {
    "beit_base_patch16_224": {"depth": 2, "embed_dim": 96, "num_heads": 4},
    "botnet26t_256": {"img_size": 256},
    "byobnet:gernet_s": {},
    "cait_xxs24_224": {"depth": 2, "depth_token_only": 1},
    "coat_tiny": {},
    "coatnet_nano_rw_224": {},
    "convit_tiny": {},
    "convmixer_768_32": {},
    "convnextv2_atto": {},
    "crossvit_9_240": {},
    "cspresnet50": {},
    "davit_tiny": {},
    "deit3_small_patch16_224": {"depth": 2},
    "densenet121": {},
    "dla34": {},
    "dpn48b": {},
    "edgenext_xx_small": {},
    "efficientformer_l1": {},
    "efficientformerv2_s0": {},
    "efficientnet_b0": {},
    "efficientvit_b0": {},
    "efficientvit_m0": {},
    "eva02_tiny_patch14_224": {"depth": 2},
    "fastvit_t8": {},
    "focalnet_tiny_srf": {},
    "gcvit_xxtiny": {},
    "ghostnet_100": {},
    "halonet26t": {},
    "hgnetv2_b0": {},
    "hiera_tiny_224": {},
    "hrnet_w18_small": {},
    "inception_next_atto": {},
    "inception_v4": {},
    "lambda_resnet26t": {},
    "levit_128s": {},
    "mambaout_femto": {},
    "maxxvit_rmlp_nano_rw_256": {},
    "mixer_s16_224": {},
    "mobilenetv4_conv_small": {},
    "mobileone_s0": {},
    "mobilevit_s": {},
    "mobilevitv2_050": {},
    "mvitv2_tiny": {},
    "naflexvit_base_patch16_gap": {"depth": 2},
    "nest_tiny": {},
    "nextvit_small": {},
    "nf_regnet_b0": {},
    "nfnet_f0": {},
    "pit_ti_224": {},
    "poolformer_s12": {},
    "pvt_v2_b0": {},
    "rdnet_tiny": {},
    "regnetz_b16": {},
    "repghostnet_050": {},
    "repvit_m0_9": {},
    "res2net50_14w_8s": {},
    "resnest14d": {},
    "resnetv2_50x1_bit": {},
    "resnext50_32x4d": {},
    "rexnet_100": {},
    "seresnet18": {},
    "sequencer2d_s": {},
    "shvit_s1": {},
    "skresnet18": {},
    "starnet_s1": {},
    "swiftformer_xs": {},
    "swinv2_tiny_window8_256": {},
    "tiny_vit_5m_224": {},
    "tnt_s_legacy_patch16_224": {},
    "tresnet_m": {},
    "twins_pcpvt_small": {},
    "vgg11_bn": {},
    "visformer_tiny": {},
    "vit_base_patch16_siglip_224": {"depth": 2},
    "vitamin_small_224": {},
    "volo_d1_224": {},
    "vovnet39a": {},
    "xception41": {},
    "xcit_nano_12_p16_224": {},
    "tf_efficientnetv2_b0": {},
    "gmlp_s16_224": {},
    "resmlp_12_224": {},
    "vit_relpos_small_patch16_224": {"depth": 2},
    "samvit_base_patch16": {"depth": 2, "img_size": 256},
    "hieradet_small": {},
    "mobilenetv5_base": {},
    "csatv2": {},
    "lowformer_b0": {},
    "efficientvim_m1": {},
    "fasternet_t0": {},
    "hardcorenas_a": {},
    "selecsls42b": {},
    "nasnetalarge": {},
    "senet154": {},
    "lcnet_050": {},
}


def timm_model(name: str, options: Mapping[str, Any]) -> None:
    """Register an architecture of timm, dynamic in the batch."""
    name = name.rpartition(":")[2]

    def build() -> Recipe:
        module = timm.create_model(name, pretrained=False, num_classes=10, **options)
        size = options.get("img_size", module.pretrained_cfg["input_size"][-1])
        x = torch.randn(2, 3, size, size)
        return Recipe(lively(module, (x,)), (x,), shapes=({0: BATCH},))

    architecture(f"timm_{name}", static="images have one size; batch is dynamic")(build)


for _name, _options in TIMM.items():
    timm_model(_name, _options)
