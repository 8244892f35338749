import torch

from tests.python.ops.harness import c64, case, f32, i32, suite

test_ops = suite(
    __file__,
    [
        case("aten.view_as_complex.default", lambda x: torch.view_as_complex(x) * 2, f32(3, 2)),
        case("aten.view_as_real.default", lambda x: torch.view_as_real(x), c64(3, 4)),
        case("aten.complex.default", torch.complex, f32(3, 4), f32(3, 4), dynamic=True),
        case("aten.complex.default", torch.complex, f32(3, 1), f32(4), id="broadcast"),
        case("aten.polar.default", torch.polar, f32(3), f32(3)),
        case("aten.real.default", lambda x: x.real, c64(3, 4)),
        case("aten.imag.default", lambda x: x.imag, c64(3, 4), dynamic=True),
        case("aten._conj.default", lambda x: x.conj() * x, c64(3)),
        case("aten.sum.default", torch.sum, c64(3, 4)),
        case("aten.sum.dim_IntList", lambda x: x.sum(-1, keepdim=True), c64(3, 4)),
        case("aten.mean.dim", lambda x: x.mean((0, 1)), c64(3, 4, 2)),
        case("aten.cumsum.default", lambda x: x.cumsum(-1), c64(3, 4)),
        case("aten.linalg_vector_norm.default", lambda x: torch.linalg.vector_norm(x), c64(3, 4)),
        case("aten.matmul.default", torch.matmul, c64(2, 3, 4), c64(4, 5)),
        case("aten.mm.default", torch.mm, c64(3, 4), c64(4, 5), dynamic=True),
        case(
            "aten.logspace.default",
            lambda x: x * torch.logspace(1 - 1j, 2 + 3j, 5, dtype=torch.complex64),
            c64(5),
            tolerance=10,
        ),
        case(
            "aten.logspace.Tensor_Tensor",
            lambda a, b: torch.logspace(a, b, 5, 2.0, dtype=torch.complex64),
            c64(),
            c64(),
            tolerance=10,
        ),
        case(
            "aten.logcumsumexp.default",
            lambda x: x.logcumsumexp(0),
            c64(5, 3),
            dynamic=True,
            tolerance=10,
        ),
        case(
            "aten.logcumsumexp.default",
            lambda x: (x * torch.tensor([1e-3, 200, 1])).logcumsumexp(1),
            c64(5, 3),
            id="large",
            tolerance=40,
        ),
        case("aten.renorm.default", lambda x: x.renorm(2, 1, 1.0), c64(4, 3), dynamic=True),
        *(
            case(
                "aten.scatter.value_reduce",
                lambda x, reduce=reduce: x.scatter(
                    0, torch.tensor([[0, 1, 0], [2, 1, 0]]), 2 - 1j, reduce=reduce
                ),
                c64(4, 3),
                id=reduce,
            )
            for reduce in ("add", "multiply")
        ),
        case("aten.dropout.default", lambda x: torch.ops.aten.dropout(x, 0.5, False) * 2, c64(4)),
        case("aten.logsumexp.default", lambda x: x.logsumexp(1), c64(4, 3), tolerance=10),
        case("aten.ldexp.Tensor", torch.ldexp, c64(4, 3), c64(3), tolerance=10),
        case("aten.linear.default", torch.nn.functional.linear, c64(2, 4, 3), c64(5, 3), c64(5)),
        case("aten.ldexp.Tensor", torch.ldexp, c64(4), i32(4), id="of integers"),
        case(
            "aten.logsumexp.default",
            lambda x: x.logsumexp(0),
            torch.tensor(3.0 - 4.0j),
            id="scalar",
        ),
        case(
            "aten._chunk_cat.default",
            lambda x, y: torch.ops.aten._chunk_cat([x, y], 0, 2),
            c64(3, 2),
            c64(4, 2),
        ),
        case(
            "aten.to.dtype",
            lambda x: x.to(torch.complex64),
            torch.tensor([float("inf"), float("nan"), -0.0]),
            id="of infinities",
        ),
    ],
)
