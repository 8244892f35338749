"""A small network: exported with a dynamic batch, compared, and run.

python examples/python/mlp.py mlp.onnx
"""

import sys

import torch

import onnxport
from onnxport.testing import assert_onnx_program


class Mlp(torch.nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(8, 16)
        self.out = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return four scores for each row."""
        return self.out(torch.relu(self.hidden(x)))


def main(path: str) -> None:
    """Write the model to `path`."""
    torch.manual_seed(0)
    model = Mlp().eval()
    program = onnxport.export(
        model,
        (torch.randn(3, 8),),
        path,
        input_names=["x"],
        output_names=["scores"],
        dynamic_shapes={"x": {0: "batch"}},
    )
    # Also at a size that was not exported.
    assert_onnx_program(program, args=(torch.randn(5, 8),))
    print([tuple(output.shape) for output in program(torch.randn(7, 8))])


if __name__ == "__main__":
    main(sys.argv[1])
