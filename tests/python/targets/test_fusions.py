"""Fusions in ONNX Runtime: its operators accept their inputs, and compute the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from tests.python.onnx_runtime import reported


class Heads(nn.Module):
    """Attention to another sequence, with a bias or without."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return `[batch, length, width]`."""
        parts = [x.unflatten(-1, (4, -1)).transpose(1, 2) for x in (q, k, v)]
        scores = parts[0] @ parts[1].transpose(2, 3) / parts[0].shape[-1] ** 0.5
        if bias is not None:
            scores = scores + bias
        return (scores.softmax(-1) @ parts[2]).transpose(1, 2).flatten(2)


class Chain(nn.Module):
    """A sum that is normalised, and read by others as well."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        """Return `[batch, length, 8]`."""
        both = x + skip
        return both + self.norm(both)


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        """Return the function's results."""
        return self.function(*args)


@dataclass(frozen=True)
class Case:
    """The expected fusions at `--optimize target`, or at `level`."""

    module: nn.Module
    args: tuple[Tensor, ...]
    operators: tuple[str, ...]
    level: str = "target"
    opset: int = 20
    shapes: object = field(default=None)


LENGTH, OTHER = Dim("length", min=1, max=64), Dim("other", min=1, max=64)
FAR = torch.tensor([0.0, -0.0, 1e-4, 19.9, 20.1, 90.0, -30.0, -90.0, 1e30, -1e30])
SPECIAL = torch.tensor([float("nan"), float("inf"), float("-inf")])
AXES = ({1: LENGTH}, {1: OTHER}, {1: OTHER})
CASES = {
    "heads": Case(
        Heads(),
        (torch.randn(2, 5, 16), torch.randn(2, 7, 16), torch.randn(2, 7, 24)),
        ("MultiHeadAttention",),
        shapes=AXES,
    ),
    "bias": Case(
        Heads(),
        (
            torch.randn(2, 5, 16),
            torch.randn(2, 7, 16),
            torch.randn(2, 7, 16),
            torch.randn(1, 4, 5, 7),
        ),
        ("MultiHeadAttention",),
        shapes=(*AXES, {2: LENGTH, 3: OTHER}),
    ),
    "sum": Case(Chain(), (torch.randn(2, 3, 8), torch.randn(2, 3, 8)), ("Sum",)),
    "prelu": Case(nn.PReLU(3), (torch.randn(2, 3, 4),), ("Where",)),
    "prelu_far": Case(nn.PReLU(1), (torch.cat([FAR, SPECIAL]),), ("Where",)),
    "softplus": Case(nn.Softplus(), (torch.cat([FAR, SPECIAL]),), ("Log", "Exp")),
    "mish": Case(nn.Mish(), (torch.cat([FAR, SPECIAL]),), ("Min", "Exp")),
    "groups": Case(
        nn.GroupNorm(4, 8), (torch.randn(2, 8, 3, 5),), ("InstanceNormalization",), opset=21
    ),
    "gelu": Case(nn.GELU("tanh"), (torch.randn(4, 9),), ("Gelu",), level="2"),
    "gelu_new": Case(
        Calls(lambda x: 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))),
        (torch.cat([FAR, torch.randn(9)]),),
        ("Gelu",),
        level="2",
    ),
    "einsum": Case(
        Calls(lambda a, b: torch.einsum("bhid,bhjd->bihj", a, b)),
        (torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5)),
        ("MatMul",),
        level="2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_runtime_computes_the_same(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    program, model = tmp_path / "program.pt2", tmp_path / "model.onnx"
    module = case.module.eval()
    torch.export.save(torch.export.export(module, case.args, dynamic_shapes=case.shapes), program)
    level = ["--optimize", case.level, "--opset", str(case.opset)]
    reported("convert", program, "-o", model, "--no-verify", "--target", "onnxruntime", *level)
    found = Counter(node.op_type for node in onnx.load(model).graph.node)
    assert set(case.operators) <= set(found)
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    feeds = {put.name: x.numpy() for put, x in zip(session.get_inputs(), case.args, strict=True)}
    [output] = session.run(None, feeds)
    expected = module(*case.args).detach().numpy()
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)
    if case.shapes:
        smaller = tuple(cut(x, 4) for x in case.args)
        feeds = {put.name: x.numpy() for put, x in zip(session.get_inputs(), smaller, strict=True)}
        [output] = session.run(None, feeds)
        expected = module(*smaller).detach().numpy()
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def cut(x: Tensor, length: int) -> Tensor:
    """Return `x` with shorter sequences, a bias along both of its last axes."""
    return x[:, :length] if x.dim() == 3 else x[..., :length, :length]
