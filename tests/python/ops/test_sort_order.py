import torch

from tests.python.ops.harness import boolean, case, f16, f32, i64, suite

NAN = torch.tensor([[1.0, float("nan"), 3.0], [2.0, 5.0, 4.0]])
ROW = ({0: torch.export.Dim.DYNAMIC},)
EXTREME = torch.tensor(
    [
        [1.0, float("nan"), float("inf"), float("nan"), -float("inf")],
        [-float("inf"), -float("inf"), 2.0, float("inf"), 0.0],
        [float("inf"), -1.0, float("nan"), 3.0, -float("inf")],
    ]
)

test_ops = suite(
    __file__,
    [
        case("aten.topk.default", lambda x: x.topk(2), f32(3, 5), dynamic=ROW),
        case("aten.topk.default", lambda x: x.topk(2, 0, largest=False), f32(5, 3), id="smallest"),
        case(
            "aten.topk.default",
            lambda x, y: x.topk(y.shape[0], 1),
            f32(3, 20),
            f32(2),
            id="symbolic",
            dynamic=True,
        ),
        case("aten.topk.default", lambda x: x.topk(1), f32(), id="scalar"),
        case("aten.topk.default", lambda x: x.topk(4)[0], EXTREME, id="nan"),
        case(
            "aten.topk.default", lambda x: x.topk(4, largest=False)[0], EXTREME, id="nan_smallest"
        ),
        case("aten.sort.stable", lambda x: x.sort(stable=True), EXTREME, dynamic=True, id="nan"),
        case("aten.sort.stable", lambda x: x.sort(stable=True), EXTREME.half(), id="nan_f16"),
        case("aten.kthvalue.default", lambda x: x.kthvalue(4), EXTREME, id="nan"),
        case("aten.topk.default", lambda x: x.topk(2)[0], f16(3, 5), id="f16"),
        case("aten.sort.default", lambda x: x.sort(), f32(3, 5), dynamic=True),
        case(
            "aten.sort.stable",
            lambda x: x.sort(dim=0, descending=True, stable=True),
            i64(9, 3, low=0, high=3),
        ),
        case("aten.sort.stable", lambda x: x.sort(stable=True), boolean(9), id="bool"),
        case("aten.argsort.default", lambda x: x.argsort(descending=True), f32(3, 5)),
        case("aten.msort.default", lambda x: x.msort(), f32(3, 5), dynamic=True),
        case("aten.kthvalue.default", lambda x: x.kthvalue(2), f32(3, 5), dynamic=ROW),
        case("aten.kthvalue.default", lambda x: x.kthvalue(3, 0, True), f32(3, 5), id="keepdim"),
        case("aten.median.dim", lambda x: x.median(1), f32(3, 6), dynamic=True),
        case("aten.median.dim", lambda x: x.median(1, True), NAN, id="nan"),
        case("aten.median.default", lambda x: x.median(), f32(3, 4)),
        case("aten.nanmedian.dim", lambda x: x.nanmedian(1), NAN),
        case("aten.nanmedian.default", lambda x: x.nanmedian(), NAN),
        case("aten.mode.default", lambda x: x.mode(), i64(3, 9, low=0, high=4), dynamic=True),
        case("aten.mode.default", lambda x: x.mode(0, True), f32(3, 2), id="keepdim"),
        case("aten.argmax.default", lambda x: x.argmax(), f32(3, 5), dynamic=True),
        case(
            "aten.argmax.default",
            lambda x: x.argmax(-1, True),
            i64(3, 5, low=0, high=3),
            id="axis",
            dynamic=True,
        ),
        case("aten.argmax.default", lambda x: x.argmax(), f32(), id="scalar"),
        case("aten.argmin.default", lambda x: x.argmin(0), f16(3, 5)),
        case("aten.argmin.default", lambda x: x.argmin(keepdim=True), f32(3, 5), id="keepdim"),
        case(
            "aten._unique2.default",
            lambda x: x.unique(return_inverse=True, return_counts=True),
            i64(3, 5, low=0, high=4),
            dynamic=True,
        ),
        case("aten._unique2.default", lambda x: x.unique(), boolean(5), id="bool"),
        case(
            "aten.unique_dim.default",
            lambda x: x.unique(dim=0, return_inverse=True, return_counts=True),
            i64(6, 2, low=0, high=2),
        ),
        case(
            "aten.unique_consecutive.default",
            lambda x: x.unique_consecutive(return_inverse=True, return_counts=True),
            i64(3, 5, low=0, high=2),
            dynamic=True,
        ),
        case(
            "aten.unique_consecutive.default",
            lambda x: x.unique_consecutive(dim=0, return_inverse=True, return_counts=True),
            i64(8, 1, low=0, high=2),
            id="axis",
        ),
        case(
            "aten.unique_consecutive.default",
            lambda x: x.unique_consecutive(dim=0),
            i64(8, 2, low=0, high=2),
            id="axis alone",
        ),
        case(
            "aten.unique_consecutive.default",
            lambda x: torch.ops.aten.unique_consecutive(x, True, False, 0),
            i64(8, low=0, high=2),
            id="vector",
        ),
        case(
            "aten.unique_consecutive.default",
            lambda x: torch.ops.aten.unique_consecutive(x, True, True, 0),
            i64(8, low=0, high=2),
            id="vector counts",
        ),
        case(
            "aten.unique_consecutive.default",
            lambda x: x.unique_consecutive(return_inverse=True),
            torch.tensor(2.0),
            id="scalar",
        ),
    ],
)
