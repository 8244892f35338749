import torch
import torch.ao.quantization.fx._decomposed

from tests.python.ops.harness import Random, case, f16, f32, suite

OPS = torch.ops.quantized_decomposed
NAMES = "quantized_decomposed"
INT8 = (-128, 127, torch.int8)
UINT8 = (0, 255, torch.uint8)
INT32 = (-(2**31), 2**31 - 1, torch.int32)


def codes(low: int, high: int, dtype: torch.dtype) -> Random:
    """Describe quantised numbers of all kinds."""
    return Random(dtype, (3, 4, 5), low, high + 1)


def scales() -> torch.Tensor:
    """Return a scale for each of four channels."""
    return torch.tensor([0.1, 0.03, 0.25, 1 / 3])


def zero_points() -> torch.Tensor:
    """Return a zero point for each of four channels."""
    return torch.tensor([0, -3, 7, 100])


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
    ],
)
