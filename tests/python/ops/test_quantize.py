from collections import Counter

import onnx
import pytest
import torch
import torch.ao.quantization.fx._decomposed
from torch import nn

import onnxport
from tests.python.onnx_runtime import convert, load_model
from tests.python.ops.harness import Random, case, export, f16, f32, suite

OPS = torch.ops.quantized_decomposed
NAMES = "quantized_decomposed"
INT8 = (-128, 127, torch.int8)
UINT8 = (0, 255, torch.uint8)
INT32 = (-(2**31), 2**31 - 1, torch.int32)


def codes(low: int, high: int, dtype: torch.dtype) -> Random:
    """Describe quantised numbers of all kinds."""
    return Random(dtype, (3, 4, 5), low, high + 1)


def near_ties(scale: float) -> torch.Tensor:
    """Return numbers that lie in the middle between two codes, to within their rounding."""
    return (torch.arange(-100, 100) + 0.5) * scale


def scales() -> torch.Tensor:
    """Return a scale for each of four channels."""
    return torch.tensor([0.1, 0.03, 0.25, 1 / 3])


def zero_points() -> torch.Tensor:
    """Return a zero point for each of four channels."""
    return torch.tensor([0, -3, 7, 100])


def quantised_dynamically(x: torch.Tensor, low: int, high: int, dtype: torch.dtype) -> torch.Tensor:
    """Return `x`, coded by its own range and back."""
    chosen = (*OPS.choose_qparams.tensor(x, low, high, 2**-12, dtype), low, high, dtype)
    return OPS.dequantize_per_tensor.tensor(OPS.quantize_per_tensor.tensor(x, *chosen), *chosen)


def tokens(x: torch.Tensor, scale: torch.Tensor, point: torch.Tensor) -> torch.Tensor:
    """Return `x`, coded by row and back."""
    codes = OPS.quantize_per_token(x, scale, point, *INT8)
    return OPS.dequantize_per_token(codes, scale, point, *INT8, torch.float32)


