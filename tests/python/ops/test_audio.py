"""Operators of torchaudio, whose package needs a PyTorch of its own."""

import torch
from torch import Tensor

from tests.python.ops.harness import case, f32, f64, suite

AUTO = torch.export.Dim.AUTO


LIBRARY = torch.library.Library("torchaudio", "FRAGMENT")
LIBRARY.define(
    "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped,"
    " Tensor(a!) padded_output_waveform) -> Tensor(a!)"
)
LIBRARY.define(
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out,"
    " Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))"
)


@torch.library.impl(LIBRARY, "_lfilter_core_loop", "CPU")
def lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> Tensor:
    """Compute a recursive filter, as torchaudio's kernel does."""
    order = a_coeff_flipped.shape[1]
    for at in range(input_signal_windows.shape[2]):
        window = padded_output_waveform[:, :, at : at + order]
        value = input_signal_windows[:, :, at] - (window * a_coeff_flipped).sum(-1)
        padded_output_waveform[:, :, at + order - 1] = value
    return padded_output_waveform


@torch.library.impl(LIBRARY, "_lfilter_core_loop", "Meta")
def _(_x: Tensor, _a: Tensor, padded: Tensor) -> Tensor:
    return padded


@torch.library.impl(LIBRARY, "_overdrive_core_loop", "CPU")
def overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute a distortion, as torchaudio's kernel does."""
    for at in range(waveform.shape[1]):
        last_out.copy_(temp[:, at] - last_in + 0.995 * last_out)
        last_in.copy_(temp[:, at])
        output_waveform[:, at] = waveform[:, at] * 0.5 + last_out * 0.75
    return last_in, last_out, output_waveform


@torch.library.impl(LIBRARY, "_overdrive_core_loop", "Meta")
def _(_x: Tensor, _t: Tensor, *written: Tensor) -> tuple[Tensor, ...]:
    return written


def filtered(x, a):
    """Filter `x` as `torchaudio.functional.lfilter` does."""
    order = a.shape[1]
    padded = torch.zeros(x.shape[0], x.shape[1], x.shape[2] + order - 1, dtype=x.dtype)
    torch.ops.torchaudio._lfilter_core_loop(x, (a / a[:, :1]).flip(1).contiguous(), padded)
    return padded[:, :, order - 1 :]


def overdriven(x, before, after):
    """Return all that the kernel of `torchaudio.functional.overdrive` writes."""
    before, after, output = before * 2, after * 2, torch.zeros_like(x)
    torch.ops.torchaudio._overdrive_core_loop(x, x.tanh(), before, after, output)
    return before, after, output


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
        case(
            "torchaudio._overdrive_core_loop.default",
            overdriven,
            f32(2, 30),
            f32(2),
            f32(2),
            dynamic=({0: AUTO, 1: AUTO}, {0: AUTO}, {0: AUTO}),
        ),
    ],
)
