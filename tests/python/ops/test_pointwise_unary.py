import torch

from tests.python.ops.harness import boolean, case, f16, f32, f64, i64, suite, u8

EDGES = torch.tensor([-0.0, 0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -7.3, float("inf"), -float("inf")])
SMALL = torch.tensor([1e-8, -1e-8, 1e-3, 5.0, -5.0, 50.0, -float("inf")])
ENDS = (-float("inf"), -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 1e200, float("inf"), float("nan"))
SIGNED = torch.tensor([-0.0, 0.0, 1.0, -1.0])
WIDE = ("tan", "sinh", "cosh", "atan", "asinh", "erf")
UNIT = ("asin", "acos", "atanh")
HIGH = ("log", "log2", "log10", "rsqrt", "sqrt", "log1p", "reciprocal")

test_ops = suite(
    __file__,
    [
        *(case(f"aten.{op}.default", getattr(torch, op), f32(9)) for op in (*WIDE, "sin", "cos")),
        *(case(f"aten.{op}.default", getattr(torch, op), f64(9), id="f64") for op in WIDE),
        *(
            case(f"aten.{op}.default", getattr(torch, op), f32(9, low=-0.9, high=0.9))
            for op in UNIT
        ),
        *(case(f"aten.{op}.default", getattr(torch, op), f32(9, low=0.1)) for op in HIGH),
        *(case(f"aten.{op}.default", getattr(torch, op), i64(9, low=1), id="int") for op in HIGH),
        case("aten.acosh.default", torch.acosh, f32(9, low=1.0)),
        case("aten.sin.default", torch.sin, i64(9), id="int", dynamic=True),
        case("aten.sin.default", torch.sin, f32(9).draw(torch.Generator()).bfloat16(), id="bf16"),
        case("aten.abs.default", torch.abs, u8(9), id="u8"),
        case("aten.sign.default", torch.sign, i64(9)),
        case("aten.sign.default", torch.sign, boolean(9), id="bool"),
        case("aten.sgn.default", torch.sgn, f32(9)),
        case("aten.exp2.default", torch.exp2, f32(9)),
        case("aten.expm1.default", torch.expm1, SMALL),
        case("aten.floor.default", torch.floor, EDGES),
        case("aten.ceil.default", torch.ceil, EDGES),
        case("aten.round.default", torch.round, EDGES),
        case("aten.round.default", torch.round, i64(9), id="int"),
        case("aten.round.decimals", lambda x: torch.round(x, decimals=2), f32(9)),
        case(
            "aten.round.decimals", lambda x: torch.round(x, decimals=-1), f32(9, high=99.0), id="n"
        ),
        case("aten.trunc.default", torch.trunc, EDGES),
        case("aten.frac.default", torch.frac, EDGES),
        case("aten.ceil.default", torch.ceil, f16(9), id="f16"),
        case("aten.atan2.default", torch.atan2, f32(20), f32(3, 20)),
        case(
            "aten.atan2.default",
            torch.atan2,
            torch.tensor([0.0, 0, 1, -1, 0]),
            torch.tensor([0.0, -1, 0, 0, 2]),
        ),
        case("aten.angle.default", torch.angle, EDGES),
        case("aten.atan2.default", torch.atan2, SIGNED, SIGNED[:, None], id="signed zeros"),
        # ONNX Runtime has no inverse functions of float64.
        *(
            case(
                f"aten.{name}.default",
                getattr(torch, name),
                f64(40, low=low, high=high),
                id=f"double-{high}",
            )
            for name, low, high in (
                ("acos", -1, 1),
                ("asin", -1, 1),
                ("asin", -1e-5, 1e-5),
                ("atan", -9, 9),
                ("atan", -1e-5, 1e-5),
                ("atanh", -1, 1),
                ("atanh", -1e-5, 1e-5),
                ("asinh", -9, 9),
                ("asinh", -1e-5, 1e-5),
                ("acosh", 1, 9),
            )
        ),
        *(
            case(
                f"aten.{name}.default",
                lambda x, name=name: getattr(torch, name)(
                    x * torch.tensor(ENDS, dtype=torch.float64)
                ),
                torch.ones(len(ENDS), dtype=torch.float64),
                id="ends",
            )
            for name in ("acos", "asin", "atan", "atanh", "asinh", "acosh")
        ),
    ],
)
