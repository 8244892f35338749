"""The models that are timed: realistic widths, few layers, random weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers
from torch import Tensor, nn
from torch.export import Dim
from torchvision import models

from tests.python.models import detection
from tests.python.models.registry import Recipe
from tests.python.models.text import WithCache
from tests.python.models.vision import images

from .decoders import DECODERS

VOCABULARY = 1000
LAYERS = 4
LENGTH = Dim("length", min=2, max=512)
TOKENS = {1: LENGTH}


def tokens(length: int, batch: int = 1) -> Tensor:
    """Return random token ids `[batch, length]`."""
    return torch.randint(3, VOCABULARY, (batch, length))


def prefill(inner: nn.Module, length: int, batch: int = 1) -> Recipe:
    """Return a recipe with tokens and a mask of ones, without a cache."""
    mask = torch.ones(batch, length, dtype=torch.int64)
    kwargs = {"input_ids": tokens(length, batch), "attention_mask": mask}
    return Recipe(inner, kwargs=kwargs, shapes=dict.fromkeys(kwargs, TOKENS))


def decode(inner: nn.Module, heads: int, width: int, past: int = 900) -> Recipe:
    """Return a recipe for one new token after `past` cached ones."""
    cache = [
        (torch.randn(1, heads, past, width), torch.randn(1, heads, past, width))
        for _ in range(inner.config.num_hidden_layers)
    ]
    mask = torch.ones(1, past + 1, dtype=torch.int64)
    axes = {2: Dim("past", min=2, max=2000)}
    shapes = ({}, {1: Dim.DYNAMIC}, [(axes, axes)] * len(cache))
    return Recipe(WithCache(inner), (tokens(1), mask, cache), shapes=shapes)


def gpt2(use_cache: bool) -> nn.Module:
    """Return GPT-2 at its own width."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_layer=LAYERS,
        bos_token_id=1,
        eos_token_id=2,
        use_cache=use_cache,
    )
    return transformers.GPT2LMHeadModel(config)


def llama(use_cache: bool) -> nn.Module:
    """Return Llama at a width of 1024, four queries to a key."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=LAYERS,
        num_attention_heads=16,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        use_cache=use_cache,
    )
    return transformers.LlamaForCausalLM(config)


def bert() -> Recipe:
    """Return BERT's encoder, two sentences."""
    config = transformers.BertConfig(vocab_size=VOCABULARY, num_hidden_layers=LAYERS)
    return prefill(transformers.BertModel(config, add_pooling_layer=False), 128, 2)


def vit() -> Recipe:
    """Return a vision transformer of fewer layers."""
    return images(models.VisionTransformer(224, 16, LAYERS, 12, 768, 3072))


