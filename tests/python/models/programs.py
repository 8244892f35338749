"""Programs as people write them by hand: graphs, detection, search, codebooks, masked images."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

from tests.python.models.registry import BATCH, Recipe, model
from tests.python.models.weights import lively


class BeamStep(nn.Module):
    """One step of a beam search: the best continuations and the beams that they extend."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.cell = nn.GRUCell(16, 16)
        self.head = nn.Linear(16, 20)

    def forward(
        self, tokens: Tensor, states: Tensor, scores: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, beams = scores.shape
        states = self.cell(self.embedding(tokens[:, :, -1]).flatten(0, 1), states.flatten(0, 1))
        steps = functional.log_softmax(self.head(states), -1).view(batch, beams, -1)
        steps = steps.masked_fill((tokens[:, :, -1] == 2)[..., None], -torch.inf)
        best, position = (scores[..., None] + steps).flatten(1).topk(beams, sorted=True)
        beam, token = position // steps.shape[-1], position % steps.shape[-1]
        kept = tokens.gather(1, beam[..., None].expand(-1, -1, tokens.shape[2]))
        states = states.view(batch, beams, -1)[torch.arange(batch)[:, None], beam]
        order = best.sort(dim=1, descending=True, stable=True).indices
        return torch.cat([kept, token[..., None]], -1), states, best.gather(1, order)


@model("beam_step")
def beam_step():
    length = Dim("length", max=64)
    return Recipe(
        lively(BeamStep()),
        (torch.randint(3, 20, (2, 3, 4)), torch.randn(2, 3, 16), torch.randn(2, 3)),
        shapes=({0: BATCH, 2: length}, {0: BATCH}, {0: BATCH}),
    )


class GraphConvolution(nn.Module):
    """Graph convolution, then attention over the edges; edges are pairs of node numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Linear(5, 8, bias=False)
        self.project = nn.Linear(8, 2 * 4)
        self.source = nn.Parameter(torch.randn(2, 4))
        self.target = nn.Parameter(torch.randn(2, 4))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        nodes = x.shape[0]
        loops = torch.arange(nodes, device=x.device).expand(2, -1)
        source, target = torch.cat([edges, loops], 1)
        degree = x.new_zeros(nodes).scatter_add_(0, target, torch.ones_like(target, dtype=x.dtype))
        norm = degree.rsqrt()[source] * degree.rsqrt()[target]
        messages = self.convolution(x)[source] * norm[:, None]
        x = torch.zeros(nodes, 8).index_add_(0, target, messages).relu()
        x = self.project(x).view(nodes, 2, 4)
        weight = (x * self.source).sum(-1)[source] + (x * self.target).sum(-1)[target]
        weight = functional.leaky_relu(weight, 0.2)
        index = target[:, None].expand_as(weight)
        top = torch.full((nodes, 2), -torch.inf).scatter_reduce(0, index, weight, "amax")
        weight = (weight - top[target]).exp()
        total = torch.zeros(nodes, 2).scatter_add(0, index, weight)
        weight = weight / total[target]
        messages = (x[source] * weight[..., None]).flatten(1)
        x = torch.zeros(nodes, 8).index_reduce(0, target, messages, "mean", include_self=False)
        return functional.log_softmax(x, -1)


@model("graph_attention", static="the number of edges is dynamic, the edges' shape is not")
def graph_attention():
    nodes = Dim("nodes", min=6)
    return Recipe(
        lively(GraphConvolution()),
        (torch.randn(6, 5), torch.randint(0, 6, (2, 11))),
        shapes=({0: nodes}, {1: Dim("edges")}),
    )


class SpatialTransformer(nn.Module):
    """Warps an image by a predicted affine map, then doubles it by shuffled channels."""

    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Sequential(
            nn.Conv2d(3, 4, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 6),
        )
        self.enlarge = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        theta = self.locate(x).view(-1, 2, 3) * 0.3 + torch.eye(2, 3)
        grid = functional.affine_grid(theta, x.shape, align_corners=False)
        warped = functional.grid_sample(x, grid, padding_mode="border", align_corners=False)
        base = functional.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        return warped, self.enlarge(warped).tanh() + base


@model("spatial_transformer", static="the pooling to 2x2 fixes the image size; batch is dynamic")
def spatial_transformer():
    return Recipe(lively(SpatialTransformer()), (torch.randn(2, 3, 16, 16),), shapes=({0: BATCH},))


class Codebook(nn.Module):
    """A vector-quantised autoencoder of signals: the nearest code and the number of uses."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv1d(1, 8, 4, stride=2, padding=1),
            nn.GroupNorm(2, 8),
            nn.SiLU(),
            nn.Conv1d(8, 4, 3, padding=2, dilation=2),
        )
        self.decode = nn.Sequential(
            nn.ConvTranspose1d(4, 8, 4, stride=2, padding=1),
            nn.ELU(),
            nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 1, 7, padding="same")),
        )
        self.codes = nn.Parameter(torch.randn(10, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states = self.encode(x).transpose(1, 2)
        flat = states.reshape(-1, 4)
        nearest = torch.cdist(flat, self.codes).argmin(1)
        uses = functional.one_hot(nearest, 10).sum(0)
        chosen = functional.embedding(nearest, self.codes).view_as(states)
        chosen = states + (chosen - states).detach()
        return self.decode(chosen.transpose(1, 2)), nearest.view(x.shape[0], -1), uses


@model("codebook")
def codebook():
    return Recipe(
        lively(Codebook()), (torch.randn(2, 1, 16),), shapes=({0: BATCH, 2: 4 * Dim("frames")},)
    )


class Recommender(nn.Module):
    """Bags of categories, dense features, and the products of every pair."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(30, 8, mode=mode) for mode in ("sum", "mean", "max")
        )
        self.dense = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.top = nn.Linear(8 + 6, 1)

    def forward(self, dense: Tensor, categories: list[Tensor], offsets: Tensor) -> Tensor:
        bottom = self.dense(dense)
        looked_up = [bag(ids, offsets) for bag, ids in zip(self.bags, categories, strict=True)]
        features = torch.stack([bottom, *looked_up], 1)
        products = torch.bmm(features, features.transpose(1, 2))
        row, column = torch.tril_indices(4, 4, offset=-1)
        pairs = products[:, row, column]
        return self.top(torch.cat([bottom, pairs], 1)).sigmoid()


@model("recommender")
def recommender():
    categories = [torch.randint(0, 30, (7,)) for _ in range(3)]
    return Recipe(
        lively(Recommender()),
        (torch.randn(3, 5), categories, torch.tensor([0, 2, 5])),
        shapes=(None, [{0: Dim("ids", min=6)}] * 3, None),
    )


class Table(nn.Module):
    """A net for tables: embeddings, numbers that are normed, and norms in front of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(count, 4) for count in (7, 12, 3))
        self.numbers = nn.BatchNorm1d(5)
        self.layers = nn.Sequential(
            *(nn.Linear(17, 32, bias=False), nn.ReLU(), nn.BatchNorm1d(32), nn.Dropout(0.1)),
            *(nn.Linear(32, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 2)),
        )

    def forward(self, kinds: Tensor, numbers: Tensor) -> Tensor:
        looked_up = [embed(kinds[:, at]) for at, embed in enumerate(self.embeddings)]
        return self.layers(torch.cat([*looked_up, self.numbers(numbers)], 1))


@model("table")
def table():
    args = (torch.randint(0, 3, (6, 3)), torch.randn(6, 5) * 20 + 3)
    return Recipe(lively(Table(), args), args, shapes=({0: BATCH}, {0: BATCH}))


class CacheInBuffers(nn.Module):
    """A decoder step that writes keys and values into buffers at the positions given."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(16, 48)
        self.register_buffer("keys", torch.zeros(2, 4, 12, 4))
        self.register_buffer("values", torch.zeros(2, 4, 12, 4))

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        query, key, value = (
            part.view(2, -1, 4, 4).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )
        self.keys[:, :, positions] = key
        self.values.index_copy_(2, positions, value)
        visible = torch.arange(12) <= positions[:, None]
        out = functional.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=visible
        )
        return out.transpose(1, 2).flatten(2)


@model("cache_in_buffers")
def cache_in_buffers():
    steps = Dim("steps", max=3)
    return Recipe(
        lively(CacheInBuffers()),
        (torch.randn(2, 3, 16), torch.tensor([4, 5, 6])),
        shapes=({1: steps}, {0: steps}),
    )


class ProjectedLstm(nn.Module):
    """Recurrent layers of every kind, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 12, proj_size=5, num_layers=2)
        self.gru = nn.GRU(5, 7, bidirectional=True)
        self.rnn = nn.RNN(14, 4, nonlinearity="relu", bias=False)

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
        x, (hidden, cell) = self.lstm(x, (hidden, cell))
        x, last = self.gru(x.flip(0))
        x, _ = self.rnn(x)
        return x, hidden, cell, last


