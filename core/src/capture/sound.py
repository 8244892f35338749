"""Whisper as onnxruntime-genai runs it: two programs, with its names.

The encoder also makes the caches of the attention to it, so that one decoder takes prompts and
later tokens. The script of the decoder stands behind this one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused
    from encoder_decoder import ENCODER, LATER, STEPS, Parts
    from parts import runner
    from pooling import read_json

# The frames that onnxruntime-genai gives to the encoder, and the states of the encoder for them.
FRAMES, STATES = 3000, 1500
FEATURES = "audio_features"
NAMES = {
    "past_key_values.{}.decoder.key": "past_key_self_{}",
    "past_key_values.{}.decoder.value": "past_value_self_{}",
    "past_key_values.{}.encoder.key": "past_key_cross_{}",
    "past_key_values.{}.encoder.value": "past_value_cross_{}",
    "present.{}.decoder.key": "present_key_self_{}",
    "present.{}.decoder.value": "present_value_self_{}",
    "present.{}.encoder.key": "present_key_cross_{}",
    "present.{}.encoder.value": "present_value_cross_{}",
}


class Served(Parts):
    """The programs of Whisper for onnxruntime-genai."""

    order = (ENCODER, LATER)
    files = {ENCODER: "encoder", LATER: "decoder"}  # noqa: RUF012

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        kind = str(self.config.model_type)
        if kind != "whisper":
            raise Refused("server", f"onnxruntime-genai has no runtime for `{kind}`")

    def probe(self, mode: Any) -> int:
        """Find the sizes of caches; refuse sounds of another length."""
        vocabulary = super().probe(mode)
        frames = self.config.max_source_positions * 2
        if (frames, self.length) != (FRAMES, STATES):
            about = f"onnxruntime-genai takes sounds of {FRAMES} frames, and the model of {frames}"
            raise Refused("server", about)
        return vocabulary

    def cross(self, caches: list[Any]) -> list[Any]:
        """Return the caches that the encoder makes."""
        return [one for at, one in enumerate(caches) if at % 4 > 1]

    def call(self, part: str, model: Any, inner: Any, given: list[Any]) -> tuple[Any, ...]:
        """Call a part; return its results in the order of the interface."""
        import torch

        if part != ENCODER:
            return super().call(part, model, inner, given)
        (states,) = self.encode(model, given)
        # Any token makes the caches; its logits are not wanted.
        token = torch.zeros(states.shape[0], 1, dtype=torch.int64)
        _, *kept = self.decode(inner, token, [], states, [])
        return (states, *self.cross(kept))

    def names(self, prefix: str) -> list[str]:
        """Return the names of caches."""
        layers = range(len(self.sizes) // 4)
        kinds = [one for known, one in NAMES.items() if known.startswith(prefix)]
        return [one.format(layer) for layer in layers for one in kinds]

    def interface(self, part: str) -> tuple[list[str], list[str]]:
        """Return the names of inputs and outputs."""
        if part != ENCODER:
            return super().interface(part)
        return [FEATURES], ["encoder_hidden_states", *self.cross(self.names("present"))]

    def calls(self, running: Any, dtype: Any) -> dict[str, dict[str, tuple[list[Any], list[Any]]]]:
        """Return calls of each part, with their values if there is a model to run."""
        import torch

        random = torch.Generator().manual_seed(0)
        words = self.model.get_input_embeddings().num_embeddings
        made: dict[str, dict[str, Any]] = {ENCODER: {}, LATER: {}}
        run = runner(made, self.call, running)

        (sound,) = self.source(2, 0)
        sound = torch.randn(sound.shape, generator=random).to(dtype)
        _, *cross = run(ENCODER, "sound", [sound]) or [
            None,
            *self.cross(self.caches(2, 0, self.length, dtype)),
        ]
        own = self.own(self.caches(2, 0, 0, dtype))
        before = 0
        names = ["prompt", *(f"token-{step + 1}" for step in range(STEPS)), "part"]
        for name, tokens in zip(names, [4, *[1] * STEPS, 3], strict=True):
            ids = torch.randint(words, (2, tokens), generator=random)
            pairs = zip(own[::2], own[1::2], cross[::2], cross[1::2], strict=True)
            results = run(LATER, name, [ids, *(one for pair in pairs for one in pair)])
            before += tokens
            own = results[1:] or self.own(self.caches(2, before, 0, dtype))
        return made

    def served(self, folder: str) -> dict[str, Any]:
        """Return the settings for onnxruntime-genai, and the file of its preprocessing."""
        config = self.config
        (heads, size), layers = self.sizes[0], len(self.sizes) // 4
        own = {"hidden_size": int(config.d_model), "head_size": size}
        past = {"past_key_names": "past_key_self_%d", "past_value_names": "past_value_self_%d"}
        past |= {f"cross_{name}": one.replace("self", "cross") for name, one in past.items()}
        present = {
            name.replace("past", "present"): one.replace("past", "present")
            for name, one in past.items()
        }
        cross = {name: one for name, one in present.items() if name.startswith("cross")}
        encoder = {
            "filename": "encoder.onnx",
            **own,
            "num_attention_heads": int(config.encoder_attention_heads),
            "num_hidden_layers": int(config.encoder_layers),
            "inputs": {FEATURES: FEATURES},
            "outputs": {"encoder_hidden_states": "encoder_hidden_states", **cross},
        }
        decoder = {
            "filename": "decoder.onnx",
            **own,
            "num_attention_heads": heads,
            "num_key_value_heads": heads,
            "num_hidden_layers": layers,
            "inputs": {"input_ids": "input_ids", **past},
            "outputs": {
                "logits": "logits",
                **{name: one for name, one in present.items() if name not in cross},
            },
        }
        settings = {"type": "whisper", "encoder": encoder, "decoder": decoder}
        return {"settings": settings, "files": processing_of_sound(folder)}


def processing_of_sound(folder: str) -> dict[str, Any]:
    """Return the file that makes the features of a sound, if the checkpoint states how."""
    stated = read_json(folder, "preprocessor_config.json") or {}
    if stated.get("feature_extractor_type") != "WhisperFeatureExtractor":
        return {}
    length, hop = int(stated["n_fft"]), int(stated["hop_length"])
    steps = [
        ("audio_decoder", "AudioDecoder", {}),
        ("STFT", "STFTNorm", {"n_fft": length, "frame_length": length, "hop_length": hop}),
        (
            "log_mel_spectrogram",
            "LogMelSpectrum",
            {
                "chunk_size": int(stated["chunk_length"]),
                "hop_length": hop,
                "n_fft": length,
                "n_mel": int(stated["feature_size"]),
            },
        ),
    ]
    sequence = [
        {"operation": {"name": name, "type": kind, **({"attrs": more} if more else {})}}
        for name, kind, more in steps
    ]
    return {"audio_processor_config.json": {"feature_extraction": {"sequence": sequence}}}
