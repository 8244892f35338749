import torch
from torch import nn
from torch.export import Dim

from tests.python.ops.harness import case, f32, suite


class Sequence(nn.Module):
    """A recurrent module of seeded weights; its initial state comes from the caller or is zero."""

    def __init__(self, kind, *args, **options):
        super().__init__()
        torch.manual_seed(0)
        self.inner = kind(*args, **options)

    def forward(self, x, *state):
        if isinstance(self.inner, nn.LSTM) and state:
            return self.inner(x, tuple(state))
        return self.inner(x, *state)


class Cell(Sequence):
    def forward(self, x, *state):
        if isinstance(self.inner, nn.LSTMCell):
            return self.inner(x, tuple(state))
        return self.inner(x, *state)


test_ops = suite(
    __file__,
    [
        case(
            "aten.lstm.input",
            Sequence(nn.LSTM, 3, 4, proj_size=2, num_layers=2),
            f32(5, 2, 3),
            id="projected",
            dynamic=({1: Dim.DYNAMIC},),
        ),
        case(
            "aten.lstm.input",
            Sequence(nn.LSTM, 3, 4, proj_size=2, bidirectional=True, bias=False, batch_first=True),
            f32(2, 5, 3),
            id="projected-bidirectional",
        ),
        case("aten.lstm.input", Sequence(nn.LSTM, 3, 4), f32(5, 2, 3)),
        case(
            "aten.lstm.input",
            Sequence(nn.LSTM, 3, 4, num_layers=2, bidirectional=True, batch_first=True),
            f32(2, 5, 3),
            id="deep",
        ),
        case(
            "aten.lstm.input",
            Sequence(nn.LSTM, 3, 4, bias=False, batch_first=True),
            f32(2, 5, 3),
            f32(1, 2, 4),
            f32(1, 2, 4),
            id="state",
        ),
        case(
            "aten.lstm.input",
            Sequence(nn.LSTM, 3, 4, num_layers=2, bidirectional=True),
            f32(5, 2, 3),
            f32(4, 2, 4),
            f32(4, 2, 4),
            id="deep-state",
        ),
        case("aten.gru.input", Sequence(nn.GRU, 3, 4, batch_first=True), f32(2, 5, 3)),
        case(
            "aten.gru.input",
            Sequence(nn.GRU, 3, 4, num_layers=2, bidirectional=True),
            f32(5, 2, 3),
            f32(4, 2, 4),
            id="deep",
        ),
        case("aten.gru.input", Sequence(nn.GRU, 3, 4, bias=False), f32(5, 3), id="unbatched"),
        case(
            "aten.rnn_tanh.input",
            Sequence(nn.RNN, 3, 4, bidirectional=True, batch_first=True),
            f32(2, 5, 3),
        ),
        case(
            "aten.rnn_relu.input",
            Sequence(nn.RNN, 3, 4, num_layers=2, nonlinearity="relu"),
            f32(5, 2, 3),
        ),
        case("aten.lstm_cell.default", Cell(nn.LSTMCell, 3, 4), f32(2, 3), f32(2, 4), f32(2, 4)),
        case("aten.gru_cell.default", Cell(nn.GRUCell, 3, 4), f32(2, 3), f32(2, 4)),
        case(
            "aten.gru_cell.default",
            Cell(nn.GRUCell, 3, 4, bias=False),
            f32(2, 3),
            f32(2, 4),
            id="no-bias",
        ),
        case("aten.rnn_tanh_cell.default", Cell(nn.RNNCell, 3, 4), f32(2, 3), f32(2, 4)),
        case(
            "aten.rnn_relu_cell.default",
            Cell(nn.RNNCell, 3, 4, nonlinearity="relu"),
            f32(2, 3),
            f32(2, 4),
        ),
    ],
)
