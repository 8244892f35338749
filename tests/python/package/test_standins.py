"""Small modules that stand for models which people export, with dynamic sizes.

Each has random weights. The exported model is compared with the module at sizes other than the
traced ones. A static cache of transformers is in `test_state.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch.utils._pytree as pytree
import torchvision
from torch import nn
from torch.export import Dim
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import onnxport

DYN = Dim.DYNAMIC


@dataclass
class Standin:
    """A module, example calls of which the first is traced, and its dynamic sizes."""

    module: nn.Module
    calls: list[tuple[Any, ...]]
    sizes: Any


STANDINS: dict[str, Any] = {}


def standin(make):
    STANDINS[make.__name__] = make
    return make


class LengthLeft(nn.Module):
    """Attention over a cache that is as long as the whole text without the new tokens."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x, mask, keys, values):
        batch, length, _ = x.shape
        total = mask.shape[1]
        assert keys.shape[2] == total - length
        query, key, value = (
            part.view(batch, length, 4, 4).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        position = torch.arange(total - length, total)
        causal = torch.arange(total) <= position[:, None]
        allowed = causal & mask[:, None, None, :].bool()
        out = F.scaled_dot_product_attention(query, keys, values, attn_mask=allowed)
        return out.transpose(1, 2).flatten(2), keys, values


@standin
def cache_of_the_length_that_is_left():
    def call(batch, length, past):
        cache = torch.randn(batch, 4, past, 4), torch.randn(batch, 4, past, 4)
        return torch.randn(batch, length, 16), torch.ones(batch, length + past), *cache

    cache = {0: "batch", 2: "past"}
    return Standin(
        LengthLeft(),
        [call(2, 3, 5), call(3, 1, 8), call(1, 7, 2)],
        ({0: "batch", 1: "length"}, {0: "batch", 1: "total"}, cache, cache),
    )


class Selected(nn.Module):
    """Attention of the rows of a batch that a mask selects."""

    def __init__(self):
        super().__init__()
        self.attention = nn.Linear(16, 48)

    def forward(self, x, chosen):
        x = x[chosen]
        query, key, value = (
            part.unflatten(-1, (4, 4)).transpose(1, 2) for part in self.attention(x).chunk(3, -1)
        )
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return out.transpose(1, 2).flatten(2)


@standin
def attention_of_selected_rows():
    return Standin(
        Selected(),
        [
            (torch.randn(3, 5, 16), torch.tensor([True, False, True])),
            (torch.randn(4, 2, 16), torch.tensor([True, True, False, True])),
            (torch.randn(2, 9, 16), torch.tensor([False, True])),
        ],
        ({0: "batch", 1: "length"}, {0: "batch"}),
    )


class Padded(nn.Module):
    """Pads sequences of several lengths, and pools each over its own steps."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)

    def forward(self, first, second, third):
        padded = pad_sequence([first, second, third], batch_first=True, padding_value=0)
        inside = (padded != 0).float()[..., None]
        return padded, (self.embed(padded) * inside).sum(1) / inside.sum(1)


@standin
def pad_sequence_of_three():
    def call(*lengths):
        return tuple(torch.randint(1, 20, (length,)) for length in lengths)

    return Standin(Padded(), [call(3, 5, 2), call(6, 2, 4), call(2, 3, 9)], ({0: DYN},) * 3)


class Yolo(nn.Module):
    """A detector with a grid of anchors, whose boxes are suppressed by class."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU()
        )
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.mix = nn.Conv2d(24, 16, 1)
        self.head = nn.Conv2d(16, 4 + 3, 1)

    def level(self, features, stride):
        out = self.head(features)
        height, width = out.shape[-2:]
        y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        grid = torch.stack([x, y], -1).view(-1, 2).float() + 0.5
        out = out.flatten(2).transpose(1, 2)
        centre = (grid + out[..., :2].tanh()) * stride
        size = out[..., 2:4].exp().clamp(max=4) * stride
        return torch.cat([centre - size / 2, centre + size / 2], -1), out[..., 4:].sigmoid()

    def forward(self, x):
        first = self.stem[:2](x)
        second = self.stem[2:](first)
        fine = self.mix(torch.cat([self.up(second), first], 1))
        levels = [self.level(fine, 2.0), self.level(second, 4.0)]
        boxes = torch.cat([one[0] for one in levels], 1)[0]
        scores, labels = torch.cat([one[1] for one in levels], 1)[0].max(-1)
        above = scores > 0.5
        boxes, scores, labels = boxes[above], scores[above], labels[above]
        kept = torchvision.ops.batched_nms(boxes, scores, labels, 0.5)[:20]
        return boxes[kept], scores[kept], labels[kept]


