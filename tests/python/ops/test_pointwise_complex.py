import torch

from tests.python.ops.harness import boolean, c64, case, f32, suite

Z = c64(3, 4)

test_ops = suite(
    __file__,
    [
        case("aten.add.Tensor", lambda x, y: x + y, Z, f32(4)),
        case("aten.sub.Tensor", lambda x, y: x - y, Z, c64(4)),
        case("aten.rsub.Scalar", lambda x: 2 - x, Z),
        case("aten.mul.Tensor", lambda x, y: x * y, Z, c64(4), dynamic=True),
        case("aten.mul.Tensor", lambda x, y: x * y, Z, f32(4), id="real"),
        case("aten.mul.Tensor", lambda x: x * (1 + 2j), f32(3), id="scalar"),
        case("aten.div.Tensor", lambda x, y: x / y, Z, c64(4)),
        case("aten.div.Tensor", lambda x: x / 2, Z, id="scalar"),
        case("aten.reciprocal.default", torch.reciprocal, Z),
        case("aten.neg.default", torch.neg, Z),
        case("aten.pow.Tensor_Scalar", lambda x: x**3, Z),
        case("aten.abs.default", torch.abs, Z),
        case("aten.sgn.default", torch.sgn, Z),
        case("aten.angle.default", torch.angle, Z),
        case("aten.exp.default", torch.exp, Z),
        case("aten.eq.Tensor", lambda x, y: x == y, Z, Z),
        case("aten.where.self", torch.where, boolean(4), Z, f32(3, 1)),
        case("aten.to.dtype", lambda x: x.to(torch.complex128), f32(3)),
        case("aten.log.default", torch.log, Z),
        case("aten.sqrt.default", torch.sqrt, Z),
        case("aten.ones_like.default", torch.ones_like, Z, dynamic=True),
        case("aten.zeros_like.default", lambda x: torch.zeros_like(x, dtype=torch.float32), Z),
        case("aten.full.default", lambda x: x + torch.full((4,), 1 + 2j), Z),
        case("aten.copy_.default", lambda x, y: (x + 1).copy_(y), Z, c64(4), dynamic=True),
        case("aten.copy_.default", lambda x, y: (x + 1).copy_(y), Z, f32(4), id="real"),
    ],
)
