"""Operators of torchaudio, whose package needs a PyTorch of its own."""

import torch
from torch import Tensor

from tests.python.ops.harness import case, f32, f64, suite

AUTO = torch.export.Dim.AUTO


@torch.library.custom_op("torchaudio::_lfilter_core_loop", mutates_args=["padded_output_waveform"])
def lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> None:
    """Compute a recursive filter, as torchaudio's kernel does."""
    order = a_coeff_flipped.shape[1]
    for at in range(input_signal_windows.shape[2]):
        window = padded_output_waveform[:, :, at : at + order]
        value = input_signal_windows[:, :, at] - (window * a_coeff_flipped).sum(-1)
        padded_output_waveform[:, :, at + order - 1] = value


@lfilter_core_loop.register_fake
def _(_x: Tensor, _a: Tensor, _padded: Tensor) -> None:
    return None


def filtered(x, a):
    """Filter `x` as `torchaudio.functional.lfilter` does."""
    order = a.shape[1]
    padded = torch.zeros(x.shape[0], x.shape[1], x.shape[2] + order - 1, dtype=x.dtype)
    torch.ops.torchaudio._lfilter_core_loop(x, (a / a[:, :1]).flip(1).contiguous(), padded)
    return padded[:, :, order - 1 :]


COEFFICIENTS = torch.tensor([[1.0, 0.3, -0.2], [2.0, 0.1, 0.4]])
OPERATOR = "torchaudio._lfilter_core_loop.default"


test_ops = suite(
    __file__,
    [
        case(
            OPERATOR,
            filtered,
            f32(3, 2, 20),
            COEFFICIENTS,
            dynamic=({0: AUTO, 2: AUTO}, None),
            tolerance=10,
        ),
        case(OPERATOR, filtered, f64(1, 2, 9), COEFFICIENTS.double(), id="double"),
        case(OPERATOR, filtered, f32(1, 2, 9), COEFFICIENTS[:, :1], id="without memory"),
    ],
)
