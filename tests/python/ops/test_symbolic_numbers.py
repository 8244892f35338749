import math

import torch
from torch import Tensor

from tests.python.ops.harness import case, f32, i64, suite


def item(x: Tensor) -> int:
    """Return a number that is only known at run time."""
    n = x.item()
    torch._check(n >= 1)
    torch._check(n <= 1000)
    return n


POSITIVE = i64(low=1)

test_ops = suite(
    __file__,
    [
        case("aten.item.default", lambda x: x * x.item(), f32()),
        case(
            "_operator.mul",
            lambda x: torch.full((2,), x.shape[0] * x.shape[1]),
            f32(3, 4),
            dynamic=True,
        ),
        case("_operator.floordiv", lambda x: x * (x.shape[0] // 2), f32(5), dynamic=True),
        case("_operator.truediv", lambda x: x * (x.shape[0] / 7), f32(5), dynamic=True),
        case("_operator.mod", lambda x: x * (item(x) % 5), POSITIVE),
        case("_operator.add", lambda x: x + (item(x) + 2.5), POSITIVE),
        case("_operator.sub", lambda x: x + (3 - item(x)), POSITIVE),
        case("_operator.neg", lambda x: x * -item(x), POSITIVE),
        case("_operator.floordiv", lambda x: x * (-item(x) // 3), POSITIVE, id="negative"),
        case("_operator.pow", lambda x: x * (item(x) ** 2), POSITIVE),
        case("torch.sym_float", lambda x: x * torch.sym_float(x.shape[0]), f32(5), dynamic=True),
        case("torch.sym_max", lambda x: x * torch.sym_max(x.shape[0], 4), f32(5), dynamic=True),
        case("torch.sym_min", lambda x: x * torch.sym_min(item(x), 4), POSITIVE),
        case("math.trunc", lambda x: x * math.trunc(x.shape[0] / 2), f32(5), dynamic=True),
        case("torch._sym_sqrt", lambda x: x * torch.sym_sqrt(x.shape[0]), f32(5), dynamic=True),
        case("aten.sym_size.int", lambda x: x.reshape(-1) * x.shape[1], f32(3, 4), dynamic=True),
        case("aten.full.default", lambda x: torch.full((item(x),), 2.0), POSITIVE),
        case("aten.arange.default", lambda x: torch.arange(item(x)), POSITIVE),
    ],
)
