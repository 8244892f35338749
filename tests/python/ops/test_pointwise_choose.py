import torch

from tests.python.ops.harness import boolean, case, f16, f32, i64, suite

NAN = torch.tensor([float("nan"), 1.0, -0.0, 0.0, float("inf"), -float("inf")])
ALSO = torch.tensor([float("nan"), 1.1, 2.0, 1.0, float("inf"), 3.0])

test_ops = suite(
    __file__,
    [
        case("aten.where.self", torch.where, boolean(3, 1), f32(3, 4), i64(4), dynamic=True),
        case("aten.where.self", torch.where, boolean(9), boolean(9), boolean(9), id="bool"),
        case("aten.where.ScalarOther", lambda c, x: torch.where(c, x, 1.5), boolean(9), f32(9)),
        case("aten.where.ScalarSelf", lambda c, x: torch.where(c, 1, x), boolean(9), i64(9)),
        case("aten.where.Scalar", lambda c: torch.where(c, 1.0, 0.0), boolean(9)),
        case("aten.masked_fill.Scalar", lambda x, m: x.masked_fill(m, -1e9), f32(3, 4), boolean(4)),
        case(
            "aten.masked_fill.Scalar",
            lambda x, m: x.masked_fill(m, 0),
            boolean(9),
            boolean(9),
            id="and",
        ),
        case(
            "aten.masked_fill.Scalar",
            lambda x, m: x.masked_fill(m, 1),
            boolean(9),
            boolean(9),
            id="or",
        ),
        case(
            "aten.masked_fill.Tensor",
            lambda x, m, v: x.masked_fill(m, v),
            f16(9),
            boolean(9),
            f32(),
        ),
        case("aten.isnan.default", torch.isnan, NAN),
        case("aten.isnan.default", torch.isnan, i64(9), id="int", dynamic=True),
        case("aten.isinf.default", torch.isinf, NAN),
        case("aten.isinf.default", torch.isinf, NAN.half(), id="18", options=("--opset", "18")),
        case("aten.isfinite.default", torch.isfinite, NAN),
        case("aten.isposinf.default", torch.isposinf, NAN),
        case("aten.isneginf.default", torch.isneginf, NAN),
        case("aten.isreal.default", torch.isreal, NAN),
        case("aten.nan_to_num.default", torch.nan_to_num, NAN),
        case(
            "aten.nan_to_num.default",
            lambda x: torch.nan_to_num(x, 1.0, posinf=7.0),
            NAN,
            id="posinf",
        ),
        case("aten.nan_to_num.default", torch.nan_to_num, i64(9), id="int"),
        case("aten.signbit.default", torch.signbit, NAN),
        case("aten.signbit.default", torch.signbit, i64(9), id="int"),
        case("aten.copysign.Tensor", torch.copysign, f32(6), NAN.nan_to_num(5.0)),
        case("aten.copysign.Scalar", lambda x: torch.copysign(x, -2.0), i64(9)),
        case("aten.heaviside.default", torch.heaviside, NAN.nan_to_num(5.0), f32(6)),
        case("aten.isclose.default", torch.isclose, NAN, ALSO),
        case(
            "aten.isclose.default",
            lambda x, y: torch.isclose(x, y, 0.2, 0.0, True),
            NAN,
            ALSO,
            id="nan",
        ),
    ],
)
