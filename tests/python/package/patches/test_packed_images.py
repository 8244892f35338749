"""Encoders of images whose sizes are values."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim
from transformers import Qwen2VLConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

from tests.python.package.patches import agrees, exported

NAME = "packed-images"
SIZES = {"depth": 1, "num_heads": 2, "hidden_size": 16, "patch_size": 4, "spatial_merge_size": 2}


def qwen2():
    config = Qwen2VLConfig(vision_config={**SIZES, "embed_dim": 16}).vision_config
    return Qwen2VisionTransformerPretrainedModel(config).eval()


def qwen3():
    more = {"out_hidden_size": 16, "intermediate_size": 16, "num_position_embeddings": 64}
    return Qwen3VLVisionModel(Qwen3VLVisionConfig(**SIZES, **more, deepstack_visual_indexes=[0]))


def images(*sizes):
    """Return the patches of images by their numbers of frames, rows and columns."""
    grid = torch.tensor(sizes)
    return torch.rand(int(grid.prod(1).sum()), 3 * 2 * 4 * 4), grid


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("tower", [qwen2, qwen3])
def test_parts_of_different_lengths_agree(tower, attention):
    tower = tower().eval()
    tower.set_attn_implementation(attention)
    given = images((1, 4, 4), (3, 2, 8), (1, 6, 2))
    with torch.no_grad():
        agrees(NAME, lambda: tuple(tower(*given).values()), atol=1e-5)
    assert tower.config._attn_implementation == attention


@pytest.mark.parametrize("tower", [qwen2, qwen3])
def test_one_model_takes_images_of_every_size(tower):
    others = [images((1, 8, 4), (1, 4, 4)), images((1, 2, 2), (3, 4, 6))]
    given = ({0: Dim.AUTO}, None)
    exported(NAME, tower(), images((1, 4, 4), (1, 4, 4)), given, others)
