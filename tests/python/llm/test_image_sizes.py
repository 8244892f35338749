"""Models whose images have several sizes, tiles or masks of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
import transformers
from transformers import PreTrainedModel
from transformers.models.llava_next import modeling_llava_next

from tests.python.llm import checkpoints, genai
from tests.python.llm.test_images import CONTEXT, IMAGE, TEXT, TOWER, generated
from tests.python.llm.test_llm import llm, refusal

STEPS = 12
# The token before an image, and that of a video.
START, VIDEO = 124, 125
SIGLIP = {**TOWER, "image_size": 16, "model_type": "siglip_vision_model", "projection_dim": 32}
ROTARY = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
TOKENS = {"image_token_id": IMAGE, "video_token_id": VIDEO, "vision_start_token_id": START}
GRID = {"depth": 2, "num_heads": 2, "patch_size": 4, "spatial_merge_size": 2}
GRID["temporal_patch_size"] = 2
# A prompt that attends to itself, with and without windows and softcaps; tiles without padding;
# one image of any size, also as tiles; a sequence of patches of all images, also with windows.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "paligemma": (
        "PaliGemma",
        {
            "text_config": {**TEXT, "model_type": "gemma", "head_dim": 8},
            "vision_config": {**SIGLIP, "vision_use_head": False},
            "image_token_index": IMAGE,
            "projection_dim": 32,
        },
    ),
    "paligemma2": (
        "PaliGemma",
        {
            "text_config": {**TEXT, "model_type": "gemma2", "head_dim": 8, "sliding_window": 6},
            "vision_config": {**SIGLIP, "vision_use_head": False},
            "image_token_index": IMAGE,
            "projection_dim": 32,
        },
    ),
    "smolvlm": (
        "SmolVLM",
        {
            "text_config": {**TEXT, "model_type": "llama"},
            "vision_config": {**TOWER, "image_size": 16},
            "scale_factor": 2,
            "image_token_id": IMAGE,
        },
    ),
    "mistral3": (
        "Mistral3",
        {
            "text_config": {**TEXT, "model_type": "mistral", "head_dim": 8},
            "vision_config": {**TOWER, "image_size": 64, "model_type": "pixtral"},
            "image_token_index": IMAGE,
            "spatial_merge_size": 2,
            "vision_feature_layer": -1,
        },
    ),
    "llava_next": (
        "LlavaNext",
        {
            "text_config": {**TEXT, "model_type": "llama"},
            "vision_config": {**TOWER, "image_size": 16, "model_type": "clip_vision_model"},
            "image_grid_pinpoints": [[16, 32], [32, 16], [32, 32], [48, 16]],
            "image_token_index": IMAGE,
        },
    ),
    "qwen2_vl": (
        "Qwen2VL",
        {
            "text_config": {**TEXT, "rope_parameters": ROTARY},
            "vision_config": {**GRID, "embed_dim": 24, "hidden_size": 32, "mlp_ratio": 2},
            **TOKENS,
        },
    ),
    "qwen2_5_vl": (
        "Qwen2_5_VL",
        {
            "text_config": {**TEXT, "rope_parameters": ROTARY},
            "vision_config": {
                **GRID,
                "hidden_size": 24,
                "intermediate_size": 48,
                "out_hidden_size": 32,
                "window_size": 16,
                "fullatt_block_indexes": [1],
            },
            **TOKENS,
        },
    ),
}
FAMILIES["mistral3"][1]["vision_config"] |= {"num_attention_heads": 2, "head_dim": 12}
SERVED = ("mistral3", "qwen2_vl", "qwen2_5_vl")
SIZES = {
    "llava_next": [(31, 22), (9, 60)],
    "mistral3": [(24, 16), (40, 24)],
    "qwen2_vl": [(40, 16), (8, 24)],
    "qwen2_5_vl": [(40, 24), (8, 16)],
}


def build(family: str) -> PreTrainedModel:
    """Return a model whose tokens depend on the image."""
    name, settings = FAMILIES[family]
    config = getattr(transformers, f"{name}Config")(**settings)
    torch.manual_seed(0)
    # The fused attention has no softcap.
    attention = {"attn_implementation": "eager"} if family == "paligemma2" else {}
    model = transformers.AutoModelForImageTextToText.from_config(config, **attention).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn_like(parameter)
            # A token that is also its own logit must not repeat itself.
            words = 0.02 if family.startswith("paligemma") else 0.3
            scale = words if "embed_tokens" in name or "lm_head" in name else 0.6
            parameter.copy_(noise * scale if parameter.dim() > 1 else parameter + noise * 0.1)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The converted folder of a family, made once, with its checkpoint."""

    def make(family: str, root: Path) -> tuple[Path, Path, dict]:
        checkpoint = checkpoints.save(build(family), root / "checkpoint")
        target = "genai" if family in SERVED else "onnxruntime"
        return checkpoint, root / "out", llm(checkpoint, root / "out", "--target", target)

    return checkpoints.made_once(tmp_path_factory, make)


