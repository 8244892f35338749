"""Small modules that are like users' own: recurrent, stateful, writing through views."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim

from examples.mlp.export import MLPModel
from tests.python.models.registry import BATCH, Recipe, model


@model("mlp")
def mlp():
    x, scale, shift, first, second = torch.randn(5, 2, 8).unbind()
    batch = {0: BATCH}
    return Recipe(
        MLPModel(),
        (x, {"scale": scale, "shift": shift}, [first, second]),
        shapes=(batch, {"scale": batch, "shift": batch}, [batch, batch]),
    )


class LstmClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, 5)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(ids))
        return self.head(states[:, -1])


@model("lstm_classifier", static="the exporter fixes the sequence of nn.LSTM; batch is dynamic")
def lstm_classifier():
    return Recipe(LstmClassifier(), (torch.randint(0, 100, (2, 9)),), shapes=({0: BATCH},))


class RecurrentCells(nn.Module):
    """Two layers of cells that a loop of Python goes over, the second one above the first."""

    def __init__(self) -> None:
        super().__init__()
        self.lower, self.upper = nn.LSTMCell(6, 12), nn.GRUCell(12, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = c = x.new_zeros(x.shape[0], 12)
        state = x.new_zeros(x.shape[0], 8)
        states = []
        for place in range(x.shape[1]):
            h, c = self.lower(x[:, place], (h, c))
            state = self.upper(h, state)
            states.append(state)
        return torch.stack(states, 1), h, c


@model("recurrent_cells", static="the loop over the sequence is unrolled; batch is dynamic")
def recurrent_cells():
    # Cells become layers where the batch is never empty: ONNX Runtime ends the process there.
    return Recipe(RecurrentCells(), (torch.randn(3, 5, 6),), shapes=({0: Dim("batch", min=1)},))


class RunningMean(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return (x - self.mean) / self.count


@model("mutated_buffer")
def mutated_buffer():
    return Recipe(RunningMean(), (torch.randn(3, 4),), shapes=({0: BATCH},))


class NestedViews(nn.Module):
    def forward(self, x: Tensor, rows: Tensor, patch: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        y[:, 1:3].select(1, 0).add_(1.5)
        y.transpose(0, 1)[2].mul_(2)
        y[:, 3:].copy_(patch)
        y.view(-1)[::5].fill_(0.25)
        y.unsqueeze(0).expand(1, *y.shape)[0, 0].sub_(1)
        z = torch.zeros_like(y)
        z.index_put_((rows,), patch.mean() + y[rows])
        z[rows, 0] = 7.0
        z[1:, ::2] += y[1:, ::2]
        return y, z


@model("nested_views")
def nested_views():
    rows = Dim("rows", min=3)
    return Recipe(
        NestedViews(),
        (torch.randn(4, 6), torch.tensor([0, 2]), torch.randn(4, 3)),
        shapes=({0: rows}, None, {0: rows}),
    )
