import torch

from tests.python.ops.harness import boolean, case, f32, i32, i64, suite, u8

test_ops = suite(
    __file__,
    [
        case("aten.logical_and.default", torch.logical_and, f32(9), i64(9, low=0, high=2)),
        case("aten.logical_or.default", torch.logical_or, boolean(9), i64(9, low=0, high=2)),
        case("aten.logical_xor.default", torch.logical_xor, boolean(3, 1), boolean(9)),
        case("aten.logical_not.default", torch.logical_not, i64(9, low=0, high=2), dynamic=True),
        case("aten.bitwise_and.Tensor", torch.bitwise_and, i64(9), i64(9)),
        case("aten.bitwise_or.Tensor", torch.bitwise_or, boolean(9), boolean(9)),
        case("aten.bitwise_xor.Scalar", lambda x: torch.bitwise_xor(x, 5), u8(9)),
        case("aten.__and__.Tensor", lambda x, y: x & y, boolean(9), boolean(9), dynamic=True),
        case("aten.__and__.Tensor", lambda x, y: x & y, i32(9), i64(9), id="promotes"),
        case("aten.__or__.Tensor", lambda x, y: x | y, i64(9), i64(9)),
        case("aten.__xor__.Scalar", lambda x: x ^ 3, i64(9)),
        case("aten.bitwise_not.default", torch.bitwise_not, i64(9)),
        case("aten.bitwise_not.default", torch.bitwise_not, boolean(9), id="bool"),
        case("aten.__lshift__.Scalar", lambda x: x << 3, i64(9)),
        case("aten.bitwise_left_shift.Tensor", torch.bitwise_left_shift, i64(9), i64(9, low=0)),
        case(
            "aten.bitwise_left_shift.Tensor_Scalar", lambda x: torch.bitwise_left_shift(x, 2), u8(9)
        ),
        case("aten.__rshift__.Scalar", lambda x: x >> 2, i64(9)),
        case("aten.__rshift__.Scalar", lambda x: x >> 31, i32(9), id="sign"),
        case("aten.__rshift__.Scalar", lambda x: x >> 2, u8(9), id="u8"),
        case("aten.bitwise_right_shift.Tensor", torch.bitwise_right_shift, i32(9), i32(9, low=0)),
        case("aten.bitwise_right_shift.Scalar_Tensor", lambda x: 100 >> x, i64(9, low=0), id="s"),
    ],
)
