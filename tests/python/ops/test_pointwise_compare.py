import torch

from tests.python.ops.harness import boolean, case, f16, f32, i32, i64, suite, u8

NAN = torch.tensor([float("nan"), 1.0, -1.0, float("inf"), -float("inf"), float("nan")])
ALSO = torch.tensor([1.0, float("nan"), 2.0, 1.0, -float("inf"), float("nan")])
I16 = torch.tensor([-5, 0, 7], dtype=torch.int16)

test_ops = suite(
    __file__,
    [
        case("aten.lt.Tensor", lambda x, y: x < y, f32(3, 4), i64(4), dynamic=True),
        case("aten.lt.Scalar", lambda x: x < 2.5, i64(3, 4)),
        case("aten.le.Tensor", lambda x, y: x <= y, boolean(3, 4), boolean(4)),
        case("aten.gt.Tensor", lambda x, y: x > y, NAN, ALSO),
        case("aten.gt.Scalar", lambda x: x > 3, u8(4)),
        case("aten.ge.Scalar", lambda x: x >= 0.5, f16(4)),
        case("aten.eq.Tensor", lambda x, y: x == y, i64(9, high=-6), i32(9, high=-6)),
        case("aten.eq.Tensor", lambda x, y: x == y, boolean(9), boolean(9), id="bool"),
        case("aten.eq.Scalar", lambda x: x == False, boolean(9)),  # noqa: E712
        case("aten.eq.Scalar", lambda x: x == True, boolean(9), id="true"),  # noqa: E712
        case("aten.ne.Scalar", lambda x: x != 0, NAN),
        case("aten.ne.Scalar", lambda x: x != 1, NAN, id="one"),
        case("aten.ne.Tensor", lambda x, y: x != y, NAN, ALSO),
        case("aten.maximum.default", torch.maximum, NAN, ALSO),
        case("aten.maximum.default", torch.maximum, boolean(9), boolean(9), id="bool"),
        case("aten.maximum.default", torch.maximum, I16, I16.flip(0), id="i16"),
        case("aten.minimum.default", torch.minimum, i64(9), i64(9), dynamic=True),
        case("aten.min.other", torch.min, i64(9), i64()),
        case("aten.max.other", torch.max, i64(9), f32(9)),
        case("aten.fmax.default", torch.fmax, NAN, ALSO),
        case("aten.fmin.default", torch.fmin, i64(4), i64(4)),
        case("aten.clamp.default", lambda x: x.clamp(-1, 1), NAN),
        case("aten.clamp.default", lambda x: x.clamp(-1, 1), I16, id="i16"),
        case("aten.clamp.default", lambda x: x.clamp(-1.5, 2.5), i64(9), id="promotes"),
        case("aten.clamp.default", lambda x: x.clamp(max=1), NAN, id="max"),
        case(
            "aten.clamp.default", lambda x: x.clamp(1, x.shape[0]), i64(9), id="sym", dynamic=True
        ),
        case("aten.clamp_min.default", lambda x: x.clamp_min(0), NAN),
        case("aten.clamp_min.default", lambda x: x.clamp_min(1), NAN, id="one"),
        case("aten.clamp_max.default", lambda x: x.clamp_max(3), i64(9)),
        case("aten.clamp.Tensor", torch.clamp, f32(9), f32(9), f32(9)),
        case("aten.clamp_min.Tensor", torch.clamp_min, f32(9), f32(9)),
        case("aten.clamp.default", lambda x: x.clamp(-2, 3), u8(9), id="u8"),
        case("aten.clamp.default", lambda x: x.clamp(max=300), u8(9), id="u8 above"),
        case("aten.clamp_min.default", lambda x: x.clamp_min(-1), u8(9), id="u8"),
    ],
)
