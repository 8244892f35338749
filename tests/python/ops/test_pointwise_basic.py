import torch

from tests.python.ops.harness import case, f32, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.add.Tensor", lambda x, y: torch.add(x, y, alpha=2), f32(3, 4), f32(4)),
        case("aten.add.Tensor", lambda x, y: x + y, i64(3, 1), i64(4), id="int"),
        case("aten.add.Tensor", lambda x, y: x + y, f32(3, 4), i64(3, 4), id="promotes"),
        case("aten.add.Tensor", lambda x: x + 1.5, i64(3, 4), id="scalar", dynamic=True),
        case("aten.mul.Tensor", lambda x, y: x * y, f32(3, 4), f32(3, 4), dynamic=True),
        case("aten.sub.Tensor", lambda x, y: torch.sub(x, y, alpha=3), i64(3, 4), i64(4)),
        case("aten.div.Tensor", lambda x, y: x / y, i64(3, 4), i64(4, low=1)),
        case("aten.relu.default", torch.relu, f32(2, 3), dynamic=True),
        case("aten.sigmoid.default", torch.sigmoid, f32(2, 3)),
        case("aten.tanh.default", torch.tanh, f32(2, 3)),
        case("aten.exp.default", torch.exp, i64(2, 3), id="int"),
        case("aten.sqrt.default", torch.sqrt, f32(2, 3, low=0.0)),
        case("aten.abs.default", torch.abs, i64(2, 3)),
        case("aten.neg.default", torch.neg, f32(2, 3)),
        case("aten.relu_.default", lambda x: (x + 1).relu_(), f32(2, 3)),
    ],
)