@standin
def yolo_with_suppression():
    size = {2: 4 * Dim("height", min=2, max=64), 3: 4 * Dim("width", min=2, max=64)}
    return Standin(
        Yolo(),
        [(torch.randn(1, 3, 16, 24),), (torch.randn(1, 3, 32, 16),), (torch.randn(1, 3, 20, 20),)],
        (size,),
    )


class Detr(nn.Module):
    """Object queries that attend to the features of an image with sine positions."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.ReLU())
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(16, 4, 32, 0.0, batch_first=True)
        self.queries = nn.Embedding(6, 16)
        self.boxes, self.classes = nn.Linear(16, 4), nn.Linear(16, 5)

    def forward(self, image, mask):
        features = self.backbone(image)
        inside = F.interpolate(mask[:, None].float(), size=features.shape[-2:])[:, 0].bool()
        steps = inside.cumsum(1, dtype=torch.float32), inside.cumsum(2, dtype=torch.float32)
        rate = 100 ** (torch.arange(4) / 4)
        angles = torch.cat([one[..., None] / rate for one in steps], -1)
        position = torch.cat([angles.sin(), angles.cos()], -1).flatten(1, 2)
        memory = features.flatten(2).transpose(1, 2) + position
        outside = ~inside.flatten(1)
        memory = self.encoder(memory, src_key_padding_mask=outside)
        queries = self.queries.weight.expand(image.shape[0], -1, -1)
        found = self.decoder(queries, memory, memory_key_padding_mask=outside)
        return self.boxes(found).sigmoid(), self.classes(found)


@standin
def detr():
    def call(batch, height, width):
        mask = torch.ones(batch, height, width, dtype=torch.bool)
        mask[:, -4:] = False
        return torch.randn(batch, 3, height, width), mask

    height, width = 4 * Dim("rows", min=2, max=64), 4 * Dim("columns", min=2, max=64)
    return Standin(
        Detr(),
        [call(2, 16, 24), call(3, 32, 12), call(1, 20, 20)],
        ({0: "batch", 2: height, 3: width}, {0: "batch", 1: height, 2: width}),
    )


class Prompted(nn.Module):
    """Masks of an image for points, read from its features where the points are."""

    def __init__(self):
        super().__init__()
        self.image = nn.Conv2d(3, 8, 4, 4)
        self.labels = nn.Embedding(2, 8)
        self.register_buffer("frequencies", torch.randn(2, 4))
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)

    def forward(self, image, points, labels):
        features = self.image(image)
        height, width = image.shape[-2:]
        scaled = 2 * points / torch.tensor([width, height]) - 1
        angles = 2 * torch.pi * (scaled @ self.frequencies)
        prompts = torch.cat([angles.sin(), angles.cos()], -1) + self.labels(labels)
        read = F.grid_sample(features, scaled[:, None], align_corners=False)[:, :, 0]
        prompts = prompts + read.transpose(1, 2)
        masks = torch.einsum("bpc,bchw->bphw", prompts, self.up(features))
        masks = F.interpolate(masks, size=(height, width), mode="bilinear", align_corners=False)
        best = masks.mean((2, 3)).argmax(1)
        return masks, masks[torch.arange(masks.shape[0]), best]


@standin
def segment_anything():
    def call(batch, count, height, width):
        points = torch.rand(batch, count, 2) * torch.tensor([width, height])
        image = torch.randn(batch, 3, height, width)
        return image, points, torch.randint(0, 2, (batch, count))

    height, width = 4 * Dim("rows", min=2, max=64), 4 * Dim("columns", min=2, max=64)
    return Standin(
        Prompted(),
        [call(2, 3, 16, 24), call(3, 5, 32, 12), call(1, 2, 20, 20)],
        (
            {0: "batch", 2: height, 3: width},
            {0: "batch", 1: "points"},
            {0: "batch", 1: "points"},
        ),
    )


class Patches(nn.Module):
    """Prepares images of any size, and puts their features at the places of a text."""

    def __init__(self):
        super().__init__()
        self.embed, self.tower = nn.Embedding(20, 16), nn.Linear(48, 16)
        self.positions = nn.Parameter(torch.randn(1, 16, 6, 6))

    def forward(self, pixels, tokens):
        x = (pixels.float() / 255 - 0.5) / 0.25
        height, width = x.shape[-2:]
        x = F.pad(x, (0, -width % 4, 0, -height % 4))
        count, _, height, width = x.shape
        rows, columns = height // 4, width // 4
        x = x.reshape(count, 3, rows, 4, columns, 4).permute(0, 2, 4, 1, 3, 5)
        x = x.reshape(count, rows * columns, 48)
        positions = F.interpolate(self.positions, size=(rows, columns), mode="bicubic")
        features = self.tower(x) + positions.flatten(2).transpose(1, 2)
        embedded = self.embed(tokens)
        place = (tokens == 0)[..., None].expand_as(embedded)
        return embedded.masked_scatter(place, features)


@standin
def vision_language_preprocessing():
    def call(count, height, width, text):
        features = count * -(-height // 4) * -(-width // 4)
        tokens = torch.cat([torch.zeros(features), torch.randint(1, 20, (text,))]).long()
        tokens = tokens[torch.randperm(len(tokens))][None]
        return torch.randint(0, 256, (count, 3, height, width), dtype=torch.uint8), tokens

    return Standin(
        Patches(),
        [call(2, 10, 15, 6), call(1, 16, 9, 4), call(3, 8, 8, 11)],
        ({0: "images", 2: "height", 3: "width"}, {1: "length"}),
    )


class Piper(nn.Module):
    """Speech by a path that a cumulative sum of durations draws, without random numbers."""

    def __init__(self):
        super().__init__()
        self.embed, self.duration = nn.Embedding(20, 16), nn.Linear(16, 1)
        self.decode = nn.ConvTranspose1d(16, 1, 8, 4, 2)

    def forward(self, tokens, lengths, scales):
        x = self.embed(tokens)
        inside = torch.arange(tokens.shape[1]) < lengths[:, None]
        durations = torch.ceil(self.duration(x)[..., 0].exp() * inside * scales[0])
        frames = durations.sum(1).clamp(min=1).long()
        ends = durations.cumsum(1)
        time = torch.arange(frames.max())
        path = time[None, :, None] < ends[:, None]
        path = path.float() - F.pad(path, (1, 0))[..., :-1].float()
        hidden = (path @ x) * (time < frames[:, None])[..., None]
        return self.decode(hidden.transpose(1, 2)).tanh(), frames


@standin
def piper():
    def call(batch, length, scale):
        lengths = torch.randint(1, length + 1, (batch,))
        return torch.randint(0, 20, (batch, length)), lengths, torch.tensor([scale])

    return Standin(
        Piper(),
        [call(2, 5, 1.0), call(3, 9, 2.0), call(1, 3, 0.5)],
        ({0: "batch", 1: "length"}, {0: "batch"}, None),
    )


class Kokoro(nn.Module):
    """Speech of tokens that are repeated by their durations, with a style."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.text = nn.LSTM(16, 8, batch_first=True, bidirectional=True)
        self.duration = nn.Linear(16, 4)
        self.frames = nn.LSTM(16, 16, batch_first=True)
        self.norm, self.style = nn.InstanceNorm1d(16), nn.Linear(6, 32)
        self.decode = nn.ConvTranspose1d(16, 1, 8, 4, 2)

    def forward(self, tokens, style, speed):
        x, _ = self.text(self.embed(tokens))
        durations = self.duration(x).sigmoid().sum(-1) * 2 / speed
        durations = torch.round(durations).clamp(min=1).long().squeeze(0)
        at = torch.repeat_interleave(torch.arange(tokens.shape[1]), durations)
        frames, _ = self.frames(x[:, at])
        scale, shift = self.style(style)[..., None].chunk(2, 1)
        hidden = self.norm(frames.transpose(1, 2)) * (1 + scale) + shift
        return self.decode(hidden)[0, 0].tanh(), durations


