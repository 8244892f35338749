"""Targets: what ONNX means is kept, and what ONNX Runtime lacks is computed in another type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from safetensors.numpy import load_file
from torch import Tensor, nn

from tests.python.onnx_runtime import ConvertError, convert, reported

# The whole range between their poles.
POINTS = torch.linspace(-0.99, 0.99, 67, dtype=torch.float64)
SINGLE = 1e-6


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


LACKING = [
    torch.erf,
    torch.erfc,
    torch.asin,
    torch.acos,
    torch.atan,
    torch.asinh,
    lambda x: torch.acosh(x + 2.5),
    torch.atanh,
    nn.functional.gelu,
    torch.special.ndtr,
]


def exported(function: Callable[[Tensor], Tensor], x: Tensor, folder: Path) -> Path:
    path = folder / "program.pt2"
    torch.export.save(torch.export.export(Call(function).eval(), (x,)), path)
    return path


@pytest.mark.parametrize("function", LACKING, ids=[f"{i}" for i in range(len(LACKING))])
def test_float64_is_float64(function: Callable[[Tensor], Tensor], tmp_path: Path) -> None:
    program = exported(function, POINTS, tmp_path)
    model, output = tmp_path / "onnx.onnx", tmp_path / "out.safetensors"
    report = reported("convert", program, "-o", model, "--target", "onnx", "--no-verify")
    assert report["target"]["target"] == "onnx"
    assert report["target"]["computed"] == []
    np.save(tmp_path / "x.npy", POINTS.numpy())
    given = f"x={tmp_path / 'x.npy'}"
    reported("run", model, "--input", given, "--executor", "reference", "-o", output)
    [found] = load_file(output).values()
    expected = function(POINTS).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)

    # ONNX Runtime has no kernels for it, and gets casts, which the report says.
    report = reported("convert", program, "-o", tmp_path / "ort.onnx", "--no-verify")
    computed = report["target"]["computed"]
    assert [(c["of"], c["within"]) for c in computed] == [("f64", "f32")]
    assert "OP408" in {d["code"] for d in report["diagnostics"]}
    session = ort.InferenceSession(tmp_path / "ort.onnx", providers=["CPUExecutionProvider"])
    [lower] = session.run(None, {"x": POINTS.numpy()})
    assert lower.dtype == np.float64
    np.testing.assert_allclose(lower, expected, rtol=SINGLE, atol=SINGLE)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int8, torch.uint8, torch.bool])
def test_narrow_types_run(dtype: torch.dtype, tmp_path: Path) -> None:
    """Each of these had a cast in a lowering of its own."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        if dtype == torch.bool:
            return (torch.where(x, ~x, x.flip(0)), torch.unique(x))
        padded = nn.functional.pad(x, (1, 2))
        return (x.tril(), torch.maximum(x, x.flip(0)), x.clamp(2, 5), torch.unique(x), padded)

    x = (torch.arange(16).reshape(4, 4) * 7 % 11).to(dtype)
    program = exported(function, x, tmp_path)
    convert(program, tmp_path / "m.onnx", "--target", "onnxruntime")
    session = ort.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    for found, expected in zip(session.run(None, {"x": x.numpy()}), function(x), strict=True):
        np.testing.assert_array_equal(found, expected.numpy())


def test_bfloat16_runs_on_the_cpu_where_that_is_the_target(tmp_path: Path) -> None:
    program = exported(
        lambda x: torch.erf(x) * x + 1, torch.ones(3, dtype=torch.bfloat16), tmp_path
    )
    for target, runs in (("onnxruntime", False), ("onnxruntime-cpu", True)):
        path = tmp_path / f"{target}.onnx"
        convert(program, path, "--target", target)
        if runs:
            ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        else:
            with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
                ort.InferenceSession(path, providers=["CPUExecutionProvider"])


def test_a_target_that_does_not_run_the_model_is_refused_on_demand(tmp_path: Path) -> None:
    program = exported(torch.erf, POINTS, tmp_path)
    target = tmp_path / "chip.txt"
    target.write_text("target chip\nversion 7\nkernel Erf 13 T=f32\n")
    with pytest.raises(
        ConvertError, match=r"OP409.*chip 7 has no kernel for version 13 of `Erf` of f64"
    ):
        convert(program, tmp_path / "m.onnx", "--target", str(target))
    target.write_text("target chip\nkernel Erf 13 T=f32\ncompute f64 in f32\n")
    convert(program, tmp_path / "m.onnx", "--target", str(target))
    target.write_text("kernel\n")
    with pytest.raises(ConvertError, match="line 1 of the target says nothing"):
        convert(program, tmp_path / "m.onnx", "--target", str(target))