def images(family: str) -> tuple[list[dict[str, torch.Tensor]], dict[str, torch.Tensor], list[int]]:
    """Calls of the tower with an image for each of two texts, the model's inputs, and tokens."""
    generator = torch.Generator().manual_seed(5)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    if family.startswith("qwen"):
        grid = torch.tensor([[1, height // 4, width // 4] for height, width in SIZES[family]])
        given = {"pixel_values": random(int(grid.prod(1).sum()), 96), "image_grid_thw": grid}
        return [given], given, (grid.prod(1) // 4).tolist()
    if family == "mistral3":
        each = [random(1, 3, *size) for size in SIZES[family]]
        whole = torch.zeros(2, 3, *np.max(SIZES[family], 0))
        for at, one in enumerate(each):
            whole[at, :, : one.shape[2], : one.shape[3]] = one
        given = {"pixel_values": whole, "image_sizes": torch.tensor(SIZES[family])}
        tokens = [height * width // 64 for height, width in SIZES[family]]
        return [{"pixel_values": one} for one in each], given, tokens
    if family == "llava_next":
        config, sizes = build(family).config, torch.tensor(SIZES[family])
        count = modeling_llava_next.image_size_to_num_patches
        tiles = [count(size, config.image_grid_pinpoints, 16) for size in sizes]
        each = [random(number, 3, 16, 16) for number in tiles]
        whole = torch.zeros(2, max(tiles), 3, 16, 16)
        for at, one in enumerate(each):
            whole[at, : len(one)] = one
        given = {"pixel_values": whole, "image_sizes": sizes}
        calls = [
            {"pixel_values": one, "image_sizes": size[None]}
            for one, size in zip(each, sizes, strict=True)
        ]
        found = build(family).get_image_features(**given).pooler_output
        return calls, given, [len(one) for one in found]
    pixels = random(2, 3, 16, 16)
    whole = pixels[:, None] if family == "smolvlm" else pixels
    return [{"pixel_values": pixels}], {"pixel_values": whole}, [4 if whole.dim() == 5 else 16] * 2


def prompt(tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Two texts with an image each, of which the shorter one is filled on the left."""
    generator = torch.Generator().manual_seed(3)
    rows, most = [], max(tokens) + 10
    for count in tokens:
        head, tail = (torch.randint(4, START, (size,), generator=generator) for size in (5, 3))
        text = [head, torch.tensor([START]), torch.full((count,), IMAGE), tail]
        rows.append(torch.nn.functional.pad(torch.cat(text), (most - count - 9, 0)))
    ids = torch.stack(rows)
    return ids, (ids > 0).long()


def expected(family: str, ids: torch.Tensor, mask: torch.Tensor, given: dict) -> np.ndarray:
    """Tokens of `generate`."""
    model = build(family)
    model.generation_config.eos_token_id = None
    more = dict(given)
    if family.startswith("paligemma"):
        more["token_type_ids"] = torch.zeros_like(ids)
    if family.startswith("qwen"):
        more["mm_token_type_ids"] = (ids == IMAGE).int()
    settings = {"max_new_tokens": STEPS, "do_sample": False, "pad_token_id": 0}
    tokens = model.generate(input_ids=ids, attention_mask=mask, **more, **settings)
    return tokens[:, ids.shape[1] :].numpy()


def positions(family: str, ids: torch.Tensor, mask: torch.Tensor, given: dict) -> np.ndarray:
    """Positions of the prompt and of all later tokens."""
    steps = torch.ones(len(ids), STEPS, dtype=torch.int64)
    if not family.startswith("qwen"):
        both = torch.cat([mask, steps], 1)
        return ((both.cumsum(1) - 1).clamp(min=0) + family.startswith("paligemma")).numpy()
    places, _ = build(family).model.get_rope_index(
        ids, (ids == IMAGE).int(), given["image_grid_thw"], attention_mask=mask
    )
    later = places.amax((0, 2))[None, :, None] + steps.cumsum(1)
    return torch.cat([places, later.expand(3, -1, -1)], 2).numpy()


@pytest.mark.parametrize("family", FAMILIES)
def test_images_of_other_sizes_generate_what_transformers_generates(folder, family):
    _, out, said = folder(family)
    assert said["verification"]["values_compared"] is True
    calls, given, counts = images(family)
    ids, mask = prompt(counts)
    wanted = expected(family, ids, mask, given)
    assert len(np.unique(wanted)) > 4
    other = expected(family, ids, mask, {**given, "pixel_values": -given["pixel_values"]})
    assert (wanted != other).any()
    places = positions(family, ids, mask, given)
    np.testing.assert_array_equal(generated(out, calls, ids, mask, STEPS, places), wanted)


@pytest.mark.parametrize("family", SERVED)
def test_genai_generates_what_transformers_generates(folder, family):
    _, out, _ = folder(family)
    calls, given, counts = images(family)
    # One text, with the first image.
    ids, mask = (one[:1] for one in prompt(counts[:1]))
    given = {name: one[:1] for name, one in given.items()}
    if family == "mistral3":
        given["pixel_values"] = calls[0]["pixel_values"]
    if family.startswith("qwen"):
        patches = int(given["image_grid_thw"].prod())
        given["pixel_values"] = calls[0]["pixel_values"][:patches]
    ids, mask = ids[:, 1:], mask[:, 1:]
    wanted = expected(family, ids, mask, given)
    more = {name: one.numpy() for name, one in given.items()}
    more["num_image_tokens"] = np.array(counts[:1])
    tokens = genai.generated(out, ids.numpy(), more, wanted, CONTEXT)
    np.testing.assert_array_equal(tokens, wanted)


def test_the_interface_of_patches_is_that_of_genai(folder):
    _, out, _ = folder("qwen2_5_vl")
    config = json.loads((out / "genai_config.json").read_text())["model"]
    assert (config["type"], config["vision_start_token_id"]) == ("qwen2_5_vl", START)
    assert config["vision"]["inputs"] == {
        "pixel_values": "pixel_values",
        "image_grid_thw": "image_grid_thw",
    }
    assert (config["vision"]["spatial_merge_size"], config["vision"]["patch_size"]) == (2, 4)
    vision, decoder = (ort.InferenceSession(out / f"{name}.onnx") for name in ("vision", "model"))
    assert vision.get_inputs()[1].shape == ["num_images", 3]
    inputs = {one.name: one.shape for one in decoder.get_inputs()}
    assert inputs["position_ids"] == [3, "batch_size", "sequence_length"]


def test_layers_that_take_states_of_images_are_refused(tmp_path):
    vision = {**GRID, "hidden_size": 24, "intermediate_size": 48, "out_hidden_size": 32}
    vision |= {"num_position_embeddings": 64, "deepstack_visual_indexes": [0]}
    text = {**TEXT, "rope_parameters": ROTARY, "head_dim": 8}
    config = transformers.Qwen3VLConfig(text_config=text, vision_config=vision, **TOKENS)
    model = transformers.Qwen3VLForConditionalGeneration(config)
    checkpoint = checkpoints.save(model, tmp_path / "checkpoint")
    error = refusal(checkpoint, tmp_path / "out", 3, "--target", "onnxruntime")
    assert error["code"] == "OP651"
    assert "layers of its decoder take states of images" in error["message"]


def test_tiles_with_other_tokens_are_refused(tmp_path):
    text, vision = {**TEXT, "model_type": "qwen2"}, {**TOWER, "image_size": 16}
    vision["model_type"] = "siglip_vision_model"
    config = transformers.LlavaOnevisionConfig(
        text_config=text, vision_config=vision, image_token_index=IMAGE, video_token_index=VIDEO
    )
    model = transformers.LlavaOnevisionForConditionalGeneration(config)
    checkpoint = checkpoints.save(model, tmp_path / "checkpoint")
    error = refusal(checkpoint, tmp_path / "out", 3, "--target", "onnxruntime")
    assert error["code"] == "OP651"
    assert "tiles are not known" in error["message"]
