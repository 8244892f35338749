import torch

from tests.python.ops.harness import boolean, case, f16, f32, f64, i32, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.var.dim", lambda x: x.var(1), f32(3, 4), id="unbiased", dynamic=True),
        case(
            "aten.var.correction",
            lambda x: x.var((0, 1), correction=0, keepdim=True),
            f64(3, 4),
            id="all",
        ),
        case("aten.var.correction", lambda x: x.var(0, correction=2.5), f32(5, 4), id="fraction"),
        case("aten.var.dim", lambda x: x.var(0), f32(1, 4), id="one"),
        case("aten.var.default", lambda x: torch.ops.aten.var.default(x), f32(3, 4)),
        case("aten.var.dim", lambda x: torch.ops.aten.var.dim(x, [1], False), f32(3, 4)),
        case("aten.std.dim", lambda x: x.std(-1), f32(3, 4), dynamic=True),
        case("aten.std.correction", lambda x: x.std(-1, correction=0), f32(3, 4), id="biased"),
        case("aten.var_mean.dim", lambda x: torch.var_mean(x, 1), f32(3, 4), dynamic=True),
        case("aten.std_mean.dim", lambda x: torch.std_mean(x, (0, 1)), f32(3, 4)),
        case("aten.logsumexp.default", lambda x: x.logsumexp(1), f32(3, 4), dynamic=True),
        case(
            "aten.logsumexp.default",
            lambda x: (x * 100).logsumexp((0, 1), keepdim=True),
            i64(3, 4),
            id="large",
        ),
        case(
            "aten.norm.ScalarOpt_dim",
            lambda x: torch.ops.aten.norm.ScalarOpt_dim(x, 3, [1]),
            f32(3, 4),
        ),
        case("aten.norm.Scalar", lambda x: torch.ops.aten.norm.Scalar(x, 2), f32(3, 4)),
        case(
            "aten.linalg_vector_norm.default",
            lambda x: torch.linalg.vector_norm(x, dim=1),
            f32(3, 4),
            dynamic=True,
        ),
        case(
            "aten.linalg_vector_norm.default",
            lambda x: torch.linalg.vector_norm(x, 1, dtype=torch.float64),
            f32(3, 4),
            id="one",
        ),
        case(
            "aten.linalg_vector_norm.default",
            lambda x: torch.linalg.vector_norm(x, 0),
            f32(3, 4),
            id="zero",
        ),
        case(
            "aten.linalg_vector_norm.default",
            lambda x: torch.linalg.vector_norm(x, float("-inf"), dim=(0, 1)),
            f32(3, 4, 2),
            id="inf",
        ),
        case("aten.linalg_norm.default", lambda x: torch.linalg.norm(x), f32(3, 4)),
        case("aten.linalg_norm.default", lambda x: torch.linalg.norm(x, 1), f32(3, 4), id="one"),
        case(
            "aten.linalg_norm.default",
            lambda x: torch.linalg.norm(x, float("inf"), dim=(0, 2), keepdim=True),
            f32(3, 2, 4),
            id="inf",
        ),
        case("aten.linalg_norm.ord_str", lambda x: torch.linalg.norm(x, "fro"), f32(3, 4)),
        case(
            "aten.linalg_matrix_norm.default",
            lambda x: torch.linalg.matrix_norm(x, -1),
            f32(2, 3, 4),
        ),
        case(
            "aten.linalg_matrix_norm.str_ord", lambda x: torch.linalg.matrix_norm(x), f32(2, 3, 4)
        ),
        case("aten.dist.default", lambda x, y: torch.dist(x, y, 1), f32(3, 4), f32(4)),
        case("aten.softmax.int", lambda x: x.softmax(1), f32(3, 4, 2), dynamic=True),
        case(
            "aten.softmax.int", lambda x: x.softmax(-1, dtype=torch.float32), f16(3, 4), id="dtype"
        ),
        case("aten.softmax.int", lambda x: x.softmax(0), f32(), id="scalar"),
        case("aten.log_softmax.int", lambda x: x.log_softmax(-1), f32(3, 4), dynamic=True),
        case(
            "aten.log_softmax.int",
            lambda x: x.log_softmax(1),
            torch.tensor([[1.0, torch.nan], [torch.inf, 2.0], [3.0, -4.0]], dtype=torch.float64),
            id="double",
        ),
        case("aten.cumsum.default", lambda x: x.cumsum(1), f32(3, 4), dynamic=True),
        case("aten.cumsum.default", lambda x: x.cumsum(0), boolean(3, 4), id="bool"),
        case("aten.cumsum.default", lambda x: x.cumsum(0), i32(3, 4), id="int32"),
        case("aten.cumsum.default", lambda x: x.cumsum(0), f32(), id="scalar"),
        case("aten.cumprod.default", lambda x: x.cumprod(1), f32(3, 4, 2), dynamic=True),
        case("aten.cumprod.default", lambda x: x.cumprod(0), i64(4, 2), id="int"),
        case("aten.cummax.default", lambda x: x.cummax(1), i64(3, 9), dynamic=True),
        case("aten.cummax.default", lambda x: x.cummax(1), f32(3, 70), id="long"),
        case("aten.cummin.default", lambda x: x.cummin(0), f32(5, 3)),
        case("aten.logcumsumexp.default", lambda x: x.logcumsumexp(-1), f32(2, 5)),
        case("aten.diff.default", lambda x: x.diff(n=2), f32(3, 6), dynamic=True),
        case(
            "aten.diff.default",
            lambda x, y: x.diff(dim=0, prepend=y, append=y),
            i64(3, 4),
            i64(1, 4),
            id="ends",
        ),
        case("aten.diff.default", lambda x: x.diff(), boolean(3, 4), id="bool"),
    ],
)
