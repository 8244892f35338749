"""Programs whose weights are integers already: stored bytes do not change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import ModelProto, numpy_helper
from torch import Tensor, nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401
from torch.export import export, save

from tests.python.onnx_runtime import check_model, convert

X = torch.linspace(-1, 1, 3 * 64).reshape(3, 64)


def codes(rows: int, columns: int, dtype: torch.dtype, low: int, high: int) -> Tensor:
    return torch.randint(low, high + 1, (rows, columns)).to(dtype)


class Decomposed(nn.Module):
    """The operators of PyTorch's own quantisation, per tensor and per channel."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("whole", codes(48, 64, torch.int8, -127, 127))
        self.register_buffer("rows", codes(32, 48, torch.uint8, 0, 255))
        self.register_buffer("scale", torch.rand(32) * 0.01 + 0.001)
        self.register_buffer("zero", torch.randint(100, 150, (32,)))
        self.plain = nn.Linear(32, 40)

    def forward(self, x: Tensor) -> Tensor:
        ops = torch.ops.quantized_decomposed
        whole = ops.dequantize_per_tensor(self.whole, 0.01, 3, -128, 127, torch.int8)
        rows = ops.dequantize_per_channel(self.rows, self.scale, self.zero, 0, 0, 255, torch.uint8)
        return self.plain(nn.functional.linear(nn.functional.linear(x, whole), rows))


class WeightOnly(nn.Module):
    """The result of weight-only quantisation: codes, a cast, and a scale per row."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("codes", codes(48, 64, torch.int8, -127, 127))
        self.register_buffer("scale", torch.rand(48, 1) * 0.01 + 0.001)
        self.plain = nn.Linear(48, 40)

    def forward(self, x: Tensor) -> Tensor:
        return self.plain(x @ (self.codes.to(x.dtype) * self.scale).t())


class Packed(nn.Module):
    """Two codes of four bits in a byte, groups with scales and zero points."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("codes", codes(48, 32, torch.uint8, 0, 255))
        self.register_buffer("scale", torch.rand(48, 4, 1) * 0.1 + 0.01)
        self.register_buffer("zero", codes(48, 4, torch.uint8, 0, 15).unsqueeze(-1))
        self.plain = nn.Linear(48, 40)

    def forward(self, x: Tensor) -> Tensor:
        both = torch.stack([self.codes & 15, self.codes >> 4], dim=-1).reshape(48, 4, 16)
        values = (both.to(x.dtype) - self.zero.to(x.dtype)) * self.scale
        return self.plain(x @ values.reshape(48, 64).t())


MODULES = {"decomposed": Decomposed, "weight_only": WeightOnly, "packed": Packed}
OPTIONS = {
    "plain": (),
    "f16": ("--dtype", "f16"),
    "f8": ("--dtype", "f8e4m3fn"),
    "int8": ("--quantize", "int8:block=channel"),
    "int4": ("--quantize", "int4", "--opset", "21"),
    "products": ("--quantize", "int4", "--quantize-form", "matmulnbits"),
    "all": ("--quantize", "int4", "--opset", "21", "--quantize-only", "*"),
    "both": ("--quantize", "int8:block=channel", "--dtype", "bf16"),
}


@pytest.fixture(scope="module", params=MODULES)
def program(request, tmp_path_factory) -> tuple[nn.Module, Path]:
    torch.manual_seed(0)
    module = MODULES[request.param]().eval()
    path = tmp_path_factory.mktemp(request.param) / "program.pt2"
    save(export(module, (X,)), path)
    return module, path


def stored(model: ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_codes_stay(program, tmp_path, options, external):
    module, path = program
    target = tmp_path / "model.onnx"
    where = "external" if external else "inline"
    convert(path, target, *OPTIONS[options], "--external-data", where)
    check_model(target)
    found = stored(onnx.load(target))
    integers = {
        name: value.numpy()
        for name, value in module.state_dict().items()
        if value.dtype.itemsize == 1
    }
    assert integers
    for name, value in integers.items():
        assert found[name].dtype == value.dtype, name
        assert found[name].tobytes() == value.tobytes(), name
    # The plain layer after them shows that the options take effect.
    changed = found["plain.weight"].tobytes() != module.plain.weight.detach().numpy().tobytes()
    assert changed == (options != "plain")
    session = ort.InferenceSession(target, providers=["CPUExecutionProvider"])
    result = session.run(None, {session.get_inputs()[0].name: X.numpy()})[0]
    with torch.no_grad():
        expected = module(X).numpy()
    error = np.abs(result - expected).max() / np.abs(expected).max()
    assert error < (1e-5 if options == "plain" else 0.3)
