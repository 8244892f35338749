import math
import operator
import re

import torch
from torch import Tensor
from torch._export.serde import serialize

from tests.python.onnx_runtime import ROOT
from tests.python.ops.harness import case, f32, i64, suite


def item(x: Tensor) -> int:
    """Return a number that is only known at run time."""
    n = x.item()
    torch._check(n >= 1)
    torch._check(n <= 1000)
    return n


POSITIVE = i64(low=1)
HAND_WRITTEN = ROOT / "tests/files/overloads/numbers.txt"

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
        case("_operator.and_", lambda x: x * (item(x) & 6), POSITIVE),
        case("_operator.or_", lambda x: x * (item(x) | 6), POSITIVE),
        case("_operator.lshift", lambda x: x * (item(x) << 2), POSITIVE),
        case("_operator.rshift", lambda x: x * (item(x) >> 1), POSITIVE),
        *(
            case(
                f"_operator.{name}",
                lambda x, compare=compare: x * torch.sym_ite(compare(item(x), 5), 1, 2),
                POSITIVE,
            )
            for name, compare in (
                ("eq", operator.eq),
                ("ne", operator.ne),
                ("lt", operator.lt),
                ("gt", operator.gt),
            )
        ),
        case(
            "torch.sym_not",
            lambda x: x * torch.sym_ite(torch.sym_not(item(x) > 5), 1, 2),
            POSITIVE,
        ),
        case("torch.sym_ite", lambda x: x * torch.sym_ite(item(x) > 5, 3, 2), POSITIVE),
        case("aten.sym_numel.default", lambda x: x * x.numel(), f32(3, 4), dynamic=True),
        case("aten.sym_size.int", lambda x: x.reshape(-1) * x.shape[1], f32(3, 4), dynamic=True),
        case("aten.full.default", lambda x: torch.full((item(x),), 2.0), POSITIVE),
        case("aten.arange.default", lambda x: torch.arange(item(x)), POSITIVE),
    ],
)


# This PyTorch has no names for them in a saved program (`torch.export.save`); other writers do.
UNSAVED = {
    "_operator.abs",
    "_operator.not_",
    "_operator.xor",
    "builtins.abs",
    "builtins.round",
    "torch.sym_sqrt",
    "torch.sym_sum",
    *(f"math.{name}" for name in ("acos", "asin", "atan", "ceil", "cos", "cosh", "exp", "floor")),
    *(f"math.{name}" for name in ("log", "log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh")),
    *(f"torch._sym_{name}" for name in ("acos", "asin", "atan", "cos", "cosh", "exp", "log")),
    *(f"torch._sym_{name}" for name in ("log2", "sin", "sinh", "tan", "tanh")),
}


def test_what_is_written_by_hand_is_not_saved():
    saved = {f"{op.__module__}.{op.__name__}" for op in serialize._SYM_OPS}
    written = re.findall(r"^=== ([\w.]+)", HAND_WRITTEN.read_text(), re.MULTILINE)
    numbers = {name for name in written if not name.startswith(("aten.", "prims."))}
    assert numbers - saved == UNSAVED