@standin
def kokoro():
    def call(length, speed):
        return torch.randint(0, 20, (1, length)), torch.randn(1, 6), torch.tensor(speed)

    return Standin(
        Kokoro(), [call(5, 1.0), call(9, 0.5), call(3, 1.5)], ({1: "length"}, None, None)
    )


class Tesseract(nn.Module):
    """A line of text: columns of features through LSTMs in several directions."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.Tanh(), nn.MaxPool2d(3))
        self.down = nn.LSTM(8, 12, batch_first=True)
        self.back = nn.LSTM(12, 10, batch_first=True)
        self.both = nn.LSTM(10, 10, batch_first=True, bidirectional=True)
        self.head = nn.Linear(20, 11)

    def forward(self, image):
        x = self.features(image)
        batch, channels, height, width = x.shape
        columns = x.permute(0, 3, 2, 1).reshape(batch * width, height, channels)
        x = self.down(columns)[0][:, -1].view(batch, width, -1)
        x = self.back(x.flip(1))[0].flip(1)
        return F.log_softmax(self.head(self.both(x)[0]), -1)


@standin
def tesseract():
    size = {0: "batch", 3: "width"}
    shapes = [(2, 1, 12, 30), (3, 1, 12, 19), (1, 1, 12, 44)]
    return Standin(Tesseract(), [(torch.randn(shape),) for shape in shapes], (size,))


class Parseq(nn.Module):
    """Reads a word in five steps, each from all letters before it, and refines it once."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, (4, 8), (4, 8))
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True)
        self.embed, self.queries = nn.Embedding(13, 16), nn.Parameter(torch.randn(1, 5, 16))
        self.itself = nn.MultiheadAttention(16, 4, batch_first=True)
        self.cross = nn.MultiheadAttention(16, 4, batch_first=True)
        self.head = nn.Linear(16, 12)

    def decode(self, letters, memory, queries, mask, outside=None):
        content = self.embed(letters)
        queries = (
            queries
            + self.itself(
                queries,
                content,
                content,
                attn_mask=mask,
                key_padding_mask=outside,
                need_weights=False,
            )[0]
        )
        return queries + self.cross(queries, memory, memory, need_weights=False)[0]

    def forward(self, images):
        memory = self.encoder(self.patches(images).flatten(2).transpose(1, 2))
        batch, steps = images.shape[0], self.queries.shape[1]
        queries = self.queries.expand(batch, -1, -1)
        mask = torch.triu(torch.ones(steps, steps, dtype=torch.bool), 1)
        letters = torch.full((batch, steps), 12)
        letters[:, 0] = 11
        logits = []
        for at in range(steps):
            end = at + 1
            out = self.decode(letters[:, :end], memory, queries[:, at:end], mask[at:end, :end])
            logits.append(self.head(out))
            if end < steps:
                letters[:, end] = logits[-1].squeeze(1).argmax(-1)
        logits = torch.cat(logits, 1)
        cloze = torch.triu(torch.ones(steps, steps, dtype=torch.bool), 2)
        letters = torch.cat([torch.full((batch, 1), 11), logits[:, :-1].argmax(-1)], 1)
        outside = (letters == 0).int().cumsum(-1) > 0
        return logits, self.head(self.decode(letters, memory, queries, cloze, outside))


