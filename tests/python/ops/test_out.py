import torch
from torch import Tensor

from tests.python.ops.harness import boolean, case, f16, f32, f64, i64, suite

ATEN = torch.ops.aten
DYNAMIC = {"dynamic": True}


def row(x: Tensor, y: Tensor) -> Tensor:
    """Write a product into a row of another tensor."""
    z = torch.zeros(2, 4)
    torch.mul(x, y, out=z[0])
    return z


def twice(x: Tensor) -> Tensor:
    """Write to a tensor that is read."""
    y = x.clone()
    torch.exp(y, out=y)
    return torch.add(y, x, alpha=2, out=y) * y


def both(x: Tensor) -> tuple[Tensor, Tensor]:
    """Write two results."""
    values, indices = torch.empty(3), torch.empty(3, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    return values + 1, indices


test_ops = suite(
    __file__,
    [
        case("aten.mul.out", row, f32(4), f32(4)),
        case("aten.exp.out", twice, f32(3, 4), **DYNAMIC),
        case("aten.add.out", lambda x, y: torch.add(x, y, out=y.clone()), f32(4), f64(4)),
        case("aten.add.out", lambda x, y: torch.add(x, y, out=x.clone()), f16(3, 4), f32(4)),
        case("aten.max.dim_max", both, f32(3, 4)),
        case(
            "aten.mm.out",
            lambda x, y, z: (torch.mm(x, y, out=z), z * 2),
            f32(3, 4),
            f32(4, 5),
            f32(3, 5),
        ),
        case(
            "aten.sum.IntList_out",
            lambda x: torch.sum(x, 1, out=x.new_empty(3)),
            f32(3, 4),
        ),
        case(
            "aten.cat.out",
            lambda x, y: torch.cat([x, y], 1, out=x.new_empty(3, 6)),
            f32(3, 4),
            f32(3, 2),
        ),
        case("aten.atan2.out", lambda x, y: torch.atan2(x, y, out=x.clone()), f32(3, 4), f32(3, 4)),
        case(
            "aten.gt.Scalar_out", lambda x, y: torch.gt(x, 0.5, out=y.clone()), f32(3), boolean(3)
        ),
        case("aten.zeros.out", lambda x: (torch.zeros(3, 4, out=x), x + 1), f32(3, 4)),
        case("aten.arange.out", lambda x: torch.arange(6, out=x.clone()) + x, f32(6)),
        case(
            "aten.index_select.out",
            lambda x, i: torch.index_select(x, 0, i, out=x.new_empty(2, 4)),
            f32(3, 4),
            i64(2, low=0, high=3),
        ),
    ],
)
