import torch

from tests.python.ops.harness import boolean, case, f32, i64, suite

prims = torch.ops.prims

test_ops = suite(
    __file__,
    [
        case("prims.add.default", lambda x, y: prims.add(x, y), f32(9), f32(9)),
        case("prims.div.default", lambda x, y: prims.div(x, y), i64(9), i64(9, low=1)),
        case("prims.remainder.default", lambda x, y: prims.remainder(x, y), i64(9), i64(9, low=1)),
        case("prims.pow.default", lambda x, y: prims.pow(x, y), f32(9, low=0.1), f32(9)),
        case("prims.lt.default", lambda x, y: prims.lt(x, y), f32(9), f32(9)),
        case("prims.rsqrt.default", lambda x: prims.rsqrt(x), f32(9, low=0.1)),
        case(
            "prims.where.default", lambda c, x, y: prims.where(c, x, y), boolean(9), f32(9), f32(9)
        ),
        case("prims.bitwise_not.default", lambda x: prims.bitwise_not(x), i64(9)),
        case("prims.erf_inv.default", lambda x: prims.erf_inv(x), f32(9, low=-0.9, high=0.9)),
        case(
            "prims.iota.default",
            lambda x: (
                x
                + prims.iota(
                    9, start=2, step=3, dtype=torch.int64, device=x.device, requires_grad=False
                )
            ),
            i64(9),
        ),
        case(
            "prims.convert_element_type.default",
            lambda x: prims.convert_element_type(x, torch.int32),
            f32(9),
        ),
        case("aten._add_relu.Tensor", lambda x, y: torch.ops.aten._add_relu(x, y), f32(9), f32(9)),
    ],
)
