"""`linspace`: coordinates whose number is a size."""

import pytest
import torch
from torch import nn

from onnxport._export.patches.linspace import formula
from tests.python.package.patches import equal, exported


class Grid(nn.Module):
    """Coordinates in the range of the image's axes, as detectors and implicit networks use them."""

    def forward(self, x):
        rows = torch.linspace(0, 1, x.shape[2])
        columns = torch.linspace(start=1.5, end=-2, steps=x.shape[3], dtype=torch.float32)
        return x + torch.stack(torch.meshgrid(rows, columns, indexing="ij"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ends", [(0, 1), (-1.0, 1.0), (0.3, 7.77), (5, -3), (2, 2)])
def test_results_are_those_of_the_original(dtype, ends):
    # One rounding of the largest value.
    bound = torch.finfo(dtype).eps * max(map(abs, ends))
    for steps in [*range(40), 255, 1000]:
        expected = torch.linspace(*ends, steps, dtype=dtype)
        equal(formula(*ends, steps, dtype), expected, rtol=0, atol=bound)


def test_a_grid_is_exported():
    sizes = ({0: "batch", 2: "height", 3: "width"},)
    others = [(torch.randn(1, 2, 9, 2),), (torch.randn(3, 2, 2, 31),)]
    exported("linspace", Grid(), (torch.randn(2, 2, 5, 6),), sizes, others)


def test_a_size_that_was_fixed_stays_dynamic():
    """PyTorch itself offers to fix a size that has a `Dim`: the patch is tried nevertheless."""
    sizes = ({2: torch.export.Dim("height"), 3: torch.export.Dim("width")},)
    exported("linspace", Grid(), (torch.randn(2, 2, 5, 6),), sizes, [(torch.randn(2, 2, 4, 3),)])
