"""LSTM and GRU layers over as many rows or steps as values decide, such as those of a mask.

PyTorch's own loop carries states with a leading axis of 1, whose stride depends on the batch. For a
size that is a value, PyTorch then cannot show that a step keeps the strides. For such a length, it
cannot show that there is a step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.while_loop import while_loop
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "recurrent",
    reason="PyTorch's loop over time does not take a batch or a length that is a value",
    version=3,
)


@patch.replaces("torch.export._patches.one_layer_while_loop_lstm")
def lstm(
    original: Function,
    inp: Tensor,
    hidden: Any,
    params: Any,
    has_biases: bool,
    reverse: bool = False,
) -> Any:
    """Run one layer in one direction, with states of two dimensions."""
    from torch._decomp.decompositions import lstm_cell

    del original
    w_hh, b_hh = params[1], params[3] if has_biases else None
    w_hr = params[4] if len(params) == 5 else params[2] if len(params) == 3 else None
    given = torch.nn.functional.linear(inp, params[0], params[2] if has_biases else None)
    given = given.flip(0) if reverse else given
    w_hh, b_hh, w_hr = _separate(w_hh, b_hh, w_hr)

    def step(values: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return lstm_cell(values, h, c, w_hh, b_hh, w_hr, chunk_dim=1)

    out, h, c = _loop(given, hidden, step)
    return (out.flip(0) if reverse else out), (h, c)


@patch.replaces("torch.export._patches.one_layer_while_loop_gru")
def gru(
    original: Function,
    inp: Tensor,
    hidden: Any,
    params: Any,
    has_biases: bool,
    reverse: bool = False,
) -> Any:
    """Run one layer in one direction, with a state of two dimensions."""
    from torch._decomp.decompositions import gru_cell

    del original
    given = torch.nn.functional.linear(inp, params[0], params[2] if has_biases else None)
    given = given.flip(0) if reverse else given
    w_hh, b_hh = _separate(params[1], params[3] if has_biases else None)

    def step(values: Tensor, h: Tensor) -> tuple[Tensor]:
        # The cell splits the third axis of the state.
        return (gru_cell(values, h.unsqueeze(0), None, None, w_hh, b_hh).squeeze(0),)

    out, h = _loop(given, (hidden,), step)
    return (out.flip(0) if reverse else out), h


def _loop(given: Tensor, states: Any, step: Any) -> Any:
    """Return the outputs of all steps, and the last states."""
    # As in PyTorch's kernels. Otherwise the loop could not be traced where the length is a value.
    torch._check(given.shape[0] >= 1, lambda: "the sequence of a recurrent layer is empty")
    first = states[0]
    length, batch, size = given.shape[0], *first.shape
    # A stride is a product of sizes. PyTorch follows it through the loop only if all of them are
    # values, or none is.
    by_row = bool(free_unbacked_symbols(length))
    out = first.new_zeros((batch, length, size) if by_row else (length, batch, size))

    def is_left(index: Tensor, *_: Tensor) -> Any:
        return index < given.shape[0]

    def body(index: Tensor, out: Tensor, *states: Tensor) -> Any:
        at = index.item()
        torch._check(at >= 0)
        torch._check(at < given.shape[0])
        states = step(given[at], *states)
        out = out.clone()
        (out.transpose(0, 1) if by_row else out)[at] = states[0]
        return index + 1, out, *states

    start = torch.zeros((), dtype=torch.int64)
    _, out, *states = while_loop(is_left, body, [start, out, *states])
    return (out.transpose(0, 1) if by_row else out), *states


def _separate(*tensors: Tensor | None) -> tuple[Any, ...]:
    """Return tensors of which none shares memory with another: a loop takes no aliases."""
    from torch.export._patches import _clone_tensors_that_alias

    return _clone_tensors_that_alias(tensors)
