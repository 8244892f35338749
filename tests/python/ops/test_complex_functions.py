"""Functions of complex numbers, element by element and along axes."""

from __future__ import annotations

import torch

from tests.python.ops.harness import boolean, c64, case, f32, suite

Z = c64(3, 4)
ATEN = torch.ops.aten
FUNCTIONS = [
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp2", "expm1", "log10"),
    *("log1p", "log2", "rsqrt", "sigmoid", "silu", "sin", "sinc", "sinh", "tan", "tanh"),
]
TESTS = ["isfinite", "isinf", "isnan", "logical_not"]
TRUTHS = ["logical_and", "logical_or", "logical_xor"]
# On axes and branch cuts, tiny and huge.
EDGES = torch.tensor([0, 1, -1, 1j, -1j, -2, 2, 2j, 1e-20, 1e30, -1e30j, 3 + 1e-6j])


def applied(name):
    """Return the function of one tensor."""
    return lambda x: getattr(ATEN, name).default(x)


test_ops = suite(
    __file__,
    [
        *(
            case(f"aten.{name}.default", applied(name), Z, dynamic=True, tolerance=4)
            for name in FUNCTIONS + TESTS
        ),
        *(
            case(f"aten.{name}.default", applied(name), EDGES, id="edges", tolerance=4)
            for name in ("abs", "acos", "acosh", "asin", "asinh", "log", "sqrt")
        ),
        *(case(f"aten.{name}.default", getattr(torch, name), Z, c64(4)) for name in TRUTHS),
        case("aten.pow.Tensor_Tensor", torch.pow, Z, c64(4), tolerance=4),
        case("aten.pow.Tensor_Tensor", torch.pow, f32(3, 4, low=0.1), Z, id="real", tolerance=4),
        case("aten.pow.Tensor_Scalar", lambda x: x**-0.5, Z, id="root", tolerance=4),
        case("aten.pow.Scalar", lambda x: 2**x, Z),
        case(
            "aten.pow.Tensor_Tensor",
            torch.pow,
            torch.tensor([0j, 0j, 0j, 1j]),
            torch.tensor([2 + 1j, 1 + 0j, 0.5 + 2j, 0j]),
            id="zero",
        ),
        case("aten.div.Tensor", lambda x, y: x / (y * 1e25), Z, c64(4), id="huge"),
        case("aten.reciprocal.default", lambda x: torch.reciprocal(x * 1e-25), Z, id="tiny"),
        case("aten.logaddexp.default", torch.logaddexp, Z, c64(4), tolerance=4),
        case("aten.logsumexp.default", lambda x: torch.logsumexp(x * 90, -1), Z, tolerance=40),
        case("aten.nan_to_num.default", torch.nan_to_num, torch.tensor([1j, torch.inf + 1j])),
        case("aten.lerp.Scalar", lambda x, y: torch.lerp(x, y, 0.3 - 1j), Z, c64(4)),
        case("aten.lerp.Tensor", torch.lerp, Z, c64(4), c64(3, 1)),
        case("aten.addcmul.default", torch.addcmul, Z, c64(4), c64(3, 1), dynamic=True),
        case("aten.addcdiv.default", torch.addcdiv, Z, c64(4), c64(3, 1)),
        case("aten.prod.default", torch.prod, Z, tolerance=10),
        case("aten.prod.dim_int", lambda x: x.prod(1, keepdim=True), Z, dynamic=True, tolerance=4),
        case("aten.cumprod.default", lambda x: x.cumprod(1), Z, dynamic=True, tolerance=4),
        case("aten.var.correction", lambda x: ATEN.var.correction(x, [1]), Z, dynamic=True),
        case("aten.var.dim", lambda x: x.var(1), Z, dynamic=True),
        case("aten.std_mean.default", lambda x: ATEN.std_mean.default(x), Z),
        case("aten.std.correction", lambda x: ATEN.std.correction(x, [0]), Z),
        case("aten.var_mean.correction", lambda x: ATEN.var_mean.correction(x, [1]), Z),
        case("aten.std_mean.correction", lambda x: ATEN.std_mean.correction(x, [1]), Z),
        case("aten.norm.Scalar", lambda x: ATEN.norm.Scalar(x, 3), Z),
        case("aten.norm.ScalarOpt_dim", lambda x: ATEN.norm.ScalarOpt_dim(x, 1, [1]), Z),
        case("aten.linalg_vector_norm.default", lambda x: torch.linalg.vector_norm(x, 3, 1), Z),
        case("aten.dist.default", lambda x, y: ATEN.dist.default(x, y, 3), Z, c64(4)),
        case("aten.all.dim", lambda x: x.all(1), Z),
        case("aten.any.default", torch.any, Z),
        case("aten.count_nonzero.default", torch.count_nonzero, Z),
        case("aten.nonzero.default", lambda x, keep: torch.nonzero(x * keep), Z, boolean(3, 4)),
        case("aten.eq.Tensor", lambda x, y: x == y, c64(2, 0), c64(2, 0), id="empty"),
    ],
)
