import torch
import torch.nn.functional as F
from torch.nn.modules.linear_cross_entropy import (
    _linear_cross_entropy_batch_chunked_no_reduction as chunked,
)
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

from tests.python.ops.harness import case, f32, i64, suite

X, Y, P = f32(3, 5), f32(3, 5), f32(3, 5, low=0.05, high=0.95)
CLASSES = i64(4, low=0, high=5)
IGNORED = torch.tensor([0, -100, 3, 4])
SPATIAL = i64(2, 3, 3, low=0, high=5)
W = f32(5, low=0.5)
OPTIONS = LinearCrossEntropyOptions(batch_chunk_size=2)
SIGNS = torch.tensor([[1.0, -1.0, 1.0, -1.0, -1.0]])

test_ops = suite(
    __file__,
    [
        case("aten.mse_loss.default", F.mse_loss, X, Y, dynamic=True),
        case("aten.mse_loss.default", lambda x, y: F.mse_loss(x, y, reduction="none"), X, Y),
        case("aten.l1_loss.default", lambda x, y: F.l1_loss(x, y, reduction="sum"), X, Y),
        case("aten.smooth_l1_loss.default", lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), X, Y),
        case("aten.huber_loss.default", lambda x, y: F.huber_loss(x, y, delta=0.7), X, Y),
        case("aten.binary_cross_entropy.default", F.binary_cross_entropy, P, P),
        case(
            "aten.binary_cross_entropy.default",
            lambda x, y, w: F.binary_cross_entropy(x, y, w),
            P,
            P,
            X,
        ),
        case(
            "aten.binary_cross_entropy_with_logits.default",
            F.binary_cross_entropy_with_logits,
            X,
            P,
        ),
        case(
            "aten.binary_cross_entropy_with_logits.default",
            lambda x, y, w, p: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p),
            X,
            P,
            Y,
            W,
        ),
        case("aten.kl_div.default", lambda x, y: F.kl_div(x, y, reduction="sum"), X, P),
        case("aten.kl_div.default", lambda x, y: F.kl_div(x, y, log_target=True), X, Y),
        case("aten.soft_margin_loss.default", F.soft_margin_loss, X, SIGNS.expand(3, 5).clone()),
        case("aten.margin_ranking_loss.default", F.margin_ranking_loss, X, Y, SIGNS),
        case(
            "aten.hinge_embedding_loss.default",
            F.hinge_embedding_loss,
            X,
            SIGNS.expand(3, 5).clone(),
        ),
        case("aten.poisson_nll_loss.default", F.poisson_nll_loss, X, P),
        case(
            "aten.poisson_nll_loss.default",
            lambda x, y: F.poisson_nll_loss(x, y, full=True),
            X,
            f32(3, 5, low=0.1),
        ),
        case("aten.cosine_embedding_loss.default", F.cosine_embedding_loss, X, Y, SIGNS[0, :3]),
        case("aten.triplet_margin_loss.default", F.triplet_margin_loss, X, Y, P),
        case(
            "aten.triplet_margin_loss.default",
            lambda x, y, z: F.triplet_margin_loss(x, y, z, p=3, swap=True),
            X,
            Y,
            P,
        ),
        case("aten.multi_margin_loss.default", F.multi_margin_loss, f32(4, 5), CLASSES),
        case(
            "aten.multi_margin_loss.default",
            F.multi_margin_loss,
            f32(4, 5),
            CLASSES,
            id="dynamic",
            dynamic=True,
        ),
        case(
            "aten.multi_margin_loss.default",
            lambda x, y, w: F.multi_margin_loss(x, y, p=2, weight=w),
            f32(4, 5),
            CLASSES,
            W,
        ),
        case("aten.nll_loss_nd.default", F.nll_loss, f32(4, 5), CLASSES),
        case("aten.nll_loss_nd.default", F.nll_loss, f32(4, 5), IGNORED, id="ignore"),
        case("aten.nll_loss_nd.default", F.nll_loss, f32(2, 5, 3, 3), SPATIAL, W, id="spatial"),
        case("aten.cross_entropy_loss.default", F.cross_entropy, f32(4, 5), CLASSES),
        case(
            "aten.cross_entropy_loss.default", F.cross_entropy, f32(4, 5), IGNORED, W, id="ignore"
        ),
        case(
            "aten.cross_entropy_loss.default", F.cross_entropy, f32(5), i64(low=0, high=5), id="one"
        ),
        case(
            "aten.cross_entropy_loss.default",
            F.cross_entropy,
            f32(2, 5, 3, 3),
            SPATIAL,
            id="spatial",
        ),
        case(
            "aten.cross_entropy_loss.default",
            lambda x, y: F.cross_entropy(x, y, reduction="none"),
            f32(4, 5),
            IGNORED,
            id="none",
        ),
        case("aten.cross_entropy_loss.default", F.cross_entropy, X, P, W, id="probabilities"),
        case(
            "aten.cross_entropy_loss.default",
            lambda x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.1),
            f32(4, 5),
            IGNORED,
            W,
            id="smoothed",
        ),
        case(
            "aten.cross_entropy_loss.default",
            lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
            f32(2, 5, 3, 3),
            SPATIAL,
            id="smoothed-spatial",
        ),
        case(
            "aten.cross_entropy_loss.default",
            lambda x, t: F.cross_entropy(x.bfloat16(), t).float(),
            f32(4, 5),
            i64(4, low=0, high=5),
            id="bf16",
        ),
        case(
            "aten.multilabel_margin_loss.default",
            F.multilabel_margin_loss,
            X,
            torch.tensor([[3, 0, -1, 1, 1], [-1, 2, 2, 2, 2], [0, 1, 2, 3, 4]]),
            dynamic=True,
        ),
        case(
            "aten.multilabel_margin_loss_forward.default",
            lambda x, y: torch.ops.aten.multilabel_margin_loss_forward(x, y, 0),
            X,
            torch.tensor([[3, 0, -1, 1, 1], [-1, 2, 2, 2, 2], [0, 1, 2, 3, 4]]),
        ),
        case(
            "aten.multilabel_margin_loss_forward.default",
            lambda x, y: torch.ops.aten.multilabel_margin_loss_forward(x, y, 1),
            f32(5),
            torch.tensor([3, 0, -1, 1, 1]),
            id="single",
        ),
        case(
            "torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default",
            lambda x, w, b, t: chunked(x, w, t, b, None, -100, 2, "compact", torch.float32),
            f32(4, 3),
            f32(5, 3),
            f32(5),
            IGNORED,
            dynamic=True,
        ),
        case(
            "torch_nn._linear_cross_entropy_batch_chunked.default",
            lambda x, w, t, c: F.linear_cross_entropy(x, w, t, weight=c, options=OPTIONS),
            f32(4, 3),
            f32(5, 3),
            CLASSES,
            W,
        ),
        case(
            "aten.soft_margin_loss.default",
            F.soft_margin_loss,
            torch.tensor([200.0, -200.0]),
            torch.tensor([-1.0, -1.0]),
            id="overflow",
        ),
    ],
)
