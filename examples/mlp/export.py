"""Export the MLP of the PyTorch exporter's tutorial: `python examples/mlp/export.py`.

Its inputs are a tensor, a dict and a list, and its batch is dynamic.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

HERE = Path(__file__).parent


class MLPModel(nn.Module):
    """Four linear layers of width 8; every input is `[batch, 8]`."""

    def __init__(self) -> None:
        super().__init__()
        self.fc0 = nn.Linear(8, 8)
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 8)

    def forward(self, x: Tensor, aux: dict[str, Tensor], extras: list[Tensor]) -> Tensor:
        """Return `[batch, 8]`."""
        x = torch.relu(self.fc0(x) + aux["scale"] * aux["shift"])
        x = torch.relu(self.fc1(x) + extras[0])
        x = torch.relu(self.fc2(x) - extras[1])
        return self.fc3(x)


def export() -> ExportedProgram:
    """Return the program with random weights and a dynamic batch."""
    torch.manual_seed(0)
    module = MLPModel().eval()
    x, scale, shift, first, second = torch.randn(5, 2, 8).unbind()
    args = (x, {"scale": scale, "shift": shift}, [first, second])
    batch = {0: Dim("batch")}
    shapes = (batch, {"scale": batch, "shift": batch}, [batch, batch])
    return torch.export.export(module, args, dynamic_shapes=shapes, strict=False)


def main() -> None:
    """Write `mlp.pt2` and its expected values beside this file."""
    root = HERE.parents[1]
    sys.path.insert(0, str(root / "python"))
    import onnxport

    onnxport.save(export(), HERE / "mlp.pt2", root=root)


if __name__ == "__main__":
    main()
