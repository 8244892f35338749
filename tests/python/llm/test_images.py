"""Models of images and text become a tower, an embedding and a decoder."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
import transformers
from transformers import PreTrainedModel

from tests.python.llm import checkpoints, genai
from tests.python.llm.test_llm import llm, refusal

STEPS, CONTEXT = 24, 300
IMAGE = 126
MODELS = ("vision", "embedding", "model")
STEPS_OF_DECODER = ("prompt", "token-1", "token-2", "part")
CASES = ["vision/images"]
CASES += [f"{part}/{name}" for part in ("embedding", "model") for name in STEPS_OF_DECODER]

TEXT: dict[str, Any] = {
    "vocab_size": checkpoints.VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
TOWER = {
    "hidden_size": 24,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "patch_size": 4,
}
GEMMA = {**TEXT, "head_dim": 8, "sliding_window": 6}
# Tokens of an image that attend to each other, a loop over images, and a pixel shuffle.
FAMILIES: dict[str, dict[str, Any]] = {
    "Gemma3": {
        "text_config": {**GEMMA, "layer_types": ["sliding_attention", "full_attention"]},
        "vision_config": {**TOWER, "image_size": 64},
        "mm_tokens_per_image": 256,
        "tie_word_embeddings": False,
        "image_token_index": IMAGE,
    },
    "Llava": {
        "text_config": {**TEXT, "model_type": "llama"},
        "vision_config": {**TOWER, "image_size": 16, "model_type": "clip_vision_model"},
        "image_token_index": IMAGE,
    },
    "InternVL": {
        "text_config": {**TEXT, "model_type": "qwen2"},
        "vision_config": {**TOWER, "image_size": [16, 16], "model_type": "internvl_vision"},
        "image_token_id": IMAGE,
    },
}
FAMILIES["InternVL"]["vision_config"]["patch_size"] = [4, 4]
# Tokens and extents of an image.
SIZES = {"Gemma3": (256, 64, 64), "Llava": (16, 16, 16), "InternVL": (4, 16, 16)}


def build(family: str) -> PreTrainedModel:
    """Return a model whose tokens depend on the image."""
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family])
    torch.manual_seed(0)
    model = transformers.AutoModelForImageTextToText.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn_like(parameter)
            scale = 0.3 if "embed_tokens" in name or "lm_head" in name else 0.6
            if name.endswith(("q_norm.weight", "k_norm.weight")):
                # Attention that chooses among the many tokens of an image.
                parameter.copy_(noise * 1.5)
            else:
                parameter.copy_(noise * scale if parameter.dim() > 1 else parameter + noise * 0.1)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The converted folder of a family, made once, with its checkpoint."""

    def make(family: str, root: Path) -> tuple[Path, Path, dict]:
        checkpoint = checkpoints.save(build(family), root / "checkpoint")
        if family == "Gemma3":
            steps = {"size": {"height": 64, "width": 64}, "resample": 2}
            steps |= {"image_mean": [0.5, 0.4, 0.5], "image_std": [0.5, 0.5, 0.25]}
            (checkpoint / "preprocessor_config.json").write_text(json.dumps(steps))
        target = "genai" if family == "Gemma3" else "onnxruntime"
        return checkpoint, root / "out", llm(checkpoint, root / "out", "--target", target)

    return checkpoints.made_once(tmp_path_factory, make)


def given(family: str, texts: int = 2) -> dict[str, torch.Tensor]:
    """A prompt with an image for each text; the second one is filled on the left."""
    generator = torch.Generator().manual_seed(3)
    tokens, height, width = SIZES[family]
    head, tail = (torch.randint(4, IMAGE, (texts, size), generator=generator) for size in (5, 3))
    ids = torch.cat([head, torch.full((texts, tokens), IMAGE), tail], 1)
    mask = torch.ones_like(ids)
    mask[1:, :2] = 0
    pixels = torch.randn(texts, 3, height, width, generator=generator)
    return {"input_ids": ids * mask, "attention_mask": mask, "pixel_values": pixels}


def expected(family: str, inputs: dict[str, torch.Tensor]) -> np.ndarray:
    """Tokens of `generate`."""
    model = build(family)
    model.generation_config.eos_token_id = None
    more = {"token_type_ids": (inputs["input_ids"] == IMAGE).long()} if family == "Gemma3" else {}
    tokens = model.generate(**inputs, **more, max_new_tokens=STEPS, do_sample=False, pad_token_id=0)
    return tokens[:, inputs["input_ids"].shape[1] :].numpy()


