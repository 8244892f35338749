"""Inputs of small architectures, and how one of transformers is registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.export import Dim

from tests.python.models.registry import BATCH, Recipe
from tests.python.models.text import VOCABULARY, mask, tokens
from tests.python.models.weights import lively
from tests.python.zoo.registry import architecture

TOKENS = {0: BATCH, 1: Dim("sequence", min=4, max=64)}

TARGET = {0: BATCH, 1: Dim("target", min=2, max=32)}

SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 80,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "use_cache": False,
}

DECODER = {"num_key_value_heads": 2}

PICTURE = {"image_size": 32, "patch_size": 8, "num_channels": 3}

Inputs = tuple[Mapping[str, Any], Mapping[str, Any]]


class FirstOnly(nn.Module):
    """Returns the tensors among the outputs of a model that returns other things too."""

    def __init__(self, inner: nn.Module, *fields: str) -> None:
        super().__init__()
        self.inner = inner
        self.fields = fields

    def forward(self, **kwargs: Any) -> list[Tensor]:
        out = self.inner(**kwargs)
        return [out[field] for field in self.fields]


def text_inputs() -> Inputs:
    """Return token ids and a mask, dynamic in batch and sequence."""
    kwargs = {"input_ids": tokens(), "attention_mask": mask()}
    return kwargs, dict.fromkeys(kwargs, TOKENS)


def fixed_text_inputs() -> Inputs:
    """Return token ids and a mask, dynamic in the batch."""
    kwargs = {"input_ids": tokens(8), "attention_mask": mask(8)}
    return kwargs, {key: {0: BATCH} for key in kwargs}


def fixed_pair_inputs() -> Inputs:
    """Return the inputs of an encoder and its decoder, dynamic in the batch."""
    kwargs = {**fixed_text_inputs()[0], "decoder_input_ids": tokens(4)}
    return kwargs, {key: {0: BATCH} for key in kwargs}


def fixed_id_inputs() -> Inputs:
    """Return token ids, dynamic in the batch."""
    return {"input_ids": tokens(8)}, {"input_ids": {0: BATCH}}


def id_inputs() -> Inputs:
    """Return token ids, dynamic in batch and sequence."""
    return {"input_ids": tokens()}, {"input_ids": TOKENS}


def pair_inputs() -> Inputs:
    """Return the inputs of an encoder and its decoder."""
    kwargs, shapes = text_inputs()
    return (
        {**kwargs, "decoder_input_ids": tokens(4)},
        {**shapes, "decoder_input_ids": TARGET},
    )


def picture_inputs(size: int = 32, channels: int = 3) -> Callable[[], Inputs]:
    """Return images, dynamic in the batch."""
    return lambda: (
        {"pixel_values": torch.randn(2, channels, size, size)},
        {"pixel_values": {0: BATCH}},
    )


def wave_inputs(length: int = 800) -> Callable[[], Inputs]:
    """Return audio samples, dynamic in the batch."""
    return lambda: ({"input_values": torch.randn(2, length)}, {"input_values": {0: BATCH}})


def named_inputs(dynamic: Mapping[str, Any], **make: Callable[[], Tensor]) -> Callable[[], Inputs]:
    """Return inputs by name; those without an entry in `dynamic` are dynamic in the batch."""
    return lambda: (
        {name: function() for name, function in make.items()},
        {name: dynamic.get(name, {0: BATCH}) for name in make},
    )


def hf(
    name: str,
    class_name: str,
    inputs: Callable[[], Inputs] = text_inputs,
    *,
    static: str = "",
    tolerance: float = 1.0,
    fields: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    **config: Any,
) -> None:
    """Register an architecture of transformers with a small configuration."""

    def build() -> Recipe:
        cls = getattr(transformers, class_name)
        options = {key: SMALL[key] for key in SMALL if key not in without} | config
        module = cls(cls.config_class(**options))
        kwargs, shapes = inputs()
        lively(module, (), kwargs)
        if fields:
            module = FirstOnly(module, *fields)
            shapes = {"kwargs": shapes}
        return Recipe(module, kwargs=kwargs, shapes=shapes)

    architecture(f"hf_{name}", static=static, tolerance=tolerance)(build)
