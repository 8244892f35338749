"""`selective-scan`: the loop of Mamba over a dynamic number of tokens."""

import importlib

import pytest
import torch
from torch import nn

from onnxport._export.patches.selective_scan import formula
from tests.python.package.patches import equal, exported

FAMILIES = ("falcon_mamba", "jamba", "mamba", "zamba")


def original(family):
    """Return the function of a family."""
    pytest.importorskip("transformers")
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    return module.mamba_selective_scan


def drawn(batch, width, states, tokens):
    """Return the arguments of a scan."""
    return (
        torch.randn(batch, width, tokens),
        torch.randn(batch, width, tokens),
        -torch.rand(width, states),
        torch.randn(batch, states, tokens),
        torch.randn(batch, states, tokens),
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tokens", [1, 2, 9])
def test_results_are_those_of_the_original(family, tokens):
    args = drawn(2, 4, 3, tokens)
    bias, skip, gate = torch.randn(4), torch.randn(4), torch.randn(2, 4, tokens)
    for options in (
        {},
        {"return_last_state": True},
        {"delta_bias": bias, "delta_softplus": True},
        {"D": skip, "z": gate, "delta_softplus": True, "return_last_state": True},
    ):
        equal(formula(*args, **options), original(family)(*args, **options))


class Scanning(nn.Module):
    """A scan that begins where Mamba's does."""

    def __init__(self, family):
        super().__init__()
        self.scan = importlib.import_module(f"transformers.models.{family}.modeling_{family}")

    def forward(self, x, dt, a, b, c):
        return self.scan.mamba_selective_scan(
            x, dt, a, b, c, delta_softplus=True, return_last_state=True
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_scan_is_exported(family):
    original(family)
    tokens = {0: "batch", 2: "tokens"}
    others = [drawn(1, 4, 3, 2), drawn(2, 4, 3, 17)]
    sizes = (tokens, tokens, {}, tokens, tokens)
    exported("selective-scan", Scanning(family), drawn(3, 4, 3, 5), sizes, others)
