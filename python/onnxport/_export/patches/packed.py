"""LSTM and GRU layers over packed sequences.

PyTorch packs a batch by the lengths of its sequences, which are values. Here the batch stays
padded, and steps beyond the end of a sequence change nothing: outputs are zeros there, final states
are those of the last step, and the backward direction reads each sequence from its own end.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "packed-sequences",
    reason="the lengths of the sequences decide the shape of the packed data",
)

# Far from every sum of weighted inputs, and within the range of float16.
_SATURATED = 1e4


class Padded(PackedSequence):
    """A batch of sequences, padded: `values[time, batch, ...]`, zero beyond each length."""

    values: Tensor
    lengths: Tensor

    def __new__(cls, values: Tensor, lengths: Tensor) -> Padded:
        """Hold the values; nothing of a packed sequence is there."""
        padded = tuple.__new__(cls, (None, None, None, None))
        padded.values, padded.lengths = values, lengths
        return padded

    def _missing(self, *_: Any) -> NoReturn:
        raise NotImplementedError("a packed sequence is only traced through LSTM and GRU layers")

    __iter__ = __getitem__ = _missing
    data = property(_missing)
    batch_sizes = property(_missing)
    sorted_indices = property(_missing)
    unsorted_indices = property(_missing)


@patch.replaces("torch.nn.utils.rnn.pack_padded_sequence")
def pack(
    original: Function,
    input: Tensor,
    lengths: Any,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> Padded:
    """Keep the batch padded, in its order; the original also checks that it is sorted."""
    del original, enforce_sorted
    values = input.transpose(0, 1) if batch_first else input
    if not isinstance(lengths, Tensor):
        lengths = torch.stack([torch.scalar_tensor(one, dtype=torch.int64) for one in lengths])
    lengths = lengths.to(torch.int64)
    torch._check(lengths.shape[0] == values.shape[1])
    shortest, longest = lengths.min().item(), lengths.max().item()
    torch._check(shortest > 0, lambda: "a packed sequence must not be empty")
    torch._check(longest <= values.shape[0], lambda: "a sequence is longer than the padded batch")
    lengths = lengths.to(values.device)
    return Padded(_filled(values, _inside(values, lengths), 0.0), lengths)


@patch.replaces("torch.nn.utils.rnn.pad_packed_sequence")
def pad(
    original: Function,
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: Any = None,
) -> Any:
    """Cut the padded batch to its longest sequence, or return it with the length requested."""
    del original
    if not isinstance(sequence, Padded):
        return NotImplemented
    values, lengths = sequence.values, sequence.lengths
    values = _filled(values, _inside(values, lengths), padding_value)
    if total_length is None or not _same(total_length, values.shape[0]):
        longest = lengths.max().item()
        torch._check(longest >= 0)
        torch._check(longest <= values.shape[0])
        values = values[:longest]
        if total_length is not None:
            torch._check(longest <= total_length)
            missing = torch.full(
                (total_length - longest, *values.shape[1:]), padding_value, dtype=values.dtype
            )
            values = torch.cat([values, missing.to(values.device)])
    return values.transpose(0, 1) if batch_first else values, lengths.cpu()


@patch.replaces("torch.nn.LSTM.forward")
def lstm(original: Function, self: Any, input: Any, hx: Any = None) -> Any:
    """Run over the padded batch."""
    del original
    if not isinstance(input, Padded):
        return NotImplemented
    width = self.proj_size or self.hidden_size
    if hx is None:
        hx = _zeros(self, input, width), _zeros(self, input, self.hidden_size)
    values, (hidden, cells) = _layers(self, input, hx, _lstm)
    return Padded(values, input.lengths), (hidden, cells)


@patch.replaces("torch.nn.GRU.forward")
def gru(original: Function, self: Any, input: Any, hx: Any = None) -> Any:
    """Run over the padded batch."""
    del original
    if not isinstance(input, Padded):
        return NotImplemented
    hx = _zeros(self, input, self.hidden_size) if hx is None else hx
    values, (hidden,) = _layers(self, input, (hx,), _gru)
    return Padded(values, input.lengths), hidden


def _layers(layer: Any, input: Padded, states: tuple[Tensor, ...], run: Function) -> Any:
    """Run all layers and directions; `run` returns outputs and the final states of one."""
    if layer.training and layer.dropout:
        raise NotImplementedError("dropout between recurrent layers of packed sequences")
    values, lengths = input.values, input.lengths
    inside = _inside(values, lengths)
    steps = torch.arange(values.shape[0], device=values.device).unsqueeze(1)
    mirror = torch.where(inside, lengths - 1 - steps, steps)
    finals: list[tuple[Tensor, ...]] = []
    count = 2 if layer.bidirectional else 1
    for number in range(layer.num_layers):
        outputs = []
        for backward in range(count):
            index = number * count + backward
            weights = layer.all_weights[index]
            own = tuple(state[index].unsqueeze(0) for state in states)
            given = _ordered(values, mirror) if backward else values
            result, final = run(given, inside, lengths, own, weights, layer.bias)
            finals.append(final)
            outputs.append(_ordered(result, mirror) if backward else result)
        values = _filled(torch.cat(outputs, -1), inside, 0.0)
    return values, tuple(torch.stack(column) for column in zip(*finals, strict=True))


def _lstm(
    values: Tensor,
    inside: Tensor,
    lengths: Tensor,
    states: tuple[Tensor, ...],
    weights: list[Tensor],
    bias: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    outputs, *_ = torch._VF.lstm(values, states, weights, bias, 1, 0.0, False, False, False)
    # The cells after the last step: a further input, 1 beyond the end, keeps the input gates at 0
    # and the forget gates at 1.
    size = weights[0].shape[0] // 4
    gates = weights[0].new_tensor([-_SATURATED, _SATURATED, 0.0, 0.0])
    column = gates.repeat_interleave(size).unsqueeze(1)
    flags = (~inside).to(values.dtype).unsqueeze(-1)
    held = torch.cat([values, flags], -1)
    wider = [torch.cat([weights[0], column], 1), *weights[1:]]
    _, _, cells = torch._VF.lstm(held, states, wider, bias, 1, 0.0, False, False, False)
    return outputs, (_last(outputs, lengths), cells[0])


def _gru(
    values: Tensor,
    inside: Tensor,
    lengths: Tensor,
    states: tuple[Tensor, ...],
    weights: list[Tensor],
    bias: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    del inside
    outputs, _ = torch._VF.gru(values, states[0], weights, bias, 1, 0.0, False, False, False)
    return outputs, (_last(outputs, lengths),)


def _zeros(layer: Any, input: Padded, width: int) -> Tensor:
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    return input.values.new_zeros(count, input.values.shape[1], width)


def _inside(values: Tensor, lengths: Tensor) -> Tensor:
    """Return whether a step of the padded batch belongs to a sequence: `[time, batch]`."""
    return torch.arange(values.shape[0], device=values.device).unsqueeze(1) < lengths


def _filled(values: Tensor, inside: Tensor, value: float) -> Tensor:
    mask = inside.reshape(*inside.shape, *[1] * (values.dim() - 2))
    return torch.where(mask, values, value)


def _ordered(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(0, index.unsqueeze(-1).expand(-1, -1, values.shape[2]))


def _last(values: Tensor, lengths: Tensor) -> Tensor:
    """Return the outputs of the last step of each sequence."""
    return _ordered(values, (lengths - 1).unsqueeze(0))[0]


def _same(one: Any, other: Any) -> bool:
    """Compare sizes as expressions: comparing their values would fix them."""
    expressions = [
        size.node.expr if isinstance(size, torch.SymInt) else size for size in (one, other)
    ]
    return bool(expressions[0] == expressions[1])
