"""A rule and a pass of one's own, for one export.

python examples/python/rule.py rule.onnx
"""

import sys
from typing import Any

import torch

import onnxport
from onnxport.testing import assert_onnx_program, check_rule


def gelu_by_tanh(op: Any, x: Any) -> Any:
    """Build the pattern, with the methods of lowerings."""
    inner = (x + 0.044715 * x**3) * op.number(0.7978845, within=1e-6)
    return 0.5 * x * (1 + op.tanh(inner))


@onnxport.rule(gelu_by_tanh, bound=1e-5, opset=20, register=False)
def fused_gelu(op: onnxport.Emitter, x: onnxport.Value) -> onnxport.Value:
    """Make a GELU that was written out one operator."""
    return op.Gelu(x, approximate="tanh")


@onnxport.graph_pass(after_rules=True, register=False)
def bounded(op: onnxport.Emitter, graph: onnxport.Graph) -> None:
    """Clip the result of every `Gelu` to 6."""
    for node in graph.nodes:
        if node.op == "Gelu":
            graph.after(node)
            readers = node.output.uses
            capped = op.Min(node, 6.0)
            for reader, index in readers:
                graph.set_input(reader, index, capped)


class Block(torch.nn.Module):
    """A layer whose activation is a formula."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 32), torch.nn.Linear(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features."""
        x = self.up(x)
        x = 0.5 * x * (1 + torch.tanh((x + 0.044715 * x**3) * 0.7978845608))
        return self.down(torch.clamp_max(x, 6.0))


def main(path: str) -> None:
    """Write the model to `path`."""
    torch.manual_seed(0)
    print(f"the rule held {check_rule(fused_gelu)} times")
    args = (torch.randn(3, 8),)
    program = onnxport.export(
        Block().eval(), args, path, rules=[fused_gelu], passes=[bounded], opset_version=20
    )
    assert_onnx_program(program, rtol=1e-5, atol=1e-5)
    counts = program.report["optimised"]["counts"]
    print(", ".join(f"{count['name']}: {count['applied']}" for count in counts))


if __name__ == "__main__":
    main(sys.argv[1])
