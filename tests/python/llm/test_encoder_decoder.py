"""Encoder-decoders become three models that share their weights and generate the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
import transformers
from transformers import PreTrainedModel

from tests.python.llm import checkpoints, lora
from tests.python.llm.test_llm import llm, refusal

STEPS = 6
MODELS = ("encoder_model", "decoder_model", "decoder_with_past_model")
CASES = ["encoder_model/source", "decoder_model/first"]
CASES += [f"decoder_with_past_model/token-{step}" for step in (1, 2)]

TOKENS = {
    "vocab_size": checkpoints.VOCABULARY,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 3,
}
LAYERS = {
    **TOKENS,
    "d_model": 32,
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")},
}
# Relative positions and tied embeddings, learned positions, and sound.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "t5": ("T5", {**TOKENS, "d_model": 32, "d_ff": 64, "d_kv": 8, "num_layers": 2, "num_heads": 4}),
    "bart": ("Bart", {**LAYERS, "max_position_embeddings": 96, "forced_eos_token_id": None}),
    "whisper": (
        "Whisper",
        {**LAYERS, "num_mel_bins": 16, "max_source_positions": 24, "max_target_positions": 96}
        | {"suppress_tokens": None, "begin_suppress_tokens": None},
    ),
}


def build(family: str) -> PreTrainedModel:
    """Return a model whose layers all matter."""
    name, options = FAMILIES[family]
    config = getattr(transformers, f"{name}Config")(**options)
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The converted folder of a family, made once, with its checkpoint."""

    def make(family: str, root: Path) -> tuple[Path, Path, dict]:
        checkpoint = checkpoints.save(build(family), root / "checkpoint")
        return checkpoint, root / "out", llm(checkpoint, root / "out", "--target", "onnxruntime")

    return checkpoints.made_once(tmp_path_factory, make)


def source(family: str) -> dict[str, torch.Tensor]:
    """Inputs of the encoder in another batch and length than those of the capture."""
    generator = torch.Generator().manual_seed(2)
    if family == "whisper":
        return {"input_features": torch.randn(2, 16, 48, generator=generator)}
    ids = torch.randint(4, checkpoints.VOCABULARY, (2, 13), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


def expected(model: PreTrainedModel, given: dict[str, torch.Tensor]) -> np.ndarray:
    """Tokens of greedy steps."""
    ids = torch.full((2, 1), 3)
    with torch.no_grad():
        for _ in range(STEPS):
            logits = model(**given, decoder_input_ids=ids, use_cache=False).logits[:, -1]
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], 1)
    return ids[:, 1:].numpy()


