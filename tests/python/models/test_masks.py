"""Masks of positions: a guard against closed rows stands only where a row may be closed."""

import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.python.onnx_runtime import convert

WINDOW = 4


class Attends(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.packed = kind, nn.Linear(16, 48)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.packed(x).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        place = torch.arange(length)
        key, query = place[None, :], place[:, None]
        mask = key < query if self.kind == "strict" else key <= query
        if self.kind == "window":
            mask = mask & (key > query - WINDOW)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[None, None])


@pytest.mark.parametrize(("kind", "guards"), [("causal", 0), ("window", 0), ("strict", 1)])
def test_a_guard_stands_where_a_row_may_be_closed(kind, guards, tmp_path):
    torch.manual_seed(0)
    module = Attends(kind).eval()
    shapes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length", min=2)},)
    program = torch.export.export(module, (torch.randn(2, 7, 16),), dynamic_shapes=shapes)
    archive, target = tmp_path / "mask.pt2", tmp_path / "mask.onnx"
    torch.export.save(program, archive)
    convert(archive, target)
    found = [node.op_type for node in onnx.load(target).graph.node]
    assert found.count("ReduceMax") == guards, found
    session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    for length in (2, 3, 7, 9):
        x = torch.randn(3, length, 16)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.from_numpy(got), module(x), rtol=1e-5, atol=1e-6)
