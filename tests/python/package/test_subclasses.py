"""Weights that are tensor subclasses: torchao's, and one that is made as they are."""

import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxport


class Scaled(torch.Tensor):
    """Codes of eight bits with a scale; every operator but views computes with their values."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=scale.dtype)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self):
        return ["codes", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, _, size, stride):
        return cls(inner["codes"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return cls(args[0].codes, args[0].scale)

        def value(one):
            return one.codes.to(one.scale.dtype) * one.scale if isinstance(one, cls) else one

        return func(*map(value, args), **(kwargs or {}))


def quantised():
    layer = nn.Linear(8, 4).eval()
    scale = layer.weight.detach().abs().amax() / 127
    codes = (layer.weight.detach() / scale).round().to(torch.int8)
    layer.weight = nn.Parameter(Scaled(codes, scale), requires_grad=False)
    return layer


def check(model, x, other):
    program = onnxport.export(model, (x,), dynamic_shapes=({0: Dim.DYNAMIC},))
    for one in (x, other):
        torch.testing.assert_close(program(one)[0], model(one), rtol=1e-4, atol=1e-5)
    dtypes = {str(weight.dtype) for weight in program.model.graph.initializers.values()}
    assert any("INT8" in dtype for dtype in dtypes)


def test_a_subclass_is_taken_apart():
    check(quantised(), torch.randn(3, 8), torch.randn(5, 8))


@pytest.mark.filterwarnings("ignore")
def test_weights_of_torchao_stay_quantised():
    quantization = pytest.importorskip("torchao.quantization")
    model = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 128)).eval()
    quantization.quantize_(model, quantization.Int8WeightOnlyConfig())
    check(model, torch.randn(3, 128), torch.randn(5, 128))
