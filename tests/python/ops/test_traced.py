"""Decompositions that `xtask/gen/traced.py` traces, and those of statistics and dropout."""

import torch
from torch import Tensor

from tests.python.ops.harness import Random, boolean, case, f32, f64, suite

ATEN = torch.ops.aten
DYNAMIC = {"dynamic": True}
UNIT = {"low": 0.1, "high": 0.9}
NONE, MEAN, SUM = 0, 1, 2


def classes(*shape: int) -> Random:
    """Describe the class of each place, of five."""
    return Random(torch.int64, shape, 0, 5)


def skewed(x: Tensor) -> Tensor:
    """Return a copy one of whose elements is NaN."""
    return torch.where(x > 1.5, torch.nan, x)


ACTIVATIONS = [
    case(
        f"aten.{op}_backward.default",
        lambda g, x, op=op: getattr(ATEN, f"{op}_backward")(g, x),
        f32(*s),
        f32(*s),
        id=f"{len(s)}",
        **DYNAMIC,
    )
    for op in ("silu", "mish", "hardsigmoid", "hardswish")
    for s in ((3, 4), (2, 3, 4, 5))
]
LOSSES = [
    case(
        f"aten.{op}_backward.default",
        lambda g, x, y, op=op, reduction=reduction, rest=rest: getattr(ATEN, f"{op}_backward")(
            g, x, y, *rest, reduction
        ),
        f32(*shape) if reduction == NONE else f32(),
        f32(*shape, **UNIT),
        f32(*shape, low=0, high=1),
        id=f"{reduction}-{len(shape)}",
        **DYNAMIC,
    )
    for op, rest in (("mse_loss", ()), ("soft_margin_loss", ()), ("binary_cross_entropy", (None,)))
    for reduction in (NONE, MEAN, SUM)
    for shape in ((3, 4), (2, 3, 4))
]

test_ops = suite(
    __file__,
    [
        *ACTIVATIONS,
        *LOSSES,
        case(
            "aten.silu_backward.default",
            lambda g, x: ATEN.silu_backward(g, x),
            f64(3, 4),
            f64(3, 4),
            id="f64",
        ),
        *(
            case(
                "aten.gelu_backward.default",
                lambda g, x, form=form: ATEN.gelu_backward(g, x, approximate=form),
                f32(3, 4),
                f32(3, 4),
                id=form,
                **DYNAMIC,
            )
            for form in ("none", "tanh")
        ),
        *(
            case(
                "aten.elu_backward.default",
                lambda g, x, of=of: ATEN.elu_backward(g, 1.0, 1.0, 1.0, of, x),
                f32(3, 4),
                f32(3, 4),
                id=str(of),
                **DYNAMIC,
            )
            for of in (False, True)
        ),
        case(
            "aten.softplus_backward.default",
            lambda g, x: ATEN.softplus_backward(g, x, 1.0, 20.0),
            f32(3, 4),
            f32(3, 4, low=-30, high=30),
            **DYNAMIC,
        ),
        case(
            "aten.log_sigmoid_backward.default",
            lambda g, x, y: ATEN.log_sigmoid_backward(g, x, y),
            f32(3, 4),
            f32(3, 4),
            f32(3, 4),
            **DYNAMIC,
        ),
        case(
            "aten.logit_backward.default",
            lambda g, x: ATEN.logit_backward(g, x),
            f32(3, 4),
            f32(3, 4, **UNIT),
            **DYNAMIC,
        ),
        *(
            case(
                "aten.smooth_l1_loss_backward.default",
                lambda g, x, y, reduction=reduction: ATEN.smooth_l1_loss_backward(
                    g, x, y, reduction, 0.6
                ),
                f32(3, 4) if reduction == NONE else f32(),
                f32(3, 4),
                f32(3, 4),
                id=str(reduction),
                **DYNAMIC,
            )
            for reduction in (NONE, MEAN, SUM)
        ),
        *(
            case(
                f"aten.{op}_backward.default",
                lambda g, x, y, w, op=op, reduction=reduction: getattr(ATEN, f"{op}_backward")(
                    g, x, y, None, reduction, -100, w
                ),
                f32(*places) if reduction == NONE else f32(),
                f32(places[0], 5, *places[1:]),
                classes(*places),
                f32(low=3, high=4),
                id=str(reduction),
            )
            for op, places in (("nll_loss", (4,)), ("nll_loss2d", (2, 3, 4)))
            for reduction in (NONE, MEAN, SUM)
        ),
        case(
            "aten.native_dropout_backward.default",
            lambda g, mask: ATEN.native_dropout_backward(g, mask, 2.0),
            f32(3, 4),
            boolean(3, 4),
            **DYNAMIC,
        ),
        *(
            case(
                "aten.native_batch_norm_backward.default",
                lambda g, x, w, m, v, train=train: ATEN.native_batch_norm_backward(
                    g, x, w, m, v, m, v, train, 1e-5, [True] * 3
                ),
                f32(*shape),
                f32(*shape),
                f32(4),
                f32(4),
                f32(4, low=0.5, high=2),
                id=f"{train}-{len(shape)}",
            )
            for train in (False, True)
            for shape in ((3, 4), (3, 4, 5), (3, 4, 5, 2))
        ),
        *(
            case(
                f"aten.fft_{op}.default",
                lambda x, op=op, dims=dims: getattr(ATEN, f"fft_{op}")(x, dims),
                f32(*shape),
                id=f"{len(shape)}-{dims}",
                **DYNAMIC,
            )
            for op in ("fftshift", "ifftshift")
            for shape in ((5,), (4, 5), (3, 4, 5))
            for dims in (None, [len(shape) - 1], [-1])
        ),
        *(
            case(
                "aten.quantile.scalar",
                lambda x, q=q, dim=dim, keep=keep: torch.quantile(x, q, dim, keep),
                f32(4, 5),
                id=f"{q}-{dim}-{keep}",
                **DYNAMIC,
            )
            for q in (0.0, 0.3, 0.75, 1.0)
            for dim, keep in ((0, False), (-1, True), (None, False))
        ),
        case(
            "aten.quantile.scalar", lambda x: torch.quantile(skewed(x), 0.3, 1), f32(4, 5), id="nan"
        ),
        *(
            case(
                "aten.quantile.default",
                lambda x, q, dim=dim: torch.quantile(x, q, dim),
                f32(4, 5, 3),
                f32(2, low=0, high=1),
                id=str(dim),
                **DYNAMIC,
            )
            for dim in (0, 1, -1, None)
        ),
        case("aten.vander.default", lambda x: torch.vander(x, 4), f32(3)),
        case(
            "aten.vander.default",
            lambda x: torch.vander(x, 3, increasing=True),
            f64(3),
            id="increasing",
        ),
        case(
            "aten._euclidean_dist.default",
            lambda x, y: ATEN._euclidean_dist(x, y),
            f32(3, 4),
            f32(5, 4),
        ),
        *(
            case(
                "aten.feature_dropout.default",
                lambda x: torch.feature_dropout(x, 0.4, True),
                f32(*shape),
                id=str(len(shape)),
                **DYNAMIC,
            )
            for shape in ((2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 2))
        ),
        case(
            "aten.alpha_dropout.default",
            lambda x: torch.alpha_dropout(x, 0.4, True),
            f32(3, 4),
            **DYNAMIC,
        ),
    ],
)
