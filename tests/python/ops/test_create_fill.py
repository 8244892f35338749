import torch

from tests.python.ops.harness import boolean, case, f16, f32, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.full.default", lambda x: x + torch.full((3, 4), 2.5), f32(3, 4)),
        case("aten.full.default", lambda x: torch.full((x.shape[0], 2), 7), f32(3), dynamic=True),
        case(
            "aten.full.default",
            lambda x: torch.full((2,), x.shape[0]),
            f32(3),
            id="sym",
            dynamic=True,
        ),
        case(
            "aten.full.default", lambda x: x + torch.full((300, 40), 2.5), f32(300, 40), id="large"
        ),
        case("aten.full_like.default", lambda x: torch.full_like(x, 3.7), i64(3, 4), dynamic=True),
        case("aten.zeros.default", lambda x: x + torch.zeros(3, dtype=torch.int32), f32(3)),
        case(
            "aten.zeros.default", lambda x: torch.zeros(2, x.shape[1] + 1), f32(3, 4), dynamic=True
        ),
        case(
            "aten.ones.default",
            lambda x: torch.ones(x.shape[0], dtype=torch.bool),
            f32(3),
            dynamic=True,
        ),
        case("aten.zeros_like.default", torch.zeros_like, f16(3, 4), dynamic=True),
        case("aten.ones_like.default", torch.ones_like, boolean(3, 4)),
        case("aten.new_zeros.default", lambda x: x.new_zeros(x.shape[0], 4), i64(3), dynamic=True),
        case("aten.new_ones.default", lambda x: x.new_ones((4,), dtype=torch.bool), i64(3)),
        case("aten.new_full.default", lambda x: x.new_full((4,), 2), f32(3)),
        case(
            "aten.empty.memory_format", lambda x: torch.empty(x.shape[0], 3), f32(3), dynamic=True
        ),
        case("aten.empty_like.default", torch.empty_like, f32(3)),
        case("aten.new_empty.default", lambda x: x.new_empty(2, 3), f32(3)),
        case("aten.fill_.Scalar", lambda x: (x + 1).fill_(2), f32(3), dynamic=True),
        case(
            "aten.fill.Tensor",
            lambda x, v: x.fill(v) if hasattr(x, "fill") else torch.fill(x, v),
            f32(3),
            i64(),
        ),
        case("aten.zero_.default", lambda x: (x + 1).zero_(), f32(3, 4), dynamic=True),
        case("aten.copy_.default", lambda x, y: (x + 1).copy_(y), f32(3, 4), i64(4), dynamic=True),
        case("aten.scalar_tensor.default", lambda x: x + torch.scalar_tensor(3), f32(3)),
        case("aten.lift_fresh_copy.default", lambda x: x + torch.tensor([1, 2, 3]), f32(3)),
        case("aten.eye.default", lambda x: x + torch.eye(3), f32(3, 3)),
        case(
            "aten.eye.m", lambda x: torch.eye(x.shape[0], 5, dtype=torch.bool), f32(3), dynamic=True
        ),
        case("aten.tril.default", lambda x: x.tril(-1), f32(3, 4), dynamic=True),
        case("aten.triu.default", lambda x: x.triu(1), boolean(2, 3, 4)),
        case(
            "aten.tril.default",
            torch.tril,
            f32(3, 4).draw(torch.Generator()).to(torch.int16),
            id="i16",
        ),
        case("aten.tril_indices.default", lambda x: x + torch.tril_indices(3, 4, 1)[0], i64(9 - 0)),
        case("aten.triu_indices.default", lambda x: x + torch.triu_indices(3, 4, 1), i64(2, 6)),
    ],
)
