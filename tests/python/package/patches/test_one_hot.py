"""`one-hot`: as many classes as the values need."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from onnxport._export.patches import install, registry
from tests.python.package.patches import agrees, exported


class Classes(nn.Module):
    def forward(self, x):
        return F.one_hot(x).float() * 2


@pytest.mark.parametrize(
    "values", [[0], [3], [0, 1, 2], [4, 0, 4], [[1, 0], [0, 1]], [[[2]]], list(range(30))]
)
def test_results_are_those_of_the_original(values):
    agrees("one-hot", lambda: F.one_hot(torch.tensor(values)))
    agrees("one-hot", lambda: F.one_hot(torch.tensor(values), num_classes=-1))


@pytest.mark.parametrize("values", [[], [-1, 2], [1.5]])
def test_what_the_original_refuses_is_refused(values):
    for chosen in ([], ["one-hot"]):
        with install.installed(registry.chosen(chosen)), pytest.raises(RuntimeError):
            F.one_hot(torch.tensor(values))


def test_a_number_of_classes_is_left_to_the_original():
    with install.installed(registry.chosen(["one-hot"])) as uses:
        assert F.one_hot(torch.tensor([1]), 3).tolist() == [[0, 1, 0]]
    assert uses.summary() == ()


def test_classes_are_exported():
    others = [(torch.tensor([5, 1]),), (torch.tensor([0, 0, 2, 0, 0, 0, 0]),)]
    exported("one-hot", Classes(), (torch.tensor([1, 3, 0, 2]),), ({0: "n"},), others)
