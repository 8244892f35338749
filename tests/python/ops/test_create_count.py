import torch

from tests.python.ops.harness import boolean, c64, case, f32, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.arange.default", lambda x: x + torch.arange(4), i64(4)),
        case(
            "aten.arange.default",
            lambda x: torch.arange(x.shape[0]),
            f32(4),
            id="sym",
            dynamic=True,
        ),
        case(
            "aten.arange.default",
            lambda x: torch.arange(x.shape[0], dtype=torch.float32),
            f32(4),
            id="float",
            dynamic=True,
        ),
        case("aten.arange.start", lambda x: torch.arange(1, x.shape[0] + 1), f32(4), dynamic=True),
        case("aten.arange.start", lambda x: x + torch.arange(0.5, 4.0), f32(4), id="const"),
        case(
            "aten.arange.start_step", lambda x: torch.arange(0, x.shape[0], 2), f32(5), dynamic=True
        ),
        case("aten.arange.start_step", lambda x: x + torch.arange(5, -5, -3), f32(4), id="down"),
        case(
            "aten.arange.start_step",
            lambda x: torch.arange(0, x.shape[0], 0.5),
            f32(5),
            id="f",
            dynamic=True,
        ),
        case(
            "aten.arange.start_step", lambda x: x + torch.arange(0, 10000, 2), f32(5000), id="large"
        ),
        case(
            "aten.arange.start_step",
            lambda x: x + torch.arange(0, 1000, 0.2),
            f32(5000),
            id="large-f",
        ),
        case("aten.linspace.default", lambda x: x + torch.linspace(-1, 1, 9), f32(9)),
        case(
            "aten.linspace.default",
            lambda x: torch.linspace(0, 5, x.shape[0]),
            f32(9),
            id="sym",
            dynamic=True,
        ),
        case(
            "aten.linspace.default",
            lambda x: torch.linspace(0, 10, 5, dtype=torch.int64) + x,
            i64(5),
            id="int",
        ),
        case("aten.linspace.Tensor_Tensor", lambda x, y: torch.linspace(x, y, 5), f32(), f32()),
        case("aten.logspace.default", lambda x: x + torch.logspace(0, 2, 5), f32(5)),
        case("aten.rand.default", lambda x: x + torch.rand(3, 4), f32(3, 4)),
        case("aten.randn.default", lambda x: torch.randn(x.shape[0], 4), f32(3, 4), dynamic=True),
        case("aten.randn_like.default", torch.randn_like, f32(3, 4), dynamic=True),
        case(
            "aten.rand_like.default", lambda x: torch.rand_like(x, dtype=torch.float16), f32(3, 4)
        ),
        case(
            "aten.randn.default", lambda x: x + torch.randn(3, 4, dtype=torch.complex64), c64(3, 4)
        ),
        case("aten.randn_like.default", torch.randn_like, c64(3, 4), id="complex"),
        case("aten.rand_like.default", torch.rand_like, c64(3, 4), id="complex"),
        case("aten.uniform_.default", lambda x: x.uniform_(-1, 1), c64(3, 4), id="complex"),
        case("aten.normal_.default", lambda x: x.normal_(1, 2), c64(3, 4), id="complex"),
        case("aten.randint.low", lambda x: x + torch.randint(2, 9, (4,)), f32(4)),
        case("aten.randperm.default", lambda x: x + torch.randperm(4), f32(4)),
        case("aten.bernoulli.default", torch.bernoulli, f32(9, low=0.0, high=1.0)),
        case("aten.bernoulli.p", lambda x: torch.bernoulli(x, 0.3), f32(9, low=0.0, high=1.0)),
        case("aten.normal.Tensor_Tensor", lambda x, y: torch.normal(x, y), f32(9), f32(9, low=0.1)),
        case(
            "aten.multinomial.default",
            lambda x: torch.multinomial(x, 5, replacement=True),
            f32(3, 9, low=0.1),
        ),
        case("aten.multinomial.default", lambda x: torch.multinomial(x, 5), f32(9, low=0.1)),
        case("aten.dropout.default", lambda x: torch.dropout(x, 0.5, True), f32(9)),
        case("aten.native_dropout.default", lambda x: torch.native_dropout(x, 0.5, False), f32(9)),
        case("aten.exponential_.default", lambda x: (x + 1).exponential_(2.0), f32(9)),
        case("aten.cauchy_.default", lambda x: (x + 1).cauchy_(2.0, 3.0), f32(9)),
        case("aten.geometric_.default", lambda x: (x + 1).geometric_(0.3), f32(9)),
        case(
            "aten.native_dropout_backward.default",
            lambda x, mask: torch.ops.aten.native_dropout_backward(x, mask, 2.0),
            *(i64(9), boolean(9)),
        ),
        case("aten.uniform_.default", lambda x: (x + 1).uniform_(2.0, 3.0), f32(9)),
        case("aten.normal_.default", lambda x: (x + 1).normal_(2.0, 3.0), f32(9)),
        case(
            "aten.linspace.default",
            lambda x: x + torch.linspace(4.3, 50, 9, dtype=torch.int64),
            i64(9),
            id="whole",
        ),
        case(
            "aten.logspace.default",
            lambda x: x + torch.logspace(0, 1.2, 4, 5.0, dtype=torch.int64),
            i64(4),
            id="whole",
        ),
        case("aten.dropout.default", lambda x: torch.dropout(x, 1.0, True), f32(9), id="all"),
    ],
)
