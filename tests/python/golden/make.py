"""Write the golden archives with the installed torch: `python -m tests.python.golden.make`.

Run it once in an environment of each supported torch, with `safetensors` and `numpy` beside it; the
archives go to `tests/files/golden/torch-<version>/` and are committed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim, export

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "tests/files/golden"


class Mlp(nn.Module):
    """Two linear layers; x is `[batch, 4]`, aux holds `[batch, 8]`."""

    def __init__(self) -> None:
        super().__init__()
        self.fc0 = nn.Linear(4, 8)
        self.fc1 = nn.Linear(8, 3)

    def forward(self, x: Tensor, aux: dict[str, Tensor]) -> Tensor:
        """Return `[batch, 3]`."""
        return self.fc1(torch.relu(self.fc0(x) + aux["shift"]))


class ConvBatchNorm(nn.Module):
    """A convolution and a batch norm whose running statistics a call updates."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        """Return `[batch, 4, 5, 5]` for x `[batch, 2, 5, 5]`."""
        return torch.relu_(self.norm(self.conv(x)))


class NestedViews(nn.Module):
    """Writes through chains of views into a copy of its input and into a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        """Return `[rows, 4]` for x `[rows, 4]`."""
        y = x.clone()
        y[:, 1:3].select(1, 0).add_(1.5)
        y.transpose(0, 1)[2].mul_(2)
        y[0].copy_(y[1])
        y[:, 3:].fill_(0.25)
        self.total[1:].add_(y.sum(0)[1:])
        return y + self.total


def main() -> None:
    """Export the three programs and record their expected values."""
    sys.path.insert(0, str(ROOT / "python"))
    import onnxport

    folder = HERE / f"torch-{torch.__version__.split('+')[0]}"
    folder.mkdir(exist_ok=True)
    batch = {0: Dim("batch", min=2, max=64)}
    torch.manual_seed(0)
    programs = {
        "mlp": (
            Mlp().eval(),
            (torch.randn(2, 4), {"shift": torch.randn(2, 8)}),
            (batch, {"shift": batch}),
        ),
        "conv_bn_train": (ConvBatchNorm().train(), (torch.randn(3, 2, 5, 5),), (batch,)),
        "nested_views": (NestedViews().eval(), (torch.randn(3, 4),), (batch,)),
    }
    for name, (module, args, shapes) in programs.items():
        program = export(module, args, dynamic_shapes=shapes, strict=False)
        onnxport.save(program, folder / f"{name}.pt2", root=ROOT)


if __name__ == "__main__":
    main()
