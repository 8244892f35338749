"""Targets: results stay those of ONNX, and nodes without a kernel use another type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
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

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Pair(Call):
    """A function of two tensors."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.function(x, y)


LACKING = [
    torch.erf,
    torch.erfc,
    nn.functional.gelu,
    torch.special.ndtr,
]
# Results of ONNX Runtime in float32 are corrected in float64.
CORRECTED = [
    torch.asin,
    torch.acos,
    torch.atan,
    torch.asinh,
    lambda x: torch.acosh(x + 2.5),
    torch.atanh,
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


@pytest.mark.parametrize("function", CORRECTED, ids=[f"{i}" for i in range(len(CORRECTED))])
def test_float64_stays_exact(function: Callable[[Tensor], Tensor], tmp_path: Path) -> None:
    program = exported(function, POINTS, tmp_path)
    report = reported("convert", program, "-o", tmp_path / "ort.onnx", "--no-verify")
    assert report["target"]["computed"] == []
    session = ort.InferenceSession(tmp_path / "ort.onnx", providers=["CPUExecutionProvider"])
    [found] = session.run(None, {"x": POINTS.numpy()})
    np.testing.assert_allclose(found, function(POINTS).numpy(), rtol=1e-12, atol=1e-14)


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
    with pytest.raises(ConvertError, match="line 1 of the target is invalid"):
        convert(program, tmp_path / "m.onnx", "--target", str(target))


F = nn.functional
CLASSES = torch.arange(3) % 2
INDICES = torch.tensor([[0, 2, 2], [1, 1, 0]])
# Each operator with a form: the function called, its arguments, the operator, and its tolerance.
FORMS = [
    ("Tan", torch.tan, (POINTS,), 1e-14),
    ("Sinh", torch.sinh, (POINTS,), 1e-13),
    ("Cosh", torch.cosh, (POINTS,), 1e-14),
    ("Elu", F.elu, (POINTS * 9,), 1e-13),
    ("LeakyRelu", lambda x: F.leaky_relu(x, 0.25), (POINTS,), 0),
    ("PRelu", F.prelu, (POINTS.reshape(1, 67), POINTS), 0),
    ("Softplus", F.softplus, (POINTS * 900,), 1e-14),
    ("Softplus", F.logsigmoid, (POINTS * 900,), 1e-14),
    ("Mish", F.mish, (POINTS * 900,), 1e-13),
    ("HardSwish", F.hardswish, (POINTS * 5,), 1e-14),
    ("Gelu", lambda x: F.gelu(x, approximate="tanh"), (POINTS * 5,), 1e-13),
    (
        "GlobalAveragePool",
        lambda x: F.adaptive_avg_pool2d(x, 1),
        (POINTS.reshape(1, 1, 1, 67),),
        1e-14,
    ),
    ("NonZero", torch.nonzero, (torch.tensor([1e-300, 0.0, -2.0], dtype=torch.float64),), 0),
    ("Mod", torch.fmod, (torch.tensor([2**62 + 3, -(2**62) - 3]), torch.tensor([10, 7])), 0),
    (
        "ScatterElements",
        lambda x, y: torch.zeros(2, 3).half().scatter_add(1, INDICES, x.half() * y.half()).double(),
        (torch.ones(2, 3), torch.full((2, 3), 0.5)),
        0,
    ),
    (
        "ScatterND",
        lambda x: torch.zeros(3).half().index_add(0, CLASSES, x.half()).float(),
        (torch.tensor([1.0, 2.0, 3.0]),),
        0,
    ),
    (
        "SoftmaxCrossEntropyLoss",
        lambda x: F.cross_entropy(x.bfloat16(), CLASSES).float(),
        (torch.arange(9.0).reshape(3, 3) / 4,),
        1e-2,
    ),
    (
        "EyeLike",
        lambda x: torch.eye(x.shape[0] * 200, dtype=torch.int16) * x.sum().to(torch.int16),
        (torch.ones(2),),
        0,
    ),
    (
        "ConvTranspose",
        lambda x, y: F.conv_transpose1d(x, y, stride=2, padding=1, output_padding=2, dilation=3),
        (torch.arange(8.0).reshape(1, 2, 4), torch.arange(18.0).reshape(2, 3, 3) / 8),
        1e-6,
    ),
]


@pytest.mark.parametrize(
    ("operator", "function", "inputs", "tolerance"),
    FORMS,
    ids=[f"{operator}-{index}" for index, (operator, *_) in enumerate(FORMS)],
)
def test_other_forms_stand_for_what_is_lacking(
    operator: str,
    function: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    tolerance: float,
    tmp_path: Path,
) -> None:
    module = (Call if len(inputs) == 1 else Pair)(function).eval()
    program = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(module, inputs), program)
    expected = function(*inputs).numpy()
    given = {name: x.numpy() for name, x in zip("xy", inputs, strict=False)}

    # ONNX means the operator itself, in its type; its evaluator is the judge.
    own, output = tmp_path / "own.onnx", tmp_path / "out.safetensors"
    report = reported("convert", program, "-o", own, "--target", "onnx", "--no-verify")
    assert (report["target"]["computed"], report["target"]["replaced"]) == ([], [])
    assert operator in {node.op_type for node in onnx.load(own).graph.node}
    arguments = []
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    reported("run", own, *arguments, "--executor", "reference", "-o", output)
    [found] = load_file(output).values()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

    # ONNX Runtime computes another form, as exactly.
    path = tmp_path / "ort.onnx"
    report = reported("convert", program, "-o", path, "--target", "onnxruntime", "--no-verify")
    changed = report["target"]["computed"] + report["target"]["replaced"]
    assert operator in {entry["operator"] for entry in changed}
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    [found] = session.run(None, given)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_dropout_drops_where_nobody_reads_its_mask(tmp_path: Path) -> None:
    program = exported(lambda x: F.dropout(x.exp(), 0.25) + 1, torch.ones(4000), tmp_path)
    for opset in ("20", "22"):
        path = tmp_path / f"{opset}.onnx"
        convert(program, path, "--target", "onnxruntime", "--opset", opset)
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        [found] = session.run(None, {"x": np.ones(4000, np.float32)})
        kept = found != 1
        assert 0.7 < kept.mean() < 0.8
        np.testing.assert_allclose(found[kept], np.e / 0.75 + 1, rtol=1e-6)


