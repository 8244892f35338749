"""Whisper becomes the two models that onnxruntime-genai runs."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
import transformers
from transformers import GenerationMixin, PreTrainedModel

from tests.python.llm import checkpoints, genai
from tests.python.llm.test_encoder_decoder import LAYERS
from tests.python.llm.test_llm import llm, refusal

FRAMES, BINS, STEPS = 3000, 16, 50
PROMPT = [[3, 17, 9, 40], [3, 22, 9, 40]]


def build(positions: int = FRAMES // 2) -> PreTrainedModel:
    """Return a model whose tokens depend on the sound."""
    sizes = {"num_mel_bins": BINS, "max_source_positions": positions, "max_target_positions": 96}
    config = transformers.WhisperConfig(**LAYERS, **sizes)
    torch.manual_seed(0)
    model = transformers.WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                scale = 0.06 if "embed_tokens" in name else 0.9
                parameter.copy_(torch.randn_like(parameter) * scale)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> tuple[Path, Path, dict]:
    """The checkpoint, the folder, and the answer of the command."""
    root = tmp_path_factory.mktemp("whisper")
    checkpoint = checkpoints.save(build(), root / "checkpoint")
    transformers.WhisperFeatureExtractor(feature_size=BINS).save_pretrained(checkpoint)
    said = llm(checkpoint, root / "out")
    return checkpoint, root / "out", said


def sounds() -> torch.Tensor:
    return torch.randn(2, BINS, FRAMES, generator=torch.Generator().manual_seed(2))


def expected() -> np.ndarray:
    """Tokens of `generate`, without the suppression of tokens that is Whisper's own."""
    tokens = GenerationMixin.generate(
        build(),
        sounds(),
        decoder_input_ids=torch.tensor(PROMPT),
        max_new_tokens=STEPS,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    )
    return tokens[:, len(PROMPT[0]) :].numpy()


def generated(out: Path) -> np.ndarray:
    """Tokens of greedy steps: the encoder once, and the decoder for the prompt and each token."""
    encoder, decoder = (
        ort.InferenceSession(out / f"{name}.onnx", providers=["CPUExecutionProvider"])
        for name in ("encoder", "decoder")
    )
    names = [one.name for one in encoder.get_outputs()]
    states = encoder.run(None, {"audio_features": sounds().numpy()})
    made = dict(zip(names, states, strict=True))
    feeds = {name.replace("present", "past"): one for name, one in made.items() if "cross" in name}
    for one in decoder.get_inputs():
        if "self" in one.name:
            feeds[one.name] = np.zeros([2, one.shape[1], 0, one.shape[3]], np.float32)
    feeds["input_ids"] = np.array(PROMPT)
    names = [one.name for one in decoder.get_outputs()]
    tokens = []
    for _ in range(STEPS):
        logits, *present = decoder.run(None, feeds)
        feeds["input_ids"] = logits[:, -1].argmax(-1)[:, None]
        tokens.append(feeds["input_ids"])
        pairs = zip(names[1:], present, strict=True)
        feeds |= {name.replace("present", "past"): one for name, one in pairs}
    return np.concatenate(tokens, 1)


def test_whisper_generates_what_transformers_generates(folder):
    _, out, said = folder
    assert said["verification"]["values_compared"] is True
    cases = [case["name"] for case in said["verification"]["cases"]]
    steps = ("prompt", "token-1", "token-2", "part")
    assert cases == ["encoder/sound", *(f"decoder/{name}" for name in steps)]
    wanted = expected()
    assert len(np.unique(wanted[0])) > 10
    assert (wanted[0] != wanted[1]).any()
    np.testing.assert_array_equal(generated(out), wanted)


def test_genai_generates_what_transformers_generates(folder):
    _, out, _ = folder
    given = {"audio_features": sounds().numpy()}
    wanted = expected()
    tokens = genai.generated(out, np.array(PROMPT), given, wanted, 96)
    np.testing.assert_array_equal(tokens, wanted)


def test_the_folder_has_the_names_of_genai(folder):
    checkpoint, out, said = folder
    config = json.loads((out / "genai_config.json").read_text())["model"]
    assert config["type"] == "whisper"
    names = {"input_ids": "input_ids", "past_key_names": "past_key_self_%d"}
    names |= {"past_value_names": "past_value_self_%d"}
    names |= {f"cross_{one}": names[one].replace("self", "cross") for one in list(names)[1:]}
    assert config["decoder"]["inputs"] == names
    assert config["encoder"]["hidden_size"] == 32
    session = ort.InferenceSession(out / "decoder.onnx")
    inputs = {one.name: one.shape for one in session.get_inputs()}
    assert inputs["past_key_cross_1"] == ["batch_size", 4, FRAMES // 2, 8]
    files = {path.name for path in out.iterdir()}
    assert files == {Path(path).name for path in said["files"]}
    assert {"encoder.onnx", "decoder.onnx", "weights.data", "audio_processor_config.json"} < files
    stored = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
    assert (out / "weights.data").stat().st_size < 1.1 * stored
    card = (out / "README.md").read_text()
    assert "names of onnxruntime-genai" in card
    assert "those of PyTorch" in card


def test_genai_makes_the_features_of_a_sound(folder, tmp_path):
    library = pytest.importorskip("onnxruntime_genai")
    checkpoint, out, _ = folder
    path = tmp_path / "sound.wav"
    samples = np.random.default_rng(0).normal(0, 3000, 16000 * 30).astype(np.int16)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.tobytes())
    genai.use_tokenizer(out)
    processor = library.Model(str(out)).create_multimodal_processor()
    made = processor("ab", audios=library.Audios.open(str(path)))
    features = made["audio_features"].as_numpy()
    extractor = transformers.WhisperFeatureExtractor.from_pretrained(checkpoint)
    wanted = extractor(samples / 2**15, sampling_rate=16000, return_tensors="np")["input_features"]
    assert features.shape == wanted.shape == (1, BINS, FRAMES)
    # genai fills up the first and the last frame in another way.
    np.testing.assert_allclose(features[..., 1:-1], wanted[..., 1:-1], atol=0.005)


def test_other_lengths_of_sounds_are_refused_for_genai(tmp_path):
    checkpoint = checkpoints.save(build(24), tmp_path / "checkpoint")
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert error["code"] == "OP651"
    assert "sounds of 3000 frames" in error["message"]
    assert "--target onnxruntime" in error["help"]
