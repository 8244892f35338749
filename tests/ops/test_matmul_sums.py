import torch
import torch.nn.functional as F

from tests.ops.harness import case, f32, f64, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.addmm.default", torch.addmm, f32(5), f32(3, 4), f32(4, 5), dynamic=True),
        case("aten.addmm.default", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), f32(3, 5), f32(3, 4), f32(4, 5), id="factors"),
        case("aten.addmm.default", lambda c, a, b: torch.addmm(c, a, b, beta=0), f32(3, 5), f32(3, 4), f32(4, 5), id="no-beta"),
        case("aten.addmm.default", lambda c, a, b: torch.addmm(c, a, b, beta=3, alpha=2), i64(3, 5), i64(3, 4), i64(4, 5), id="int"),
        case("aten.addmv.default", lambda c, a, b: torch.addmv(c, a, b, alpha=2), f32(3), f32(3, 4), f32(4)),
        case("aten.baddbmm.default", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), f32(3, 5), f32(2, 3, 4), f32(2, 4, 5), dynamic=True),
        case("aten.addbmm.default", lambda c, a, b: torch.addbmm(c, a, b, beta=0.5, alpha=2), f32(3, 5), f32(2, 3, 4), f32(2, 4, 5)),
        case("aten.addr.default", lambda c, a, b: torch.addr(c, a, b, beta=0.5, alpha=2), f32(3, 5), f32(3), f32(5)),
        case("aten.bilinear.default", F.bilinear, f32(2, 3, 4), f32(2, 3, 5), f32(6, 4, 5), f32(6)),
        case("aten.einsum.default", lambda a, b: torch.einsum("bij, bjk", a, b), f32(2, 3, 4), f32(2, 4, 5), dynamic=True),
        case("aten.einsum.default", lambda a, b: torch.einsum("...ij,...kj->...ik", a, b), f32(2, 2, 3, 4), f32(2, 2, 5, 4), id="ellipsis"),
        case("aten.einsum.default", lambda a: torch.einsum("ii->i", a), f32(4, 4), id="diagonal"),
        case("aten.einsum.default", lambda a: torch.einsum("Ba->aB", a), f32(3, 4), id="upper"),
        case("aten.einsum.default", lambda a: torch.einsum("ii", a), f32(4, 4), id="trace"),
        case("aten.einsum.default", lambda a, b, c: torch.einsum("i,ij,j->", a, b, c), f32(3), f32(3, 4), f32(4), id="three"),
        case("aten.einsum.default", lambda a, b: torch.einsum("ij,jk->ik", a, b), i64(3, 4), i64(4, 2), id="int"),
        case("aten.tensordot.default", lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 1])), f32(2, 3, 4), f32(3, 4, 5)),
        case("aten.tensordot.default", lambda a, b: torch.tensordot(a, b, dims=1), f64(2, 3, 4), f64(4, 5), id="double", dynamic=True),
        case("aten.cdist.default", torch.cdist, f32(2, 3, 4), f32(2, 5, 4), dynamic=True),
        case("aten.cdist.default", lambda a, b: torch.cdist(a, b, p=1.5), f32(3, 4), f32(5, 4), id="p"),
        case("aten.cdist.default", lambda a, b: torch.cdist(a, b, p=float("inf")), f32(3, 4), f32(5, 4), id="inf"),
        case("aten.pdist.default", F.pdist, f32(5, 3)),
        case("aten.pairwise_distance.default", lambda a, b: F.pairwise_distance(a, b, p=1.0), f32(3, 4), f32(3, 4)),
        case("aten.pairwise_distance.default", lambda a, b: F.pairwise_distance(a, b, keepdim=True), f32(3, 4), f32(4), id="keepdim"),
        case("aten.cosine_similarity.default", F.cosine_similarity, f32(3, 4), f32(3, 4), dynamic=True),
        case("aten.cosine_similarity.default", lambda a, b: F.cosine_similarity(a, b, dim=-1), f32(3, 1, 4), f32(5, 4), id="broadcast"),
    ],
)
