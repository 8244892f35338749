import torch

from tests.python.ops.harness import boolean, case, f16, f32, f64, i32, i64, suite, u8

EDGES = torch.tensor([-0.0, 0.0, 1.5, -1.5, 7.0, -7.0, float("inf"), -float("inf"), float("nan")])
TENTHS = torch.tensor([1.0, 0.3, -1.0, 7.5, -7.5, 2.0])

test_ops = suite(
    __file__,
    [
        case("aten.add.Tensor", lambda x, y: x + y, boolean(3, 4), boolean(4), id="bool"),
        case("aten.add.Tensor", lambda x, y: x + y, u8(3, 4), u8(4), id="wraps"),
        case("aten.add.Tensor", lambda x, y: x + y, f32(3, 4), f64(), id="0-d"),
        case("aten.add.Tensor", lambda x, y: x + y, f16(3, 4), f16(3, 4), id="f16"),
        case("aten.add.Tensor", lambda x: torch.add(x, 2, alpha=3), i32(3, 4), id="alpha"),
        case("aten.sub.Tensor", lambda x, y: x - y, f32(3, 4), i64(4), dynamic=True),
        case("aten.rsub.Scalar", lambda x: torch.rsub(x, 5, alpha=2), i64(3)),
        case("aten.mul.Tensor", lambda x, y: x * y, boolean(3, 4), boolean(4), id="bool"),
        case("aten.mul.Tensor", lambda x: x * 2.5, i64(3, 4), id="scalar"),
        case("aten.neg.default", torch.neg, u8(5), id="wraps"),
        case("aten.pow.Tensor_Scalar", lambda x: x**2, i64(3, 4)),
        case("aten.pow.Tensor_Scalar", lambda x: x**3, u8(3, 4), id="u8"),
        case("aten.pow.Tensor_Scalar", lambda x: x**0.5, f32(3, low=0.0), id="root"),
        case("aten.pow.Tensor_Scalar", lambda x: x**-1, f32(3), id="inverse"),
        case("aten.pow.Tensor_Tensor", lambda x, y: x**y, f32(3, low=0.1), f32(2, 3)),
        case("aten.pow.Scalar", lambda x: 2**x, f32(3), dynamic=True),
        case("aten.float_power.Tensor_Scalar", lambda x: x.float_power(3), i64(3)),
        case("aten.square.default", torch.square, f32(3)),
        case(
            "aten.addcmul.default",
            lambda x, y, z: torch.addcmul(x, y, z, value=2),
            *[f32(3)] * 3,
        ),
        case(
            "aten.addcdiv.default",
            lambda x, y, z: torch.addcdiv(x, y, z, value=0.5),
            f32(3),
            f32(3),
            f32(3, low=1.0),
        ),
        case("aten.lerp.Scalar", lambda x, y: torch.lerp(x, y, 0.3), f32(3), f32(3)),
        case("aten.lerp.Tensor", torch.lerp, f32(3), f32(3), f32(3)),
        case("aten.ldexp.Tensor", torch.ldexp, f32(3), i64(3)),
        case("aten.hypot.default", torch.hypot, f32(3), f32(2, 1)),
        case("aten.deg2rad.default", torch.deg2rad, i64(3)),
        case("aten.rad2deg.default", torch.rad2deg, f32(3)),
        case("aten.div.Tensor", lambda x, y: x / y, boolean(3), i64(3, low=1), id="bool"),
        case("aten.true_divide.Tensor", torch.true_divide, i64(3), i64(3, low=1)),
        case(
            "aten.div.Tensor_mode",
            lambda x, y: torch.div(x, y, rounding_mode="floor"),
            i64(3, 9),
            i64(9, low=1),
        ),
        case(
            "aten.div.Tensor_mode",
            lambda x, y: torch.div(x, y, rounding_mode="floor"),
            f32(3, 9),
            f32(9),
            id="float",
        ),
        case(
            "aten.div.Tensor_mode",
            lambda x: torch.div(x, 0.1, rounding_mode="floor"),
            TENTHS,
            id="tenths",
        ),
        case(
            "aten.div.Tensor_mode",
            lambda x: torch.div(x, -0.1, rounding_mode="floor"),
            TENTHS.double(),
            id="f64",
        ),
        case(
            "aten.div.Tensor_mode",
            lambda x, y: torch.div(x, y, rounding_mode="floor"),
            f64(3, 9),
            torch.tensor([0.0, 1, -1, 0.1, -0.1, 3, 5, 0.0, 2], dtype=torch.float64),
            id="by-zero",
        ),
        case(
            "aten.div.Tensor_mode",
            lambda x, y: torch.div(x, y, rounding_mode="trunc"),
            i64(3, 9),
            i64(9, low=-9, high=0),
            id="int-trunc",
        ),
        case(
            "aten.div.Tensor_mode",
            lambda x: torch.div(x, 2, rounding_mode="trunc"),
            EDGES,
            id="trunc",
        ),
        case("aten.floor_divide.default", lambda x, y: x // y, i64(9), i64(9, low=-9, high=0)),
        case("aten.floor_divide.default", lambda x: x // 3, u8(9), id="u8"),
        case("aten.floor_divide.default", lambda x: x // 0.3, f32(3, 9), id="float"),
        case("aten.remainder.Tensor", lambda x, y: x % y, i64(9), i64(9, low=-9, high=0)),
        case("aten.remainder.Tensor", lambda x, y: x % y, f32(3, 9), f32(9), id="float"),
        case("aten.remainder.Scalar", lambda x: x % 1.5, EDGES),
        case("aten.remainder.Scalar", lambda x: x % -1.5, EDGES, id="negative"),
        case("aten.remainder.Scalar_Tensor", lambda x: 7 % x, i64(9, low=1)),
        case("aten.fmod.Tensor", torch.fmod, i64(9), i64(9, low=-9, high=0)),
        case("aten.fmod.Scalar", lambda x: torch.fmod(x, 1.5), f32(9)),
        case(
            "aten.floor_divide.default", lambda x: x // 3, torch.tensor([-128, 127]).char(), id="i8"
        ),
        case(
            "aten.floor_divide.default",
            lambda x: x // -3,
            torch.tensor([-(2**31), 2**31 - 1]).int(),
            id="i32",
        ),
        case(
            "aten.fmod.Scalar", lambda x: torch.fmod(x, -3), torch.tensor([2**62 + 1, -5]), id="i64"
        ),
        case("aten.hypot.default", torch.hypot, f16(9, low=300.0, high=400.0), f16(9), id="large"),
    ],
)
