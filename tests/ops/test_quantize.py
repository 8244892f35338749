import torch

from tests.ops.harness import case, f32, suite

test_ops = suite(
    __file__,
    [
        case(
            "aten.fake_quantize_per_tensor_affine.default",
            lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15),
            f32(3, 4),
        ),
    ],
)
