"""`recurrent`: LSTM and GRU layers over a batch or a length that is a value."""

import pytest
import torch
from torch import nn
from torch.export import _patches

import onnxport
from tests.python.package.patches import agrees, equal, exported


class Selected(nn.Module):
    """Runs a recurrent layer over the rows that a mask selects."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, mask):
        return self.layer(x[mask])[0]


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
        (nn.LSTM, {"proj_size": 3, "bias": False}),
        (nn.GRU, {"bidirectional": True}),
        (nn.GRU, {"bias": False}),
    ],
)
def test_results_are_those_of_the_original(kind, options, batch, length):
    torch.manual_seed(0)
    layer = kind(4, 5, **options)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    x = torch.randn(length, batch, 4)
    h, c = torch.randn(count, batch, layer.proj_size or 5), torch.randn(count, batch, 5)
    settings = layer.bias, layer.num_layers, 0.0, False, layer.bidirectional, False
    is_lstm = kind is nn.LSTM
    loop = _patches.lstm_while_loop_impl if is_lstm else _patches.gru_while_loop_impl
    states = (h, c) if is_lstm else h

    with torch.no_grad():
        agrees("recurrent", lambda: loop(x, states, layer._flat_weights, *settings))
        out, *last = loop(x, states, layer._flat_weights, *settings)
        equal((out, tuple(last) if is_lstm else last[0]), layer(x, states))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_selected_rows_are_exported(kind):
    torch.manual_seed(0)
    model = Selected(kind(4, 5, batch_first=True, bidirectional=kind is nn.GRU))
    sizes = ({0: "batch", 1: "time"}, {0: "batch"})
    args = torch.randn(3, 6, 4), torch.tensor([True, False, True])
    others = [
        (torch.randn(5, 2, 4), torch.tensor([True, True, False, True, True])),
        (torch.randn(2, 9, 4), torch.tensor([False, True])),
    ]
    program = exported("recurrent", model, args, sizes, others)
    operators = {node.op_type for node in program.model_proto.graph.node}
    assert ("LSTM" if kind is nn.LSTM else "GRU") in operators
    assert "Loop" not in operators


class Steps(Selected):
    """Runs a recurrent layer over the steps of time that a mask selects."""

    def forward(self, x, mask):
        return self.layer(x[:, mask])[0]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_selected_steps_are_exported(kind):
    torch.manual_seed(0)
    model = Steps(kind(4, 5, batch_first=True, num_layers=2, bidirectional=kind is nn.LSTM))
    sizes = ({0: "batch", 1: "time"}, {0: "time"})
    args = torch.randn(3, 6, 4), torch.tensor([True, False, True, True, False, True])
    others = [
        (torch.randn(3, 2, 4), torch.tensor([True, True])),
        (torch.randn(1, 9, 4), torch.arange(9) == 4),
        (torch.randn(5, 4, 4), torch.arange(4) > 1),
    ]
    program = exported("recurrent", model, args, sizes, others)
    operators = {node.op_type for node in program.model_proto.graph.node}
    assert ("LSTM" if kind is nn.LSTM else "GRU") in operators
    assert "Loop" not in operators


def test_no_selected_step_is_refused():
    model = Steps(nn.LSTM(4, 5, batch_first=True)).eval()
    args = torch.randn(3, 6, 4), torch.tensor([True, False, True, True, False, True])
    sizes = ({1: "time"}, {0: "time"})
    program = onnxport.export(model, args, dynamic_shapes=sizes)
    nothing = args[0], torch.zeros(6, dtype=torch.bool)
    with pytest.raises(RuntimeError):
        model(*nothing)
    with pytest.raises(RuntimeError, match="u0 >= 1"):
        program.exported_program.module()(*nothing)