@model("recurrent", static="the exporter fixes the sequence of recurrent layers; batch is dynamic")
def recurrent():
    batch = {1: BATCH}
    return Recipe(
        lively(ProjectedLstm()),
        (torch.randn(4, 3, 6), torch.randn(2, 3, 5), torch.randn(2, 3, 12)),
        shapes=(batch, batch, batch),
    )


class Postprocess(nn.Module):
    """Boxes from anchors and offsets: the best hundred that do not overlap, best first."""

    def forward(self, anchors: Tensor, offsets: Tensor, logits: Tensor) -> tuple[Tensor, ...]:
        size = anchors[:, 2:] - anchors[:, :2]
        centre = anchors[:, :2] + size / 2 + offsets[:, :2] * size
        size = size * offsets[:, 2:].clamp(max=1.5).exp()
        boxes = torch.cat([centre - size / 2, centre + size / 2], 1).clamp(0, 64)
        scores, labels = logits.sigmoid().max(1)
        kept = (scores > 0.3).nonzero().squeeze(1)
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
        order = scores.argsort(descending=True)
        boxes, scores, labels = boxes[order], scores[order], labels[order]
        left_top = torch.maximum(boxes[:, None, :2], boxes[:, :2])
        right_bottom = torch.minimum(boxes[:, None, 2:], boxes[:, 2:])
        overlap = (right_bottom - left_top).clamp(min=0).prod(2)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        ratio = overlap / (area[:, None] + area - overlap)
        hidden = ((ratio > 0.3) & (labels[:, None] == labels)).triu(1).any(0)
        return boxes[~hidden], scores.masked_select(~hidden), torch.where(hidden, -1, labels)


