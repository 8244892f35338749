"""`flex-gradient`: `flex_attention` behind layers that are trained."""

import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

from onnxport._export.patches import install, registry
from tests.python.package.patches import agrees, exported


class Trained(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x):
        parts = self.project(x).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (4, 4)).transpose(1, 2) for part in parts)

        def score(number, batch, head, row, column):
            return number - (row - column).abs() * (head + 1)

        return flex_attention(query, key, value, score).transpose(1, 2).flatten(2)


def test_results_are_those_of_the_original():
    torch.manual_seed(0)
    model, x = Trained().eval(), torch.randn(2, 7, 16)
    with torch.no_grad():
        agrees("flex-gradient", lambda: model(x))


def test_other_devices_are_left_to_the_original():
    x = torch.randn(1, 1, 4, 4, device="meta")
    for chosen in ([], ["flex-gradient"]):
        with (
            install.installed(registry.chosen(chosen)),
            pytest.raises(ValueError, match="only supported"),
        ):
            flex_attention(x, x, x)


def test_trained_layers_are_exported():
    torch.manual_seed(0)
    others = [(torch.randn(3, 4, 16),), (torch.randn(1, 11, 16),)]
    sizes = ({0: "batch", 1: "length"},)
    exported("flex-gradient", Trained(), (torch.randn(2, 7, 16),), sizes, others)