@standin
def parseq():
    shapes = [(2, 3, 8, 32), (3, 3, 16, 24), (1, 3, 12, 48)]
    rows, columns = Dim("rows", min=2, max=32), Dim("columns", min=2, max=32)
    size = {0: "batch", 2: 4 * rows, 3: 8 * columns}
    return Standin(Parseq(), [(torch.randn(shape),) for shape in shapes], (size,))


class Windows(nn.Module):
    """Attention in windows of an image of any size, padded to whole windows."""

    def __init__(self):
        super().__init__()
        self.embed, self.attention = nn.Conv2d(3, 16, 2, 2), nn.Linear(16, 48)
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        x = self.embed(x)
        batch, channels, height, width = x.shape
        x = F.pad(x, (0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
        rows, columns = x.shape[2] // 4, x.shape[3] // 4
        x = x.view(batch, channels, rows, 4, columns, 4).permute(0, 2, 4, 3, 5, 1)
        x = x.reshape(-1, 16, channels)
        query, key, value = (
            part.unflatten(-1, (4, 4)).transpose(1, 2) for part in self.attention(x).chunk(3, -1)
        )
        x = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        x = x.view(batch, rows, columns, 4, 4, channels).permute(0, 5, 1, 3, 2, 4)
        x = x.reshape(batch, channels, rows * 4, columns * 4)[:, :, :height, :width]
        return x, self.pool(x).flatten(1)


@standin
def square_and_rectangular_images():
    size = {0: "batch", 2: "height", 3: "width"}
    shapes = [(2, 3, 16, 16), (1, 3, 16, 16), (3, 3, 22, 9), (1, 3, 7, 30)]
    return Standin(Windows(), [(torch.randn(shape),) for shape in shapes], (size,))


class Packed(nn.Module):
    """A packed LSTM, padded again to the longest sequence."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(6, 5, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, (last, _) = self.layer(packed)
        return pad_packed_sequence(out, batch_first=True)[0], last


@standin
def packed_lstm():
    return Standin(
        Packed(),
        [
            (torch.randn(3, 6, 6), torch.tensor([4, 6, 2])),
            (torch.randn(2, 9, 6), torch.tensor([3, 7])),
            (torch.randn(4, 3, 6), torch.tensor([1, 3, 2, 3])),
        ],
        ({0: "batch", 1: "length"}, {0: "batch"}),
    )


class Flexible(nn.Module):
    """`flex_attention` with slopes for heads and a mask of documents."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, 5))

    def forward(self, x, documents):
        batch, length, _ = x.shape
        query, key, value = (
            part.view(batch, length, 4, 4).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )

        def score(number, batch, head, row, column):
            return number + self.slopes[head] * (column - row)

        def allowed(batch, head, row, column):
            same = documents[batch, row] == documents[batch, column]
            return same & (row >= column)

        mask = create_block_mask(allowed, batch, None, length, length, device="cpu")
        return flex_attention(query, key, value, score, mask).transpose(1, 2).flatten(2)


@standin
def flexible_attention():
    def call(batch, length):
        return torch.randn(batch, length, 16), torch.randint(0, 2, (batch, length)).sort(1).values

    size = {0: "batch", 1: "length"}
    return Standin(Flexible(), [call(2, 7), call(3, 12), call(1, 5)], (size, size))


class Beams(nn.Module):
    """One step of a beam search with a penalty for length, which reorders a cache."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(16, 20)

    def forward(self, hidden, scores, tokens, cache):
        batch, beams = scores.shape
        steps = F.log_softmax(self.head(hidden).view(batch, beams, -1), -1)
        ended = tokens[..., -1:] == 2
        only = torch.where(torch.arange(20) == 2, 0.0, -torch.inf)
        total = scores[..., None] + torch.where(ended, only, steps)
        scores, position = total.flatten(1).topk(beams)
        beam, token = position // 20, position % 20
        row = (torch.arange(batch)[:, None] * beams + beam).flatten()
        tokens = tokens.flatten(0, 1).index_select(0, row).unflatten(0, (batch, beams))
        tokens = torch.cat([tokens, token[..., None]], -1)
        done = (token == 2).all(1)
        return scores / tokens.shape[-1] ** 0.6, tokens, cache.index_select(0, row), done


@standin
def beam_search_step():
    def call(batch, beams, length):
        tokens = torch.randint(0, 20, (batch, beams, length))
        hidden, cache = torch.randn(batch * beams, 16), torch.randn(batch * beams, 2, length, 4)
        return hidden, torch.randn(batch, beams), tokens, cache

    batch, beams = Dim("batch", min=1, max=64), Dim("beams", min=2, max=16)
    sizes = (
        {0: DYN},
        {0: batch, 1: beams},
        {0: batch, 1: beams, 2: "length"},
        {0: DYN, 2: "length"},
    )
    return Standin(Beams(), [call(2, 3, 4), call(3, 2, 6), call(1, 5, 2)], sizes)


class Diffusion(nn.Module):
    """One step of a sampler: a net with a skip, guidance, and the variance of the time."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
        self.enter, self.down = nn.Conv2d(4, 16, 3, 1, 1), nn.Conv2d(16, 16, 3, 2, 1)
        self.norm, self.leave = nn.GroupNorm(4, 16), nn.Conv2d(32, 4, 3, 1, 1)
        self.text = nn.MultiheadAttention(16, 4, kdim=12, vdim=12, batch_first=True)
        self.register_buffer("kept", torch.linspace(0.999, 0.01, 50).cumprod(0))

    def noise(self, x, time, text):
        angles = time[:, None] * torch.exp(-torch.arange(4) * 2.0)
        embedded = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        first = self.enter(x)
        hidden = F.silu(self.norm(self.down(first) + embedded[..., None, None]))
        flat = hidden.flatten(2).transpose(1, 2)
        flat = flat + self.text(flat, text, text, need_weights=False)[0]
        hidden = flat.transpose(1, 2).reshape(hidden.shape)
        hidden = F.interpolate(hidden, size=first.shape[-2:], mode="nearest")
        return self.leave(torch.cat([hidden, first], 1))

    def forward(self, x, time, text, empty, guidance):
        both = self.noise(torch.cat([x, x]), torch.cat([time, time]), torch.cat([empty, text]))
        without, with_text = both.chunk(2)
        noise = without + guidance * (with_text - without)
        now = self.kept[time][:, None, None, None]
        before = torch.where(time >= 5, self.kept[(time - 5).clamp(min=0)], 1.0)
        before = before[:, None, None, None]
        start = ((x - (1 - now).sqrt() * noise) / now.sqrt()).clamp(-3, 3)
        return before.sqrt() * start + (1 - before).sqrt() * noise


@standin
def diffusion_step():
    def call(batch, height, width, length, time):
        x, time = torch.randn(batch, 4, height, width), torch.full((batch,), time)
        text = torch.randn(batch, length, 12)
        return x, time, text, torch.randn(batch, length, 12), torch.tensor(5.0)

    text = {0: "batch", 1: "length"}
    return Standin(
        Diffusion(),
        [call(2, 8, 12, 5, 20), call(1, 6, 6, 7, 3), call(3, 14, 9, 2, 0)],
        ({0: "batch", 2: "height", 3: "width"}, {0: "batch"}, text, text, None),
    )


@pytest.mark.parametrize("name", STANDINS)
def test_other_sizes_agree(name):
    torch.manual_seed(0)
    found = STANDINS[name]()
    module = found.module.eval()
    first, *others = found.calls
    program = onnxport.export(module, first, dynamic_shapes=found.sizes)
    assert program.capture.strategy != "draft", program.capture
    assert not [one for one in program.diagnostics if one.code in ("OP211", "OP216")]
    for call in (first, *others):
        with torch.no_grad():
            expected = pytree.tree_leaves(module(*call))
        torch.testing.assert_close(list(program(*call)), expected, rtol=1e-4, atol=1e-5)
