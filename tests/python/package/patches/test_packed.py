"""`packed-sequences`: LSTM and GRU layers over batches of sequences of different lengths."""

import pytest
import torch
from torch import nn
from torch.nn.utils import rnn

import onnxport
from onnxport._export.patches import install, registry
from tests.python.package.patches import agrees, exported


class Tagger(nn.Module):
    """Packs, runs a recurrent layer, and pads again, as taggers and text encoders do."""

    def __init__(self, layer, whole=False):
        super().__init__()
        self.layer, self.whole = layer, whole

    def forward(self, x, lengths):
        packed = rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, state = self.layer(packed)
        total = x.shape[1] if self.whole else None
        return rnn.pad_packed_sequence(packed, batch_first=True, total_length=total), state


@pytest.mark.parametrize("lengths", [[6, 2, 4], [1, 1, 1], [3], [6, 6], [5, 1, 3, 2]])
@pytest.mark.parametrize("total", [None, 6, 9])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (nn.LSTM, {}),
        (nn.LSTM, {"num_layers": 2, "bidirectional": True, "dropout": 0.5}),
        (nn.LSTM, {"bias": False, "batch_first": True}),
        (nn.LSTM, {"proj_size": 3, "bidirectional": True}),
        (nn.GRU, {"batch_first": True}),
        (nn.GRU, {"num_layers": 3, "bidirectional": True, "bias": False}),
    ],
)
def test_results_are_those_of_the_original(lengths, total, kind, options):
    torch.manual_seed(0)
    layer = kind(4, 5, **options).eval()
    first = options.get("batch_first", False)
    size = (len(lengths), 6, 4) if first else (6, len(lengths), 4)
    # Elements beyond the end of a sequence have no influence.
    x = torch.randn(size) * 3
    rows = x if first else x.transpose(0, 1)
    for row, length in zip(rows, lengths, strict=True):
        row[length:] = float("nan")
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    h = torch.randn(count, len(lengths), layer.proj_size or 5)
    initial = (h, torch.randn(count, len(lengths), 5)) if kind is nn.LSTM else h

    def call(state):
        packed = rnn.pack_padded_sequence(x, torch.tensor(lengths), first, enforce_sorted=False)
        packed, state = layer(packed, state)
        padded = rnn.pad_packed_sequence(packed, first, padding_value=-2.0, total_length=total)
        return *padded, state

    with torch.no_grad():
        agrees("packed-sequences", lambda: call(None))
        agrees("packed-sequences", lambda: call(initial))


def test_sequences_are_packed_by_other_functions():
    layer = nn.GRU(2, 3).eval()
    parts = [torch.randn(length, 2) for length in (4, 2, 1)]

    def call():
        packed, state = layer(rnn.pack_sequence(parts))
        return rnn.unpack_sequence(packed), state

    with torch.no_grad():
        agrees("packed-sequences", call)


@pytest.mark.parametrize("lengths", [[0, 3], [2, 3, 1]])
def test_what_the_original_refuses_is_refused(lengths):
    x = torch.randn(2, 6, 4)
    for chosen in ([], ["packed-sequences"]):
        with install.installed(registry.chosen(chosen)), pytest.raises((RuntimeError, IndexError)):
            rnn.pack_padded_sequence(x, torch.tensor(lengths), True, enforce_sorted=False)


def test_sequences_beyond_the_padded_batch_are_refused():
    with (
        install.installed(registry.chosen(["packed-sequences"])),
        pytest.raises(RuntimeError, match="longer than the padded batch"),
    ):
        rnn.pack_padded_sequence(torch.randn(6, 1, 4), [7])


def test_other_uses_of_a_packed_sequence_are_refused():
    with install.installed(registry.chosen(["packed-sequences"])):
        packed = rnn.pack_sequence([torch.randn(4, 2), torch.randn(2, 2)])
        assert isinstance(packed, rnn.PackedSequence)
        with pytest.raises(NotImplementedError, match="only traced through LSTM and GRU"):
            packed.data.relu()
        with pytest.raises(NotImplementedError, match="only traced through LSTM and GRU"):
            nn.RNN(2, 3)(packed)
        with pytest.raises(NotImplementedError, match="dropout"):
            nn.LSTM(2, 3, num_layers=2, dropout=0.5)(packed)


@pytest.mark.parametrize(
    "layer",
    [
        nn.LSTM(4, 5, batch_first=True),
        nn.GRU(4, 5, num_layers=2, bidirectional=True, batch_first=True),
    ],
    ids=["lstm", "gru"],
)
def test_a_tagger_is_exported(layer):
    torch.manual_seed(0)
    sizes = ({0: "batch", 1: "time"}, {0: "batch"})

    def call(time, lengths):
        return torch.randn(len(lengths), time, 4), torch.tensor(lengths)

    others = [call(1, [1]), call(9, [1, 9, 3, 3]), call(7, [2, 5])]
    program = exported("packed-sequences", Tagger(layer), call(6, [6, 2, 4]), sizes, others)
    # The loops of the capture become one operator.
    operators = {node.op_type for node in program.model_proto.graph.node}
    assert ("LSTM" if isinstance(layer, nn.LSTM) else "GRU") in operators
    assert "Loop" not in operators


def test_a_total_length_keeps_the_dimension():
    sizes = ({0: "batch", 1: "time"}, {0: "batch"})
    model = Tagger(nn.GRU(4, 5, batch_first=True), whole=True).eval()
    args = (torch.randn(2, 5, 4), torch.tensor([3, 4]))
    program = onnxport.export(model, args, dynamic_shapes=sizes, patches=["packed-sequences"])
    assert program.report["outputs"][0]["type"] == "f32[batch, time, 5]"
