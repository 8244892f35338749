"""`norm-sizes`: instance normalization over as many elements as values decide."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from onnxport._export.patches import install, registry
from tests.python.package.patches import exported


class Selected(nn.Module):
    """Normalizes the steps that a mask selects."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, mask):
        return self.layer(x[:, :, mask])


@pytest.mark.parametrize("chosen", [[], ["norm-sizes"]])
def test_sizes_that_are_numbers_are_left_to_the_original(chosen):
    x = torch.randn(2, 4, 5)
    with install.installed(registry.chosen(chosen)) as uses:
        expected = (x - x.mean(2, keepdim=True)) * (x.var(2, False, keepdim=True) + 1e-5).rsqrt()
        torch.testing.assert_close(F.instance_norm(x), expected)
        with pytest.raises(ValueError, match="more than 1 spatial element"):
            F.instance_norm(x[:, :, :1])
    assert uses.summary() == ()


def test_selected_steps_are_exported():
    torch.manual_seed(0)
    layer = nn.InstanceNorm1d(4, affine=True)
    nn.init.normal_(layer.weight)
    sizes = ({0: "batch", 2: "time"}, {0: "time"})
    args = torch.randn(2, 4, 5), torch.tensor([True, False, True, True, False])
    others = [
        (torch.randn(3, 4, 3), torch.tensor([True, True, False])),
        (torch.randn(2, 4, 7), torch.ones(7, dtype=torch.bool)),
    ]
    exported("norm-sizes", Selected(layer), args, sizes, others)
