import torch
import torch.nn.functional as F

from tests.python.ops.harness import boolean, c64, case, f32, f64, i32, i64, suite

BATCH = ({0: torch.export.Dim.DYNAMIC},)


def rows(n, *shape):
    return i64(*shape, low=-n, high=n)


test_ops = suite(
    __file__,
    [
        case("aten.index.Tensor", lambda x, i: x[i], f32(4, 5), rows(4, 3), dynamic=True),
        case(
            "aten.index.Tensor",
            lambda x, i: x[:, i],
            f32(4, 5),
            i32(2, 3, low=0, high=5),
            id="axis",
        ),
        case(
            "aten.index.Tensor",
            lambda x, i, j: x[i, j],
            f32(4, 5, 3),
            rows(4, 6),
            rows(5, 6),
            dynamic=True,
            id="pairs",
        ),
        case(
            "aten.index.Tensor",
            lambda x, i, j: x[i[:, None], j],
            f32(4, 5),
            rows(4, 3),
            rows(5, 2),
            dynamic=True,
            id="outer",
        ),
        case(
            "aten.index.Tensor",
            lambda x, i, j: x[i, j[:, None]],
            f32(4, 5),
            rows(4, 3),
            rows(5, 2),
            dynamic=True,
            id="crossed",
        ),
        case(
            "aten.index.Tensor",
            lambda x, i, j: x[:, i, j],
            f32(2, 4, 5, 3),
            rows(4, 6),
            rows(5, 6),
            id="inner",
        ),
        case(
            "aten.index.Tensor",
            lambda x, i, j: x[i, :, j],
            f32(4, 2, 5, 3),
            rows(4, 6),
            rows(5, 6),
            dynamic=True,
            id="apart",
        ),
        case(
            "aten.index.Tensor",
            lambda x, i, j: x[:, i, :, j],
            f32(2, 4, 3, 5),
            rows(4, 6),
            rows(5, 2, 6),
            id="apart late",
        ),
        case("aten.index.Tensor", lambda x: x[x > 0], f32(4, 5), dynamic=True, id="mask"),
        case(
            "aten.index.Tensor",
            lambda x, m: x[m],
            f32(4, 5),
            boolean(4),
            dynamic=True,
            id="mask rows",
        ),
        case(
            "aten.index.Tensor", lambda x, m: x[:, m], f32(2, 4, 5), boolean(4), id="mask columns"
        ),
        case(
            "aten.index.Tensor",
            lambda x, m: x[m],
            f32(4, 5, 2),
            boolean(4, 5),
            dynamic=True,
            id="mask planes",
        ),
        case(
            "aten.index.Tensor",
            lambda x, m: x[:, m],
            f32(2, 4, 5),
            boolean(4, 5),
            id="mask inner planes",
        ),
        case(
            "aten.index.Tensor",
            lambda x, m, j: x[m, j],
            f32(4, 5),
            boolean(4),
            rows(5, 1),
            id="mask and index",
        ),
        case("aten.index.Tensor", lambda x, i: x[i], c64(4, 5), rows(4, 3), id="complex"),
        case(
            "aten.index_select.default",
            lambda x, i: x.index_select(-1, i),
            f32(4, 5),
            i64(3, low=0, high=5),
            dynamic=True,
        ),
        case(
            "aten.gather.default", lambda x, i: x.gather(1, i), f32(4, 5), i64(3, 2, low=0, high=5)
        ),
        case(
            "aten.gather.default",
            lambda x, i: x.gather(-1, i),
            f32(4, 5),
            i64(4, 2, low=0, high=5),
            dynamic=True,
            id="dynamic",
        ),
        case(
            "aten.gather.default",
            lambda x, i: x.gather(0, i),
            f32(),
            i64(1, low=0, high=1),
            id="scalar",
        ),
        case("aten.take.default", lambda x, i: x.take(i), f32(4, 5), rows(20, 2, 3)),
        case(
            "aten.take_along_dim.default",
            lambda x, i: torch.take_along_dim(x, i, 1),
            f32(4, 5),
            i64(1, 3, low=0, high=5),
        ),
        case(
            "aten.take_along_dim.default",
            lambda x, i: torch.take_along_dim(x, i),
            f32(4, 5),
            i64(3, low=0, high=20),
            id="flat",
        ),
        case(
            "aten.masked_select.default",
            lambda x: x.masked_select(x[0] > 0),
            f32(4, 5),
            dynamic=True,
        ),
        case("aten.nonzero.default", lambda x: x.nonzero(), i64(4, 5, low=0, high=2), dynamic=True),
        case("aten.nonzero.default", lambda x: x.nonzero(), f64(4, low=0, high=1), id="f64"),
        case("aten.nonzero_numpy.default", lambda x: x.nonzero(as_tuple=True), boolean(4, 5)),
        case("aten.where.default", lambda x: torch.where(x), boolean(4)),
        case(
            "aten.nonzero_static.default",
            lambda x: torch.nonzero_static(x, size=5, fill_value=-1),
            i64(4, low=0, high=2),
        ),
        case(
            "aten.embedding.default",
            lambda w, i: F.embedding(i, w),
            f32(7, 3),
            i64(2, 4, low=0, high=7),
            dynamic=True,
        ),
        case(
            "aten.embedding_bag.padding_idx",
            lambda w, i, o: F.embedding_bag(i, w, o),
            f32(7, 3),
            i64(6, low=0, high=7),
            torch.tensor([0, 2, 2]),
            id="mean",
        ),
        case(
            "aten.embedding_bag.padding_idx",
            lambda w, i: F.embedding_bag(i, w, mode="sum"),
            f32(7, 3),
            i64(2, 6, low=0, high=7),
            id="sum",
        ),
        case(
            "aten.embedding_bag.padding_idx",
            lambda w, i, o: F.embedding_bag(i, w, o, mode="max", padding_idx=1),
            f32(7, 3),
            i64(6, low=0, high=7),
            torch.tensor([0, 2, 2]),
            id="max",
        ),
        case(
            "aten.embedding_bag.padding_idx",
            lambda w, i, o, s: F.embedding_bag(
                i, w, o, mode="sum", per_sample_weights=s, include_last_offset=True
            ),
            f32(7, 3),
            i64(6, low=0, high=7),
            torch.tensor([0, 2, 6]),
            f32(6),
            id="weighted",
        ),
        *(
            case(
                "aten.embedding_bag.padding_idx",
                lambda w, i, o, mode=mode: F.embedding_bag(
                    i, w, o, mode=mode, include_last_offset=True
                ),
                f32(7, 3),
                i64(6, low=0, high=7),
                torch.tensor([0, 2, 4]),
                id=f"last offset {mode}",
            )
            for mode in ("sum", "max")
        ),
        case(
            "aten.embedding_bag.padding_idx",
            # PyTorch sums the rows up to the last offset, but divides by the number up to the end.
            lambda w, i, o: F.embedding_bag(i, w, o, mode="mean", include_last_offset=True),
            f32(7, 3),
            i64(6, low=0, high=7),
            torch.tensor([0, 2, 6]),
            id="last offset mean",
        ),
        case(
            "aten.embedding_bag.padding_idx",
            lambda w, i, o, s: F.embedding_bag(
                i, w, o, mode="sum", per_sample_weights=s, include_last_offset=True
            ),
            f32(7, 3),
            i64(6, low=0, high=7),
            torch.tensor([0, 1, 5]),
            f32(6),
            id="last offset weighted",
        ),
        case(
            "aten.one_hot.default",
            lambda x: F.one_hot(x, 5),
            i64(2, 3, low=0, high=5),
            dynamic=True,
        ),
        case(
            "aten.histc.default",
            lambda x: torch.histc(x, 4, 0, 3),
            torch.tensor([[0.0, 3.0, 1.5, -0.1], [2.9, 3.1, 0.75, 1.0]]),
            dynamic=True,
        ),
        case("aten.histc.default", lambda x: torch.histc(x, 5), f32(3, 7), id="range"),
        case(
            "aten.histc.default", lambda x: torch.histc(x, 3), torch.full((4,), 2.0), id="one-value"
        ),
        case("aten.bincount.default", lambda x: torch.bincount(x), i64(9, low=0, high=5)),
        case(
            "aten.bincount.default",
            lambda x, w: torch.bincount(x, w, minlength=7),
            i64(9, low=0, high=5),
            f32(9),
            id="weights",
        ),
        case(
            "aten.bucketize.Tensor",
            lambda x, b: torch.bucketize(x, b),
            f32(3, 4),
            torch.tensor([-1.0, 0.0, 1.0]),
            dynamic=({0: torch.export.Dim.DYNAMIC}, None),
        ),
        case(
            "aten.bucketize.Tensor",
            lambda x, b: torch.bucketize(x, b, out_int32=True, right=True),
            i64(3, 4),
            torch.tensor([-1, 0, 3]),
            id="right",
        ),
        case(
            "aten.searchsorted.Tensor",
            lambda s, x: torch.searchsorted(s, x),
            torch.arange(10.0).view(2, 5),
            f32(2, 3),
        ),
        case(
            "aten.searchsorted.Tensor",
            lambda s, x, o: torch.searchsorted(s, x, side="right", sorter=o),
            torch.tensor([3.0, 1.0, 2.0]),
            torch.tensor([2.0, 9.0, float("nan")]),
            torch.tensor([1, 2, 0]),
            id="sorter",
        ),
        case("aten.isin.Tensor_Tensor", lambda x, y: torch.isin(x, y), i64(3, 4), i64(2, 3)),
        case(
            "aten.index.Tensor",
            lambda x, i: x[:, i > 0],
            f32(2, 4),
            rows(4, 4),
            dynamic=None,
            id="comparison",
        ),
        # ONNX Runtime makes a slice of this, where a bound of -1 is the last element.
        case(
            "aten.index.Tensor",
            lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)],
            f32(4, 5),
            dynamic=True,
            id="backwards",
        ),
        case(
            "aten.gather.default",
            lambda x, i: x.gather(0, i),
            f32(4, 5),
            torch.empty(0, dtype=torch.int64),
            id="nothing",
        ),
        case(
            "aten.masked_select.default",
            lambda x: x.bfloat16().masked_select(x > 0),
            f32(4, 5),
            id="bf16",
        ),
        case(
            "aten.histogram.bin_ct",
            lambda x: torch.histogram(x, 4, range=(0.0, 3.0), density=True),
            torch.tensor([[0.0, 3.0, 1.5, -0.1], [2.9, 3.1, 0.75, float("nan")]]),
        ),
        case("aten.histogram.bin_ct", lambda x: torch.histogram(x, 5), f32(3, 7), id="span"),
        case(
            "aten.histogram.bin_ct",
            lambda x: torch.histogram(x, 3),
            torch.full((4,), 2.0),
            id="one",
        ),
        case(
            "aten.histogram.bins_tensor",
            lambda x, b, w: torch.histogram(x, b, weight=w),
            f32(9),
            torch.tensor([-1.5, -0.5, 0.25, 1.75]),
            f32(9, low=0.0),
        ),
        case(
            "aten._histogramdd_bin_edges.default",
            lambda x: torch.ops.aten._histogramdd_bin_edges(x, [2, 3], range=[0.0, 1.0, -1.0, 1.0]),
            f32(5, 2),
        ),
        case(
            "aten._histogramdd_from_bin_cts.default",
            lambda x, w: torch.ops.aten._histogramdd_from_bin_cts(
                x, [2, 3], weight=w, density=True
            ),
            f32(12, 2),
            f32(12, low=0.0),
        ),
        case(
            "aten._histogramdd_from_bin_tensors.default",
            lambda x, a, b: torch.ops.aten._histogramdd_from_bin_tensors(x, [a, b]),
            f32(12, 2),
            torch.tensor([-1.0, 0.0, 1.5]),
            torch.tensor([-2.0, 2.0]),
        ),
        case("aten.histogramdd.default", lambda x: torch.histogramdd(x, [2, 3]), f32(8, 2)),
        case("aten.histogramdd.int_bins", lambda x: torch.histogramdd(x, 2), f32(8, 2)),
        case(
            "aten.histogramdd.TensorList_bins",
            lambda x, a, b: torch.histogramdd(x, [a, b]),
            f32(8, 2),
            torch.tensor([-1.0, 0.0, 1.5]),
            torch.tensor([-2.0, 2.0]),
        ),
        *(
            case(
                "aten.segment_reduce.default",
                lambda x, n, how=how: torch.segment_reduce(x, how, lengths=n, unsafe=True),
                f32(7, 3),
                torch.tensor([2, 0, 4, 1]),
                id=how,
            )
            for how in ("sum", "mean", "max", "amax", "min", "prod")
        ),
        case(
            "aten.segment_reduce.default",
            lambda x, n: torch.segment_reduce(x, "mean", offsets=n, axis=1, initial=2.0),
            f32(2, 7, 3),
            torch.tensor([[0, 2, 2, 6, 7], [0, 1, 5, 7, 7]]),
            id="offsets",
        ),
        case(
            "aten.embedding_renorm.default",
            lambda x, i: torch.ops.aten.embedding_renorm(x, i, 1.0, 2.0),
            f32(6, 3),
            torch.tensor([[0, 3], [3, 5]]),
            dynamic=True,
        ),
        case(
            "aten.embedding_renorm.default",
            lambda x, i: torch.ops.aten.embedding_renorm(x, i, 1.5, 3.0),
            f32(6, 3),
            torch.tensor([0, 3]),
            id="cubic",
        ),
    ],
)