def generated(out: Path, given: dict[str, torch.Tensor]) -> np.ndarray:
    """Tokens of greedy steps: the encoder, a first token, and tokens with caches."""
    sessions = {
        name: ort.InferenceSession(out / f"{name}.onnx", providers=["CPUExecutionProvider"])
        for name in MODELS
    }

    def run(name: str, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        wanted = {one.name for one in sessions[name].get_inputs()}
        outputs = [one.name for one in sessions[name].get_outputs()]
        given = {key: value for key, value in feeds.items() if key in wanted}
        return dict(zip(outputs, sessions[name].run(None, given), strict=True))

    feeds = {name: one.numpy() for name, one in given.items()}
    feeds["encoder_hidden_states"] = run("encoder_model", feeds)["last_hidden_state"]
    if "attention_mask" in feeds:
        feeds["encoder_attention_mask"] = feeds["attention_mask"]
    feeds["input_ids"] = np.full((2, 1), 3)
    tokens = []
    for step in range(STEPS):
        results = run("decoder_with_past_model" if step else "decoder_model", feeds)
        feeds["input_ids"] = results.pop("logits")[:, -1].argmax(-1)[:, None]
        tokens.append(feeds["input_ids"])
        feeds |= {name.replace("present", "past_key_values"): one for name, one in results.items()}
    return np.concatenate(tokens, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_encoder_decoder_generates_what_transformers_generates(folder, family):
    _, out, said = folder(family)
    assert said["verification"]["values_compared"] is True
    assert [case["name"] for case in said["verification"]["cases"]] == CASES
    given = source(family)
    tokens = expected(build(family), given)
    assert len(np.unique(tokens)) > 2
    np.testing.assert_array_equal(generated(out, given), tokens)


def test_adapters_are_merged_into_an_encoder_decoder(folder, tmp_path):
    checkpoint, _, _ = folder("t5")
    model, given = build("t5"), source("t5")
    plain = expected(model, given)
    settings = {"target_modules": ["q", "v", "wo"], "use_dora": True, "task_type": "SEQ_2_SEQ_LM"}
    adapter = lora.save(model, tmp_path / "adapter", 3, **settings)
    options = ("--target", "onnxruntime", "--merge-adapter", adapter)
    said = llm(checkpoint, tmp_path / "out", *options)
    assert said["verification"]["values_compared"] is True
    tokens = expected(lora.merged(model, adapter), given)
    assert (tokens != plain).any()
    np.testing.assert_array_equal(generated(tmp_path / "out", given), tokens)
    options = ("--target", "onnxruntime", "--adapter", f"a={adapter}")
    assert "DoRA, which cannot" in refusal(checkpoint, tmp_path / "no", 3, *options)["message"]
    lora.save(model, tmp_path / "plain", 3, target_modules=["q"])
    options = ("--target", "onnxruntime", "--adapter", f"a={tmp_path / 'plain'}")
    message = refusal(checkpoint, tmp_path / "no", 3, *options)["message"]
    assert "`--merge-adapter` merges it" in message


@pytest.mark.parametrize("family", FAMILIES)
def test_the_models_share_their_weights(folder, family):
    checkpoint, out, said = folder(family)
    names = {path.name for path in out.iterdir()}
    assert names == {Path(path).name for path in said["files"]}
    assert {f"{name}.onnx" for name in MODELS} | {"weights.data", "tokenizer.json"} < names
    stored = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
    assert (out / "weights.data").stat().st_size < 1.1 * stored
    assert "those of PyTorch" in (out / "README.md").read_text()


def test_the_interface_is_that_of_optimum(folder):
    _, out, _ = folder("t5")
    session = ort.InferenceSession(out / "decoder_with_past_model.onnx")
    inputs = {one.name: one.shape for one in session.get_inputs()}
    assert inputs["encoder_attention_mask"] == ["batch_size", "encoder_sequence_length"]
    own = ["batch_size", 4, "past_decoder_sequence_length", 8]
    assert inputs["past_key_values.1.decoder.key"] == own
    cross = ["batch_size", 4, "encoder_sequence_length", 8]
    assert inputs["past_key_values.1.encoder.value"] == cross
    outputs = [one.name for one in session.get_outputs()]
    parts = [f"present.{layer}.decoder.{part}" for layer in (0, 1) for part in ("key", "value")]
    assert outputs == ["logits", *parts]


def test_weights_of_encoder_decoders_are_quantized(folder, tmp_path):
    checkpoint, plain, _ = folder("bart")
    said = llm(checkpoint, tmp_path / "out", "--quantize", "int8", "--target", "onnxruntime")
    assert said["verification"]["measured"] is True
    size = (tmp_path / "out" / "weights.data").stat().st_size
    assert size < 0.6 * (plain / "weights.data").stat().st_size


def test_encoder_decoders_are_refused_for_genai(folder, tmp_path):
    checkpoint, _, _ = folder("t5")
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert error["code"] == "OP651"
    assert "--target onnxruntime" in error["help"]
    options = ("--target", "onnxruntime", "--last-logits")
    error = refusal(checkpoint, tmp_path / "out", 3, *options)
    assert "logits are of all tokens" in error["message"]