def test_coins_are_uniform_and_normal(tmp_path: Path) -> None:
    """Nothing but `Dropout` draws at opset 22."""

    def function(x: Tensor) -> Tensor:
        normal = torch.randn_like(x) * 2 - torch.randn(x.shape[0])
        return torch.stack([torch.rand_like(x), torch.rand(x.shape[0]), torch.bernoulli(x), normal])

    program = exported(function, torch.full((4000,), 0.3), tmp_path)
    path = tmp_path / "22.onnx"
    convert(program, path, "--target", "onnxruntime", "--opset", "22")
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    [found] = session.run(None, {"x": np.full(4000, 0.3, np.float32)})
    np.testing.assert_allclose(found.mean(1), [0.5, 0.5, 0.3, 0], atol=0.12)
    np.testing.assert_allclose(found.std(1), [12**-0.5, 12**-0.5, 0.21**0.5, 5**0.5], atol=0.12)
    assert len(np.unique(found[0])) > 3900
    [again] = session.run(None, {"x": np.full(4000, 0.3, np.float32)})
    assert (again != found).mean() > 0.5


def test_multinomial_runs_at_every_opset(tmp_path: Path) -> None:
    """Classes are drawn by weight, whichever operators draw them."""
    weights = torch.tensor([[0.6, 0.4, 0.0]])
    program = exported(lambda x: torch.multinomial(x, 4000, replacement=True), weights, tmp_path)
    for opset, replaced in (("20", []), ("22", ["Multinomial"]), ("24", ["Multinomial"])):
        path = tmp_path / f"{opset}.onnx"
        report = reported("convert", program, "-o", path, "--opset", opset, "--no-verify")
        assert [entry["operator"] for entry in report["target"]["replaced"]] == replaced
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        [drawn] = session.run(None, {"x": weights.numpy()})
        counts = np.bincount(drawn[0], minlength=3)
        assert drawn.shape == (1, 4000)
        assert counts[2] == 0
        assert 2200 < counts[0] < 2600
