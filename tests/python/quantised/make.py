"""Write the quantised programs of this folder, by the PT2E flow of torchao.

pip install torchao==0.18.0
python -m tests.python.quantised.make
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.testing.pt2e._xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)

import onnxport

FOLDER = Path(__file__).parent


class Convolutions(nn.Module):
    """Three convolutions, one with batch normalisation, a pool and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.point = nn.Conv2d(16, 8, 1)
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return a number for each of ten classes."""
        features = self.point(self.body(self.stem(x)))
        return self.head(nn.functional.adaptive_avg_pool2d(features, 1).flatten(1))


def perceptron() -> nn.Module:
    """Return two layers with a rectifier between them."""
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))


def write(name: str, module: nn.Module, x: Tensor, **config: bool) -> None:
    """Quantise `module`, calibrated on `x`, and save it with a symbolic batch."""
    torch.manual_seed(0)
    shapes = ({0: Dim("batch")},)
    program = torch.export.export(module.eval(), (x,), dynamic_shapes=shapes)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**config))
    prepared = prepare_pt2e(program.module(), quantizer)
    for _ in range(8):
        prepared(torch.randn_like(x))
    quantised = torch.export.export(convert_pt2e(prepared), (x,), dynamic_shapes=shapes)
    onnxport.save(quantised, FOLDER / f"{name}.pt2", root=FOLDER.parents[2])


if __name__ == "__main__":
    torch.manual_seed(0)
    image, row = torch.randn(4, 3, 12, 12), torch.randn(64, 16)
    write("conv_static", Convolutions(), image)
    write("conv_channels", Convolutions(), image, is_per_channel=True)
    write("linear_channels", perceptron(), row, is_per_channel=True)
    write("linear_dynamic", perceptron(), row, is_dynamic=True)
    write("linear_dynamic_channels", perceptron(), row, is_dynamic=True, is_per_channel=True)
