import torch

from tests.python.ops.harness import case, f32, f64, i64, suite

INF = float("inf")
GAMMA = torch.tensor([-4.5, -2.3, -1.0, -0.7, 0.0, 1e-3, 0.3, 0.5, 1.0, 1.5, 2.0, 10.0, 170.0, INF])
UNIT = torch.tensor([-1.0, -0.999999, -0.9, -0.1, 0.0, 1e-4, 0.5, 0.99, 1.0])
WIDE = torch.tensor([-30.0, -8.0, -3.0, -0.5, 0.0, 0.5, 3.0, 8.0, 30.0])
PAIR = torch.tensor([-INF, -INF, 1.0, INF, 3.0]), torch.tensor([-INF, 2.0, -INF, 1.0, 4.0])
ZEROS = torch.tensor([0.0, 0.0, 0.0, 1.0]), torch.tensor([0.0, INF, float("nan"), 2.0])
CYLINDER = [
    *("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai"),
    *("modified_bessel_k0", "modified_bessel_k1"),
    *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
]
CYLINDER_POINTS = torch.tensor(
    [
        *(-INF, -10.0, -8.5, -6.0, -3.0, -0.5, -0.0, 0.0, 1e-30, 0.3, 1.0, 1.9, 2.0, 2.1, 4.0),
        *(7.9, 8.0, 8.1, 30.0, 120.0, INF, float("nan")),
    ]
)
INCOMPLETE = (
    torch.tensor([0.0, 0.5, 1.0, 3.0, 40.0, 1000.0, INF, -1.0, float("nan")])[:, None],
    torch.tensor([0.0, 0.2, 1.0, 3.5, 41.0, 990.0, 1100.0, INF, -1.0, float("nan")]),
)
PARTS = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.7, 3e38, 1e-45, 1e-39, INF, -INF, float("nan"), 5.0])
FACTORS = torch.tensor([0, 0, 12, -12, 100, 21, 7]), torch.tensor([0, 5, 18, 18, 3, -14, 7])

test_ops = suite(
    __file__,
    [
        case("aten.erfc.default", torch.erfc, f32(9)),
        case("aten.erfinv.default", torch.erfinv, UNIT),
        case("aten.special_erfcx.default", torch.special.erfcx, f32(9, low=-3.0, high=30.0)),
        case("aten.special_ndtr.default", torch.special.ndtr, f32(9)),
        case("aten.special_ndtri.default", torch.special.ndtri, UNIT.abs()),
        case("aten.special_log_ndtr.default", torch.special.log_ndtr, WIDE),
        case("aten.logit.default", torch.logit, f32(9, low=0.01, high=0.99)),
        case("aten.logit.default", lambda x: torch.logit(x, 0.1), UNIT.abs(), id="eps"),
        case("aten.sinc.default", torch.sinc, torch.tensor([0.0, 0.5, -1.5, 1.0])),
        case("aten.logaddexp.default", torch.logaddexp, *PAIR),
        case("aten.logaddexp.default", torch.logaddexp, f64(9), f64(9), id="f64"),
        case("aten.logaddexp2.default", torch.logaddexp2, f32(9), f32(3, 1)),
        case("aten.xlogy.Tensor", torch.xlogy, *ZEROS),
        case("aten.xlogy.Scalar_Self", lambda x: torch.xlogy(2, x), f32(9, low=0.1)),
        case("aten.special_xlog1py.default", torch.special.xlog1py, *ZEROS),
        case("aten.special_entr.default", torch.special.entr, UNIT),
        case("aten.lgamma.default", torch.lgamma, GAMMA),
        case("aten.digamma.default", torch.digamma, GAMMA),
        case("aten.mvlgamma.default", lambda x: torch.mvlgamma(x, 3), f32(9, low=2.0, high=9.0)),
        case("aten.polygamma.default", lambda x: torch.polygamma(0, x), f32(9, low=0.1)),
        case("aten.polygamma.default", lambda x: torch.polygamma(1, x), f32(9, low=0.1, high=20.0)),
        case("aten.polygamma.default", lambda x: torch.polygamma(4, x), f32(9, low=0.3, high=9.0)),
        case(
            "aten.special_zeta.default",
            torch.special.zeta,
            f32(9, low=1.5, high=8.0),
            f32(9, low=0.5),
        ),
        case("aten.i0.default", torch.i0, f32(9, low=-20.0, high=80.0)),
        case("aten.i0.default", torch.i0, f64(9, low=-600.0, high=600.0), id="f64"),
        case("aten.special_i0e.default", torch.special.i0e, f32(9, low=-200.0, high=200.0)),
        case("aten.special_i1e.default", torch.special.i1e, f32(9, low=-200.0, high=200.0)),
        case("aten.special_i1e.default", torch.special.i1e, f64(9, low=-9.0, high=200.0), id="f64"),
        case("aten.special_i1.default", torch.special.i1, f32(9, low=-20.0, high=20.0)),
        case("aten.logit.default", lambda x: torch.logit(x, 0.7), UNIT.abs(), id="crossed"),
        *(
            case(f"aten.special_{name}.default", getattr(torch.special, name), x, id=id)
            for name in CYLINDER
            for x, id in ((CYLINDER_POINTS, ""), (CYLINDER_POINTS.double(), "f64"))
        ),
        case("aten.special_bessel_j0.default", torch.special.bessel_j0, i64(9), id="integers"),
        case("aten.igamma.default", torch.igamma, *INCOMPLETE),
        case("aten.igammac.default", torch.igammac, *INCOMPLETE),
        case(
            "aten.igamma.default",
            torch.igamma,
            f64(9, low=0.1, high=9),
            f64(9, low=0.1, high=9),
            id="f64",
        ),
        case(
            "aten.igammac.default",
            torch.igammac,
            f64(9, low=0.1, high=9),
            f64(3, 1, low=0.1, high=9),
            id="f64",
        ),
        case("aten.frexp.Tensor", torch.frexp, PARTS),
        case("aten.frexp.Tensor", torch.frexp, PARTS.double() * 1e-270, id="f64"),
        case("aten.frexp.Tensor", torch.frexp, PARTS.half(), id="f16"),
        case("aten.nextafter.default", torch.nextafter, PARTS, PARTS.flip(0)),
        case(
            "aten.nextafter.default",
            torch.nextafter,
            PARTS.double(),
            PARTS.double().flip(0),
            id="f64",
        ),
        case("aten.gcd.default", torch.gcd, i64(4, 1, high=60), i64(9, high=60)),
        case("aten.gcd.default", torch.gcd, *(x.int() for x in FACTORS), id="i32"),
        case("aten.lcm.default", torch.lcm, *FACTORS),
        case("aten.lcm.default", torch.lcm, *(x.to(torch.int8) for x in FACTORS), id="i8"),
        case(
            "aten.polygamma.default",
            lambda x: torch.polygamma(1, x),
            torch.tensor([float("inf"), float("-inf"), float("nan"), 1e30]),
            id="ends",
        ),
        case(
            "aten.special_airy_ai.default",
            torch.special.airy_ai,
            torch.tensor([-1e30, -1e26, 1e30]),
            id="without a phase",
        ),
    ],
)
