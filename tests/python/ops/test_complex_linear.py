"""Linear and multilinear operators on complex tensors, which the lowerings for reals compute."""

from __future__ import annotations

import torch

from tests.python.ops.harness import boolean, c64, case, f32, i64, suite

Z = c64(3, 4)
ATEN = torch.ops.aten
MASK = boolean(3, 4)
INDEX = i64(3, 4, low=0, high=3)

test_ops = suite(
    __file__,
    [
        case("aten.gather.default", lambda x, i: x.gather(0, i), Z, INDEX, dynamic=True),
        case(
            "aten.scatter.src",
            lambda x, y: x.scatter(1, torch.tensor([[2, 0], [1, 3]]), y),
            Z,
            c64(2, 2),
        ),
        case("aten.scatter.value", lambda x, i: x.scatter(0, i, 2 - 1j), Z, INDEX),
        case("aten.scatter.value", lambda x, i: x.scatter(0, i, 2.5), Z, INDEX, id="real"),
        case("aten.scatter_add.default", lambda x, i, y: x.scatter_add(0, i, y), Z, INDEX, Z),
        case(
            "aten.index_add.default",
            lambda x, i, y: x.index_add(0, i, y),
            Z,
            i64(2, low=0, high=3),
            c64(2, 4),
        ),
        case(
            "aten.index_copy.default",
            lambda x, y: x.index_copy(0, torch.tensor([2, 0]), y),
            Z,
            c64(2, 4),
        ),
        case("aten.index_fill.int_Scalar", lambda x: x.index_fill(1, torch.tensor([1, 3]), 1j), Z),
        case(
            "aten.index_put.default", lambda x, y: x.index_put((torch.tensor([1]),), y), Z, c64(4)
        ),
        case("aten.masked_fill.Scalar", lambda x, m: x.masked_fill(m, 3), Z, MASK, dynamic=True),
        case(
            "aten.masked_fill.Scalar", lambda x, m: x.masked_fill(m, 1 - 2j), Z, MASK, id="complex"
        ),
        case("aten.masked_select.default", torch.masked_select, Z, MASK),
        case("aten.masked_scatter.default", torch.masked_scatter, Z, MASK, Z),
        case("aten.take.default", torch.take, Z, i64(5, low=0, high=12)),
        case("aten.put.default", lambda x, y: x.put(torch.tensor([3, 5]), y), Z, c64(2)),
        case("aten.select_scatter.default", lambda x, y: x.select_scatter(y, 0, 1), Z, c64(4)),
        case("aten.slice_scatter.default", lambda x, y: x.slice_scatter(y, 0, 1), Z, c64(2, 4)),
        case("aten.diagonal_scatter.default", torch.diagonal_scatter, Z, c64(3)),
        case("aten.tril.default", torch.tril, Z, dynamic=True),
        case("aten.triu.default", lambda x: torch.triu(x, 1), Z),
        case("aten.trace.default", torch.trace, Z),
        case("aten.diag_embed.default", torch.diag_embed, Z, dynamic=True),
        case("aten.unfold.default", lambda x: x.unfold(1, 2, 1), Z, dynamic=True),
        case("aten.constant_pad_nd.default", lambda x: ATEN.constant_pad_nd(x, [1, 2], 1j), Z),
        case("aten.reflection_pad1d.default", lambda x: ATEN.reflection_pad1d(x, [1, 2]), Z),
        case("aten.pixel_shuffle.default", lambda x: torch.pixel_shuffle(x, 2), c64(1, 4, 2, 3)),
        case("aten.hstack.default", lambda x, y: torch.hstack([x, y]), Z, f32(3, 2), id="real"),
        case("aten.block_diag.default", lambda x, y: torch.block_diag(x, y), Z, f32(2, 2)),
        case(
            "aten.sum.dim_IntList", lambda x: x.sum(1, dtype=torch.complex64), f32(3, 4), id="real"
        ),
        case("aten.linspace.default", lambda x: x * torch.linspace(1, 2 + 1j, 4), Z),
        case("aten.eye.default", lambda x: x * torch.eye(4, dtype=torch.complex64), c64(4, 4)),
        case("aten.bmm.default", torch.bmm, c64(2, 3, 4), c64(2, 4, 5), dynamic=True),
        case(
            "aten.einsum.default",
            lambda x, y: torch.einsum("ij,kj->ik", x, y),
            Z,
            c64(2, 4),
            dynamic=True,
        ),
        case(
            "aten.einsum.default",
            lambda x, y, z: torch.einsum("ij,j,j->i", x, y, z),
            Z,
            c64(4),
            c64(4),
            id="three",
        ),
        case("aten.tensordot.default", lambda x, y: torch.tensordot(x, y, 1), Z, c64(4, 2)),
        case("aten.kron.default", torch.kron, Z, c64(2, 2)),
        case("aten.outer.default", torch.outer, c64(3), c64(4)),
        case("aten.vdot.default", torch.vdot, c64(4), c64(4)),
        case("aten.linalg_cross.default", torch.linalg.cross, c64(4, 3), c64(4, 3)),
        case("aten.linalg_vecdot.default", torch.linalg.vecdot, Z, Z),
        case(
            "aten.addmm.default",
            lambda x, y, z: torch.addmm(x, y, z, beta=2, alpha=1 - 1j),
            Z,
            c64(3, 2),
            c64(2, 4),
        ),
        case(
            "aten.addmm.default",
            lambda x, y, z: torch.addmm(x * torch.nan, y, z, beta=0),
            Z,
            c64(3, 2),
            c64(2, 4),
            id="ignored",
        ),
        case(
            "aten.baddbmm.default",
            torch.baddbmm,
            c64(2, 3, 4),
            c64(2, 3, 2),
            c64(2, 2, 4),
            dynamic=True,
        ),
        case("aten.addbmm.default", torch.addbmm, Z, c64(2, 3, 2), c64(2, 2, 4)),
        case("aten.addmv.default", torch.addmv, c64(3), Z, c64(4)),
        case("aten.addr.default", torch.addr, Z, c64(3), c64(4)),
        case("aten.linear.default", torch.nn.functional.linear, Z, c64(2, 4), c64(2), dynamic=True),
        case("aten.mH.default", lambda x: x.mH, Z, dynamic=True),
    ],
)
