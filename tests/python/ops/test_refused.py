"""Programs whose conversion would be wrong, or what ONNX computes: each is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.python.onnx_runtime import ConvertError, convert
from tests.python.ops.harness import export


class Shared(nn.Module):
    """Writes to a buffer that another one is a view of."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("whole", torch.zeros(4))
        self.register_buffer("part", self.whole[1:])

    def forward(self, x):
        """Return the other buffer after the write."""
        self.whole.add_(x)
        return self.part * 2


def out(x):
    z = x.clone()
    torch.mm(z, x, out=z)
    return z


@pytest.mark.parametrize(
    ("function", "inputs", "reason"),
    [
        (Shared(), (torch.ones(4),), "`part` shows the same memory"),
        (out, (torch.ones(3, 3),), "`self` and `out` show the same memory"),
    ],
    ids=["shared buffers", "out"],
)
def test_refused(tmp_path: Path, function, inputs, reason: str) -> None:
    """The conversion fails and says why."""
    archive = tmp_path / "refused.pt2"
    torch.export.save(export(function, inputs), archive)
    with pytest.raises(ConvertError, match=reason) as failure:
        convert(archive, archive.with_suffix(".onnx"))
    assert failure.value.code == 3