@model("postprocess")
def postprocess():
    corner, size = torch.rand(2, 12, 2) * 32
    rows = {0: Dim("rows", min=2)}
    return Recipe(
        Postprocess(),
        (torch.cat([corner, corner + size], 1), torch.randn(12, 4), torch.randn(12, 3)),
        shapes=(rows, rows, rows),
    )


class Spectrogram(nn.Module):
    """Log-mel features of a signal and the signal from its own transform."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("filters", torch.rand(9, 5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        frames = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        power = frames.abs().square()
        mel = torch.log10((power.mT @ self.filters).clamp(min=1e-5))
        mel = torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8)
        return mel, torch.istft(frames, 16, 4, window=self.window)


@model("spectrogram", static="istft specialises the length; batch is dynamic")
def spectrogram():
    return Recipe(Spectrogram(), (torch.randn(2, 64),), shapes=({0: BATCH},))


class Ensemble(nn.Module):
    """Three small networks called at once by `vmap`."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, 4, 6))
        self.biases = nn.Parameter(torch.randn(3, 6))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def one(weight: Tensor, bias: Tensor) -> Tensor:
            return torch.tanh(x @ weight + bias)

        out = torch.vmap(one)(self.weights, self.biases)
        return out.mean(0), torch.std(out, 0, correction=0)


@model("ensemble")
def ensemble():
    return Recipe(Ensemble(), (torch.randn(5, 4),), shapes=({0: BATCH},))


class MaskedAutoencoder(nn.Module):
    """Keeps the patches of lowest noise, encodes them, and puts them back where they were."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 16, 4, stride=4)
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.hole = nn.Parameter(torch.zeros(1, 1, 16))
        self.decoder = nn.Linear(16, 48)

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        patches = self.embed(x).flatten(2).transpose(1, 2)
        batch, count, width = patches.shape
        order = noise.argsort(1)
        restore = order.argsort(1)
        kept = patches.gather(1, order[:, : count // 4, None].expand(-1, -1, width))
        kept = self.encoder(kept)
        holes = self.hole.expand(batch, count - kept.shape[1], -1)
        whole = torch.cat([kept, holes], 1).gather(1, restore[..., None].expand(-1, -1, width))
        out = self.decoder(whole).view(batch, 4, 4, 4, 4, 3)
        picture = torch.einsum("bhwpqc->bchpwq", out).reshape(batch, 3, 16, 16)
        return picture, functional.mse_loss(picture, x)


@model("masked_autoencoder", static="images have one size; batch is dynamic")
def masked_autoencoder():
    return Recipe(
        lively(MaskedAutoencoder()),
        (torch.randn(2, 3, 16, 16), torch.rand(2, 16)),
        shapes=({0: BATCH}, {0: BATCH}),
    )


class Generator(nn.Module):
    """The generator of a DCGAN, with spectral norms."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(10, 16, 4, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1, output_padding=1),
            nn.InstanceNorm2d(8, affine=True),
            nn.LeakyReLU(0.2),
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
            nn.utils.parametrizations.spectral_norm(nn.Conv2d(8, 3, 3, groups=1)),
        )

    def forward(self, noise: Tensor) -> Tensor:
        return torch.tanh(self.layers(noise[:, :, None, None]))


@model("generator")
def generator():
    noise = torch.randn(4, 10)
    return Recipe(lively(Generator(), (noise,)), (noise,), shapes=({0: BATCH},))