def generated(
    out: Path,
    calls: list[dict[str, torch.Tensor]],
    ids: Any,
    mask: Any,
    steps: int,
    places: Any = None,
) -> np.ndarray:
    """Tokens of greedy steps: the tower for each call, the embedding and the decoder for each step.

    `places` are the positions of the prompt and of all later tokens; without them, they count the
    tokens.
    """
    vision, embedding, decoder = (
        ort.InferenceSession(out / f"{name}.onnx", providers=["CPUExecutionProvider"])
        for name in ("vision", "embedding", "model")
    )
    found = [vision.run(None, {name: one.numpy() for name, one in call.items()}) for call in calls]
    features = np.concatenate([one for (one,) in found])
    if places is None:
        both = torch.cat([mask, torch.ones(len(ids), steps, dtype=torch.int64)], 1)
        places = (both.cumsum(1) - 1).clamp(min=0).numpy()
    ids, mask = ids.numpy(), mask.numpy()
    names = {one.name for one in decoder.get_inputs()}
    past = {
        one.name: np.zeros([len(ids), one.shape[1], 0, one.shape[3]], np.float32)
        for one in decoder.get_inputs()
        if one.name.startswith("past")
    }
    tokens, done = [], 0
    for _ in range(steps):
        (embedded,) = embedding.run(None, {"input_ids": ids, "image_features": features})
        here = places[..., done : done + ids.shape[1]]
        feeds = {"inputs_embeds": embedded, "attention_mask": mask, "position_ids": here}
        feeds |= {"input_ids": ids} if "input_ids" in names else {}
        logits, *present = decoder.run(None, {**feeds, **past})
        past = dict(zip(past, present, strict=True))
        done += ids.shape[1]
        ids = logits[:, -1].argmax(-1)[:, None]
        mask = np.concatenate([mask, np.ones_like(ids)], 1)
        features = features[:0]
        tokens.append(ids)
    return np.concatenate(tokens, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_of_images_generates_what_transformers_generates(folder, family):
    _, out, said = folder(family)
    assert said["verification"]["values_compared"] is True
    assert [case["name"] for case in said["verification"]["cases"]] == CASES
    inputs = given(family)
    tokens = expected(family, inputs)
    assert len(np.unique(tokens)) > 5
    other = expected(family, {**inputs, "pixel_values": -inputs["pixel_values"]})
    assert (tokens != other).any()
    call = {"pixel_values": inputs["pixel_values"]}
    own = generated(out, [call], inputs["input_ids"], inputs["attention_mask"], STEPS)
    np.testing.assert_array_equal(own, tokens)


def test_genai_generates_what_transformers_generates(folder):
    _, out, _ = folder("Gemma3")
    inputs = given("Gemma3", 1)
    more = {"pixel_values": inputs["pixel_values"].numpy(), "num_image_tokens": np.array([256])}
    wanted = expected("Gemma3", inputs)
    tokens = genai.generated(out, inputs["input_ids"].numpy(), more, wanted, CONTEXT)
    np.testing.assert_array_equal(tokens, wanted)


def test_genai_generates_without_an_image(folder):
    _, out, _ = folder("Gemma3")
    ids = torch.tensor([[1, 17, 45, 99, 23, 64, 80]])
    model = build("Gemma3")
    model.generation_config.eos_token_id = None
    text = model.generate(ids, max_new_tokens=STEPS, do_sample=False, pad_token_id=0)
    wanted = text[:, ids.shape[1] :].numpy()
    tokens = genai.generated(out, ids.numpy(), {}, wanted, CONTEXT)
    np.testing.assert_array_equal(tokens, wanted)


def test_genai_makes_the_pixels_of_an_image(folder, tmp_path):
    library = pytest.importorskip("onnxruntime_genai")
    _, out, _ = folder("Gemma3")
    image = np.random.default_rng(0).integers(0, 256, (40, 80, 3), np.uint8)
    path = tmp_path / "image.png"
    path.write_bytes(png(image))
    genai.use_tokenizer(out, "<start_of_image>", "<end_of_image>", "<image_soft_token>")
    processor = library.Model(str(out)).create_multimodal_processor()
    made = processor("<start_of_image>", images=library.Images.open(str(path)))
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None].float()
    pixels = torch.nn.functional.interpolate(pixels, (64, 64), mode="bilinear", antialias=True)
    mean, std = (torch.tensor(one)[:, None, None] for one in ([0.5, 0.4, 0.5], [0.5, 0.5, 0.25]))
    wanted = (pixels / 255 - mean) / std
    # Pixels are rounded after the resizing.
    np.testing.assert_allclose(made["pixel_values"].as_numpy(), wanted.numpy(), atol=0.02)


def png(image: np.ndarray) -> bytes:
    """Encode an image."""
    height, width, _ = image.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = b"".join(b"\0" + row.tobytes() for row in image)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def test_the_interface_is_that_of_genai(folder):
    checkpoint, out, said = folder("Gemma3")
    config = json.loads((out / "genai_config.json").read_text())["model"]
    assert config["type"] == "gemma3"
    assert config["vision"]["config_filename"] == "image_processor.json"
    session = ort.InferenceSession(out / "model.onnx")
    inputs = {one.name: one.shape for one in session.get_inputs()}
    assert list(inputs)[:4] == ["inputs_embeds", "input_ids", "attention_mask", "position_ids"]
    assert inputs["past_key_values.1.key"] == ["batch_size", 2, "past_sequence_length", 8]
    vision = ort.InferenceSession(out / "vision.onnx")
    assert vision.get_inputs()[0].shape == ["num_images", 3, 64, 64]
    files = {path.name for path in out.iterdir()}
    assert files == {Path(path).name for path in said["files"]}
    stored = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
    assert (out / "weights.data").stat().st_size < 1.1 * stored
    assert "names of onnxruntime-genai" in (out / "README.md").read_text()


def test_a_token_of_an_image_without_an_image_is_a_word(folder):
    _, out, _ = folder("Llava")
    session = ort.InferenceSession(out / "embedding.onnx", providers=["CPUExecutionProvider"])
    ids = np.array([[5, IMAGE, 7]])
    feeds = {"input_ids": ids, "image_features": np.zeros((0, 32), np.float32)}
    (embedded,) = session.run(None, feeds)
    weight = build("Llava").get_input_embeddings().weight.detach().numpy()
    np.testing.assert_array_equal(embedded, weight[ids])


def test_parts_without_a_runtime_are_refused_for_genai(folder, tmp_path):
    checkpoint, _, _ = folder("Llava")
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert (error["code"], "no runtime for `llava`" in error["message"]) == ("OP651", True)
    assert "--target onnxruntime" in error["help"]
    options = ("--target", "onnxruntime", "--last-logits")
    error = refusal(checkpoint, tmp_path / "out", 3, *options)
    assert "logits are of all tokens" in error["message"]
