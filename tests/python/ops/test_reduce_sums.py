import torch

from tests.python.ops.harness import boolean, case, f32, f64, i32, i64, suite, u8

NAN, INF = float("nan"), float("inf")
EXTREME = torch.tensor(
    [[1.0, NAN, INF, NAN, -INF], [-INF, -INF, 2.0, INF, 0.0], [INF, -1.0, NAN, 3.0, -INF]]
)

test_ops = suite(
    __file__,
    [
        case("aten.sum.default", torch.sum, f32(3, 4), dynamic=True),
        case("aten.sum.default", torch.sum, f32(), id="scalar"),
        case("aten.sum.default", torch.sum, boolean(3, 4), id="bool"),
        case("aten.sum.default", lambda x: x.sum(dtype=torch.int8), i64(30), id="int8"),
        case("aten.sum.dim_IntList", lambda x: x.sum((0, -1)), f32(2, 3, 4), dynamic=True),
        case(
            "aten.sum.dim_IntList",
            lambda x: x.sum(1, keepdim=True, dtype=torch.float64),
            i32(2, 3, 4),
            id="dtype",
        ),
        case("aten.sum.dim_IntList", lambda x: x.sum(-1), f32(), id="scalar"),
        case("aten.mean.default", torch.mean, f64(3, 4)),
        case("aten.mean.dim", lambda x: x.mean((-1, 1), keepdim=True), f32(2, 3, 4), dynamic=True),
        case("aten.mean.dim", lambda x: x.mean(0, dtype=torch.float32), i64(2, 3), id="int"),
        case("aten.mean.default", torch.mean, f32(0), id="empty"),
        case("aten.prod.default", torch.prod, i32(3, 4, low=1, high=3)),
        case("aten.prod.dim_int", lambda x: x.prod(1), f32(3, 4), dynamic=True),
        case("aten.prod.default", torch.prod, boolean(3), id="bool"),
        case("aten.amax.default", lambda x: x.amax((0, 2)), f32(2, 3, 4), dynamic=True),
        case("aten.amax.default", lambda x: x.amax(), i64(2, 3), id="all"),
        case("aten.amin.default", lambda x: x.amin(-1, keepdim=True), boolean(2, 3), id="bool"),
        case(
            "aten.amin.default",
            lambda x: x.amin(-1),
            boolean(2, 3),
            id="bool-18",
            options=("--opset", "18"),
        ),
        case("aten.amin.default", lambda x: x.to(torch.int16).amin(-1), i64(2, 3), id="int16"),
        case("aten.max.default", torch.max, u8(3, 4)),
        case("aten.min.default", torch.min, f32(3, 4)),
        case("aten.max.dim", lambda x: torch.max(x, 1), f32(3, 4), dynamic=True),
        case("aten.min.dim", lambda x: torch.min(x, 0, keepdim=True), i64(3, 4)),
        case("aten.max.dim", lambda x: torch.max(x, 0), f32(), id="scalar"),
        case("aten.max.dim", lambda x: torch.max(x, 1), EXTREME, dynamic=True, id="nan"),
        case("aten.min.dim", lambda x: torch.min(x, 1), EXTREME, id="nan"),
        case("aten.amax.default", lambda x: x.amax(1, keepdim=True), EXTREME, id="nan"),
        case("aten.aminmax.default", lambda x: x.aminmax(), EXTREME, id="nan"),
        case("aten.cummax.default", lambda x: x.cummax(1), EXTREME, id="nan"),
        case("aten.cummin.default", lambda x: x.cummin(0), EXTREME, id="nan"),
        case("aten.logsumexp.default", lambda x: x.logsumexp(1), EXTREME, id="nan"),
        case("aten.linalg_vector_norm.default", lambda x: x.norm(INF, 1), EXTREME, id="nan"),
        case(
            "aten.cumprod.default",
            lambda x: x.cumprod(0),
            torch.tensor([1e30, 1e30, 1e-30]),
            id="wide",
        ),
        case("aten.max.dim", lambda x: torch.max(x, 0), boolean(3, 4), id="bool"),
        case("aten.aminmax.default", lambda x: torch.aminmax(x), f32(3, 4)),
        case(
            "aten.aminmax.default",
            lambda x: torch.aminmax(x, dim=1, keepdim=True),
            f32(3, 4),
            id="dim",
        ),
        case("aten.any.default", lambda x: (x > 1.9).any(), f32(3, 4), dynamic=True),
        case("aten.any.dim", lambda x: x.any(1), i64(3, 4, low=0, high=2), id="int"),
        case("aten.any.dims", lambda x: x.any((0, 2), keepdim=True), boolean(3, 1, 4)),
        case("aten.any.dim", lambda x: x.any(0), u8(3, 4, high=2), id="uint8"),
        case("aten.any.dim", lambda x: x.any(0), boolean(3, 4), id="18", options=("--opset", "18")),
        case("aten.all.default", torch.all, boolean(3, 4)),
        case("aten.all.dim", lambda x: x.all(-1), f32(3, 4), dynamic=True),
        case("aten.all.dims", lambda x: x.all((0, 1)), boolean(3, 1)),
        case(
            "aten.count_nonzero.default", lambda x: torch.count_nonzero(x), i64(3, 4, low=0, high=2)
        ),
        case(
            "aten.count_nonzero.dim_IntList",
            lambda x: torch.count_nonzero(x, (0, 1)),
            i64(3, 4, 2, low=0, high=2),
        ),
        case("aten.nansum.default", lambda x: (x.log()).nansum(1), f32(3, 4)),
        case("aten.nanmean.default", lambda x: (x.log()).nanmean(1), f32(3, 9)),
        case("aten.trapezoid.dx", lambda y: torch.trapezoid(y, dx=0.5), f32(3, 4)),
        case("aten.trapezoid.x", lambda y, x: torch.trapezoid(y, x, dim=0), f32(3, 4), f32(3)),
        case(
            "aten.cumulative_trapezoid.x",
            lambda y, x: torch.cumulative_trapezoid(y, x),
            f32(3, 4),
            f32(3, 4),
        ),
        case(
            "aten.sum_to_size.default",
            lambda x: x.sum_to_size(3, 1, 5),
            f32(2, 3, 4, 5),
            dynamic=({0: torch.export.Dim.AUTO},),
        ),
        case("aten.sum_to_size.default", lambda x: x.sum_to_size(1), f32(2, 3), id="one"),
        case("aten.sum_to_size.default", lambda x: x.sum_to_size(3), boolean(2, 3), id="of bool"),
        case("aten._aminmax.default", lambda x: torch.ops.aten._aminmax(x), f32(3, 4)),
        case("aten._aminmax.dim", lambda x: torch.ops.aten._aminmax(x, 1, True), f32(3, 4)),
    ],
)
