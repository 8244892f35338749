"""An operator of one's own, lowered in Python.

python examples/python/custom_op.py custom_op.onnx
"""

import sys

import torch

import onnxport
from onnxport.testing import assert_onnx_program


@torch.library.custom_op("example::softcap", mutates_args=())
def softcap(x: torch.Tensor, cap: float) -> torch.Tensor:
    """Bound `x` smoothly."""
    return torch.tanh(x / cap) * cap


@softcap.register_fake
def _(x: torch.Tensor, cap: float) -> torch.Tensor:
    return torch.empty_like(x)


def lower_softcap(op: onnxport.Emitter, x: onnxport.Value, cap: float) -> onnxport.Value:
    """Emit the operator's formula: operators on values do, and `op` has the others."""
    if cap <= 0:
        raise onnxport.Refusal("`cap` is not positive")
    return op.Tanh(x / cap) * cap


class Capped(torch.nn.Module):
    """Scores that stay small."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return bounded scores."""
        return softcap(self.linear(x), 3.0)


def main(path: str) -> None:
    """Write the model to `path`."""
    torch.manual_seed(0)
    program = onnxport.export(
        Capped().eval(),
        (torch.randn(3, 8),),
        path,
        dynamic_shapes=({0: "batch"},),
        custom_translation_table={torch.ops.example.softcap.default: lower_softcap},
    )
    assert_onnx_program(program, args=(torch.randn(5, 8),))
    print(sorted({node.op_type for node in program.model_proto.graph.node}))


if __name__ == "__main__":
    main(sys.argv[1])