def linear(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return the product of `x`, coded by its own range, and a matrix."""
    return torch.nn.functional.linear(quantised_dynamically(x, *INT8), matrix)


def square() -> torch.Tensor:
    """Return a matrix with a scale for every column."""
    codes = torch.arange(-8, 8, dtype=torch.int8).reshape(4, 4)
    return OPS.dequantize_per_channel(codes, scales(), None, 1, *INT8)


test_ops = suite(
    __file__,
    [
        case(
            "aten.fake_quantize_per_tensor_affine.default",
            lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15),
            f32(3, 4),
        ),
        *(
            case(
                f"{NAMES}.quantize_per_tensor.default",
                lambda x, kind=kind: OPS.quantize_per_tensor(x, 0.03, 5, *kind),
                f32(3, 4, 5, low=-6, high=6),
                id=str(kind[2]),
                dynamic=True,
            )
            for kind in (INT8, UINT8, INT32)
        ),
        case(
            f"{NAMES}.quantize_per_tensor.default",
            lambda x: OPS.quantize_per_tensor(x, 0.1, -3, -127, 127, torch.int8),
            f16(3, 4),
            id="half",
        ),
        case(
            f"{NAMES}.quantize_per_tensor.default",
            lambda x: OPS.quantize_per_tensor((x * 9).round() / 2 * 0.1, 0.1, 0, *INT8),
            f32(30, 40),
            id="halves",
        ),
        case(
            f"{NAMES}.quantize_per_tensor.tensor",
            lambda x, scale, zero: OPS.quantize_per_tensor.tensor(x, scale, zero, *UINT8),
            f32(3, 4, low=-6, high=6),
            torch.tensor([0.03]),
            torch.tensor([128]),
            dynamic=({0: torch.export.Dim("n")}, None, None),
        ),
        case(
            f"{NAMES}.quantize_per_channel.default",
            lambda x: OPS.quantize_per_channel(x, scales(), zero_points(), 1, *INT8),
            f32(3, 4, 5, low=-6, high=6),
            dynamic=({0: torch.export.Dim("n"), 2: torch.export.Dim("m")},),
        ),
        *(
            case(
                f"{NAMES}.dequantize_per_tensor.default",
                lambda x, kind=kind: OPS.dequantize_per_tensor(x, 0.03, 5, *kind),
                codes(*kind),
                id=str(kind[2]),
                dynamic=True,
            )
            for kind in (INT8, UINT8, INT32)
        ),
        case(
            f"{NAMES}.dequantize_per_tensor.default",
            lambda x: OPS.dequantize_per_tensor(x, 0.03, 5, *INT8, out_dtype=torch.float16),
            codes(*INT8),
            id="half",
        ),
        case(
            f"{NAMES}.dequantize_per_tensor.tensor",
            lambda x, scale, zero: OPS.dequantize_per_tensor.tensor(x, scale, zero, *INT8),
            codes(*INT8),
            torch.tensor(0.03),
            torch.tensor(-7, dtype=torch.int32),
        ),
        case(
            f"{NAMES}.dequantize_per_channel.default",
            lambda x: OPS.dequantize_per_channel(x, scales(), zero_points(), 1, *UINT8),
            codes(*UINT8),
            dynamic=({0: torch.export.Dim("n"), 2: torch.export.Dim("m")},),
        ),
        case(
            f"{NAMES}.dequantize_per_channel.default",
            lambda x: OPS.dequantize_per_channel(x, scales(), None, -2, *INT8),
            codes(*INT8),
            id="no-zero-points",
        ),
        case(
            f"{NAMES}.dequantize_per_channel.default",
            lambda x, points: OPS.dequantize_per_channel(x, scales(), points, 1, *INT8),
            codes(*INT8),
            Random(torch.int64, (4,), -200, 200),
            id="zero-points-that-are-not-known",
        ),
        case(
            f"{NAMES}.dequantize_per_channel.default",
            lambda x: OPS.dequantize_per_channel(
                x, scales(), zero_points().to(torch.int8), 1, *INT8
            ),
            codes(*INT8),
            id="difference-that-wraps",
        ),
        case(
            f"{NAMES}.dequantize_per_channel.default",
            lambda x: OPS.dequantize_per_channel(x, scales().double() / 3, zero_points(), 1, *INT8),
            codes(*INT8),
            id="scales-that-are-not-f32",
        ),
        *(
            case(
                f"{NAMES}.quantize_per_tensor.default",
                lambda x, kind=kind: OPS.quantize_per_tensor(x, 0.03, 5, *kind),
                f32(3, 4, 5, low=-6, high=6),
                id=f"narrow-{kind[2]}",
            )
            for kind in ((-7, 9, torch.int8), (3, 100, torch.uint8))
        ),
        case(
            f"{NAMES}.quantize_per_tensor.default",
            lambda x: OPS.quantize_per_tensor(x, 0.03, 300, *UINT8),
            f32(3, 4, 5, low=-6, high=6),
            id="zero-point-that-is-no-code",
        ),
        case(
            f"{NAMES}.quantize_per_tensor.tensor",
            lambda x, zero: OPS.quantize_per_tensor.tensor(x, torch.tensor(0.03), zero, *UINT8),
            f32(3, 4, 5, low=-6, high=6),
            torch.tensor(300),
            id="zero-point-that-is-no-code",
        ),
        *(
            case(
                f"{NAMES}.{name}.default",
                lambda x, name=name: getattr(OPS, name)(x, 0.03, 5, -3000, 3000, torch.int16),
                inputs,
                id=f"int16-{opset}",
                options=("--opset", str(opset)),
            )
            for name, inputs in (
                ("quantize_per_tensor", f32(3, 4, 5, low=-99, high=99)),
                ("dequantize_per_tensor", Random(torch.int16, (3, 4), -3000, 3000)),
            )
            for opset in (20, 21)
        ),
        case(
            f"{NAMES}.dequantize_per_tensor.default",
            lambda x: OPS.dequantize_per_tensor(x, 0.03, 5, *INT8, out_dtype=torch.bfloat16),
            codes(*INT8),
            id="bfloat",
        ),
        case(
            f"{NAMES}.quantize_per_tensor.tensor2",
            lambda x: OPS.quantize_per_tensor.tensor2(
                x, *map(torch.tensor, (0.03, 5, -128, 127)), torch.int8
            ),
            f32(3, 4, 5, low=-6, high=6),
        ),
        case(
            f"{NAMES}.dequantize_per_tensor.tensor2",
            lambda x: OPS.dequantize_per_tensor.tensor2(
                x, *map(torch.tensor, (0.03, 5, -128, 127)), torch.int8
            ),
            codes(*INT8),
        ),
        *(
            case(
                f"{NAMES}.choose_qparams{symmetric}.tensor",
                lambda x, f=f, low=low, high=high, eps=eps, dtype=dtype: f(
                    x, low, high, eps, dtype
                ),
                inputs,
                id=f"{dtype}-{eps}-{sign}",
                dynamic=True,
            )
            for symmetric, f in (
                ("", OPS.choose_qparams.tensor),
                ("_symmetric", OPS.choose_qparams_symmetric.tensor),
            )
            for low, high, dtype in (INT8, UINT8)
            for eps in (2**-12, 0.5)
            for sign, inputs in (
                ("both", f32(3, 4)),
                ("above", f32(3, 4, low=1)),
                ("below", f32(3, 4, high=-1)),
            )
        ),
        case(
            f"{NAMES}.choose_qparams.tensor",
            lambda x: quantised_dynamically(x, *INT8),
            f32(3, 4),
            id="quantised",
            dynamic=True,
        ),
        case(
            f"{NAMES}.choose_qparams_per_token_asymmetric.default",
            lambda x: OPS.choose_qparams_per_token_asymmetric(x, torch.int8),
            f32(3, 4, 5),
            dynamic=True,
        ),
        case(
            f"{NAMES}.choose_qparams_per_token.default",
            lambda x: tokens(x, *OPS.choose_qparams_per_token(x, torch.int8)),
            f32(3, 4, 5),
            dynamic=True,
        ),
        case(
            f"{NAMES}.quantize_per_token.default",
            lambda x: tokens(x, *OPS.choose_qparams_per_token_asymmetric(x, torch.int8)),
            f32(3, 4, 5),
            dynamic=True,
        ),
        *(
            case(
                f"{NAMES}.dequantize_per_channel_group.default",
                lambda x, points=points: OPS.dequantize_per_channel_group(
                    x, scales().reshape(2, 2), points, *INT8, 3, torch.float32
                ),
                Random(torch.int8, (2, 6), -128, 128),
                id=f"{name}-{opset}",
                options=("--opset", str(opset)),
            )
            for name, points in (
                ("int32", zero_points().reshape(2, 2).int()),
                ("int8", zero_points().reshape(2, 2).to(torch.int8)),
                ("none", None),
            )
            for opset in (20, 21)
        ),
        case(
            f"{NAMES}.quantize_per_channel_group.default",
            lambda x: OPS.quantize_per_channel_group(
                x, scales().reshape(2, 2), zero_points().reshape(2, 2).int(), *INT8, 3
            ),
            f32(2, 6, low=-6, high=6),
        ),
        *(
            case(
                f"{NAMES}.fake_quant_per_channel.default",
                lambda x, low=low, high=high: OPS.fake_quant_per_channel(
                    x, scales(), zero_points(), 1, low, high
                ),
                f32(3, 4, 5, low=-6, high=6),
                id=f"{low}-{high}",
            )
            for low, high in ((-128, 127), (-100, 101), (-1000, 1000))
        ),
        case(
            f"{NAMES}.convert_element_type.no_fuse",
            lambda x: OPS.convert_element_type.no_fuse(x, torch.float16),
            f32(3, 4),
        ),
        case(
            f"{NAMES}.choose_qparams.tensor",
            lambda x: linear(quantised_dynamically(x, *UINT8), square()),
            f32(3, 4),
            id="scales-along-the-sum",
        ),
    ],
)


def test_neighbours_at_ties(tmp_path):
    # A quotient is divided where PyTorch multiplies by the inverse: in the middle between two codes
    # it may round to either.
    module = nn.Module()
    module.forward = lambda x: OPS.quantize_per_tensor(x, 0.03, 0, *INT8)
    x = near_ties(0.03)
    program = export(module, (x,))
    archive = tmp_path / "ties.pt2"
    onnxport.save(program, archive)
    convert(archive, archive.with_suffix(".onnx"))
    (got,) = load_model(archive.with_suffix(".onnx")).run({"x": x})
    difference = (got.int() - module(x).int()).abs()
    assert difference.max() == 1


def test_dynamic_codes_keep_the_types_between(tmp_path):
    # The zero point is not cast to int64 and back.
    module = nn.Module()
    module.forward = lambda x: quantised_dynamically(x, *INT8)
    archive = tmp_path / "dynamic.pt2"
    onnxport.save(export(module, (torch.randn(3, 4),)), archive)
    convert(archive, archive.with_suffix(".onnx"), "--no-optimize")
    nodes = onnx.load(archive.with_suffix(".onnx")).graph.node
    kinds = Counter(node.op_type for node in nodes)
    assert (kinds["Cast"], kinds["QuantizeLinear"], kinds["DequantizeLinear"]) == (1, 1, 1)


@pytest.mark.parametrize(("extent", "integers"), [(60_000, True), (70_000, False)])
def test_sums_that_int32_does_not_hold_stay_floats(extent, integers, tmp_path):
    module = nn.Module()
    weight = torch.full((2, extent), 127, dtype=torch.int8)
    module.forward = lambda x: linear(x, OPS.dequantize_per_tensor(weight, 0.1, 0, *INT8))
    archive = tmp_path / "long.pt2"
    onnxport.save(export(module, (torch.rand(3, extent),)), archive)
    convert(archive, archive.with_suffix(".onnx"))
    kinds = {node.op_type for node in onnx.load(archive.with_suffix(".onnx")).graph.node}
    assert ("MatMulInteger" in kinds) == integers
