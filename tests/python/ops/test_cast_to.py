import torch

from tests.python.ops.harness import boolean, case, f32, i64, suite

FLOATS = torch.tensor([0.0, -0.0, 0.5, -1.7, 2.9, float("nan"), float("inf")])

test_ops = suite(
    __file__,
    [
        case("aten.to.dtype", lambda x: x.to(torch.bool), FLOATS),
        case("aten.to.dtype", lambda x: x[:5].to(torch.int64), FLOATS, id="int"),
        case("aten.to.dtype", lambda x: x.to(torch.int8), i64(9, low=-999, high=999), id="wraps"),
        case("aten.to.dtype", lambda x: x.half(), boolean(9), id="half", dynamic=True),
        case("aten.to.dtype", lambda x: x.bfloat16(), f32(9), id="bf16"),
        case(
            "aten.to.dtype_layout",
            lambda x: x.to(torch.device("cpu")) * 2,
            f32(9),
        ),
        case("aten.to.other", lambda x, y: torch.ops.aten.to.other(x, y), f32(9), i64(9)),
        case("aten.type_as.default", lambda x, y: x.type_as(y), f32(9), i64(9)),
        case(
            "aten._to_copy.default",
            lambda x: torch.ops.aten._to_copy(x, dtype=torch.float16),
            i64(9),
        ),
    ],
)