def t5() -> Recipe:
    """Return T5 at the width of its small form."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY, num_layers=LAYERS, num_decoder_layers=LAYERS, use_cache=False
    )
    kwargs = {
        "input_ids": tokens(256),
        "attention_mask": torch.ones(1, 256, dtype=torch.int64),
        "decoder_input_ids": tokens(64),
    }
    target = Dim("target", min=2, max=512)
    shapes = {**dict.fromkeys(kwargs, TOKENS), "decoder_input_ids": {1: target}}
    return Recipe(transformers.T5ForConditionalGeneration(config), kwargs=kwargs, shapes=shapes)


def whisper() -> Recipe:
    """Return Whisper at the width of its tiny form, and half of its layers."""
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
        use_cache=False,
    )
    kwargs = {"input_features": torch.randn(1, 80, 3000), "decoder_input_ids": tokens(32)}
    target = Dim("target", min=2, max=256)
    shapes = {"input_features": {}, "decoder_input_ids": {1: target}}
    module = transformers.WhisperForConditionalGeneration(config)
    return Recipe(module, kwargs=kwargs, shapes=shapes)


def mamba() -> Recipe:
    """Return Mamba; its scan is a step for each token, so that the length is fixed."""
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=768, num_hidden_layers=2, use_cache=False
    )
    return Recipe(transformers.MambaForCausalLM(config), (tokens(16),))


class Recurrent(nn.Module):
    """An LSTM in both directions and a GRU behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(256, 256, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(512, 256, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states of `x`, `[batch, length, 256]`."""
        return self.gru(self.lstm(x)[0])[0]


class Residual(nn.Module):
    """A block of a diffusion U-Net: norms, SiLU and convolutions around a skip."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(32, width) for width in (inner, outer))
        self.first = nn.Conv2d(inner, outer, 3, padding=1)
        self.second = nn.Conv2d(outer, outer, 3, padding=1)
        self.time = nn.Linear(256, outer)
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        """Return `[batch, outer, height, width]`."""
        silu = nn.functional.silu
        hidden = self.first(silu(self.norms[0](x))) + self.time(silu(time))[:, :, None, None]
        return self.skip(x) + self.second(silu(self.norms[1](hidden)))


class Spatial(nn.Module):
    """Attention over the places of an image, and to a text."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = nn.MultiheadAttention(width, 8, batch_first=True)
        self.other = nn.MultiheadAttention(width, 8, batch_first=True, kdim=256, vdim=256)
        self.wide = nn.Linear(width, 8 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        """Return `[batch, width, height, width]`."""
        hidden = self.norm(x).flatten(2).transpose(1, 2)
        one = self.norms[0](hidden)
        hidden = hidden + self.own(one, one, one, need_weights=False)[0]
        hidden = hidden + self.other(self.norms[1](hidden), text, text, need_weights=False)[0]
        value, gate = self.wide(self.norms[2](hidden)).chunk(2, -1)
        hidden = hidden + self.narrow(value * nn.functional.gelu(gate))
        return x + hidden.transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    """A diffusion U-Net of two resolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv2d(4, 128, 3, padding=1)
        self.down = nn.ModuleList([Residual(128, 128), Residual(128, 256)])
        self.halve = nn.Conv2d(128, 128, 3, stride=2, padding=1)
        self.spatial = Spatial(256)
        self.up = nn.ModuleList([Residual(256, 256), Residual(384, 128)])
        self.larger = nn.Upsample(scale_factor=2)
        self.norm = nn.GroupNorm(32, 128)
        self.leave = nn.Conv2d(128, 4, 3, padding=1)

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        """Return the noise of `x`, `[batch, 4, height, width]`."""
        fine = self.down[0](self.enter(x), time)
        hidden = self.spatial(self.down[1](self.halve(fine), time), text)
        hidden = self.larger(self.up[0](hidden, time))
        hidden = self.up[1](torch.cat([hidden, fine], 1), time)
        return self.leave(nn.functional.silu(self.norm(hidden)))


RECIPES: dict[str, Callable[[], Recipe]] = {
    "resnet50": lambda: images(models.resnet50()),
    "mobilenet_v3": lambda: images(models.mobilenet_v3_large()),
    "efficientnet_b0": lambda: images(models.efficientnet_b0()),
    "convnext_tiny": lambda: images(models.convnext_tiny()),
    "swin_t": lambda: images(models.swin_t()),
    "vit": vit,
    "bert": bert,
    "gpt2": lambda: prefill(gpt2(use_cache=False), 512),
    "gpt2_900": lambda: decode(gpt2(use_cache=True), 12, 64),
    "llama": lambda: prefill(llama(use_cache=False), 512),
    "llama_900": lambda: decode(llama(use_cache=True), 4, 64),
    "t5": t5,
    "whisper": whisper,
    "unet": lambda: Recipe(
        UNet(), (torch.randn(1, 4, 32, 32), torch.randn(1, 256), torch.randn(1, 77, 256))
    ),
    "mamba": mamba,
    "recurrent": lambda: Recipe(Recurrent(), (torch.randn(4, 50, 256),)),
    "fcos": detection.fcos_resnet18,
    **DECODERS,
}
