import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f16, f32, f64, i32, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.linear.default", F.linear, f32(3, 4), f32(5, 4), f32(5), dynamic=True),
        case("aten.linear.default", F.linear, f32(3, 4), f32(5, 4), id="no-bias"),
        case(
            "aten.linear.default",
            F.linear,
            f32(2, 3, 4),
            f32(5, 4),
            f32(5),
            id="batched",
            dynamic=True,
        ),
        case("aten.linear.default", F.linear, f32(4), f32(5, 4), f32(5), id="vector"),
        case("aten.linear.default", F.linear, f32(3, 4), f32(4), id="vector-weight"),
        case("aten.linear.default", F.linear, f16(3, 4), f16(5, 4), f16(5), id="half"),
        case("aten.linear.default", F.linear, f64(3, 4), f64(5, 4), f64(5), id="double"),
        case("aten.linear.default", F.linear, i64(3, 4), i64(5, 4), i64(5), id="int"),
        case(
            "aten._grouped_mm.default",
            lambda x, w, ends: torch._grouped_mm(x, w.mT, ends),
            f32(9, 4),
            f32(3, 8, 4),
            torch.tensor([2, 2, 9], dtype=torch.int32),
        ),
        case(
            "aten._grouped_mm.default",
            lambda x, w, ends: torch._grouped_mm(x, w.mT, ends),
            f32(9, 4),
            f32(3, 8, 4),
            torch.tensor([0, 9, 9], dtype=torch.int32),
            id="empty-ends",
        ),
        case(
            "aten._grouped_mm.default",
            lambda x, w: torch._grouped_mm(x, w),
            f32(2, 3, 4),
            f32(2, 4, 8),
            id="stacks",
        ),
        case("aten.matmul.default", torch.matmul, f32(3, 4), f32(4, 5), dynamic=True),
        case("aten.matmul.default", torch.matmul, f32(4), f32(4), id="1-1"),
        case("aten.matmul.default", torch.matmul, f32(4), f32(2, 4, 3), id="1-3", dynamic=True),
        case("aten.matmul.default", torch.matmul, f32(2, 3, 4), f32(4), id="3-1", dynamic=True),
        case("aten.matmul.default", torch.matmul, f32(5, 1, 3, 4), f32(2, 4, 3), id="4-3"),
        case("aten.matmul.default", torch.matmul, i64(3, 4), i64(4, 2), id="int"),
        case("aten.mm.default", torch.mm, f32(3, 4), f32(4, 5)),
        case(
            "aten.mm.default",
            lambda x, y: torch.mm(x.to(torch.int8), y.to(torch.int8)),
            i64(3, 4, low=-99, high=99),
            i64(4, 5, low=-99, high=99),
            id="int8",
        ),
        case("aten.bmm.default", torch.bmm, f32(2, 3, 4), f32(2, 4, 5), dynamic=True),
        case("aten.mv.default", torch.mv, f32(3, 4), f32(4)),
        case("aten.dot.default", torch.dot, f32(4), f32(4)),
        case("aten.vdot.default", torch.vdot, f32(4), f32(4)),
        case("aten.inner.default", torch.inner, f32(2, 3, 4), f32(5, 6, 4)),
        case("aten.inner.default", torch.inner, f32(2, 3, 4), f32(4), id="vector"),
        case("aten.inner.default", torch.inner, f32(2, 3, 4), f32(5, 4), id="matrix", dynamic=True),
        case("aten.inner.default", torch.inner, f32(2, 3), f32(), id="scalar"),
        case("aten.outer.default", torch.outer, f32(3), f32(4), dynamic=True),
        case("aten.ger.default", torch.ger, f32(3), i64(4), id="promotes"),
        case(
            "aten.linalg_multi_dot.default",
            lambda a, b, c: torch.linalg.multi_dot([a, b, c]),
            f32(3),
            f32(3, 4),
            f32(4),
        ),
        case(
            "aten.chain_matmul.default",
            lambda a, b, c: torch.chain_matmul(a, b, c),
            f32(2, 3),
            f32(3, 4),
            f32(4, 5),
        ),
        case("aten.kron.default", torch.kron, f32(2, 3), f32(4, 5)),
        case("aten.kron.default", torch.kron, f32(3), f32(2, 4, 5), id="ranks", dynamic=True),
        case(
            "aten.einsum.default", lambda x: torch.einsum("ij->i", x), i32(3, 4), id="of integers"
        ),
        *(
            case(
                "aten._trilinear.default",
                lambda a, b, c, axes=axes: torch.ops.aten._trilinear(a, b, c, *axes),
                *shapes,
                id=name,
            )
            for name, axes, shapes in (
                ("matrices", ([1, 3], [0], [1, 2], [2, 3]), (f32(5, 3), f32(2, 3, 4), f32(5, 4))),
                ("sums", ([], [0], [1], [0]), (f32(5, 3), f32(3), f32(5))),
            )
        ),
        case(
            "aten._weight_int8pack_mm.default",
            lambda x, weight, scale: torch._weight_int8pack_mm(x, weight, scale),
            f32(3, 8),
            torch.arange(-16, 16, dtype=torch.int8).reshape(4, 8),
            f32(4),
        ),
    ],
)
