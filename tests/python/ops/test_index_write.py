import torch

from tests.python.ops.harness import boolean, case, f16, f32, i64, suite

NAN = float("nan")


def rows(n, *shape):
    return i64(*shape, low=0, high=n)


PICKS = torch.tensor([3, 0, 2])
EVEN = torch.tensor([True, False, True, False])


def assign_axis(x, i, v):
    x = x.clone()
    x[:, i] = v
    return x


def assign_apart(x, i, v):
    x = x.clone()
    x[i, :, i] = v
    return x


def assign_part(x):
    x = x.clone()
    x[:, 1:3] = 7.0
    x[0, ::2] += 1
    x[1:].fill_(3)
    return x


test_ops = suite(
    __file__,
    [
        case(
            "aten.index_put.default",
            lambda x, i: x.index_put((i,), x[i] * 2),
            f32(4, 5),
            PICKS,
            dynamic=True,
        ),
        case(
            "aten.index_put.default",
            lambda x, i: x.index_put((i,), x[1] * 2, accumulate=True),
            f32(4, 5),
            rows(4, 6),
            id="adds",
            dynamic=True,
        ),
        case(
            "aten.index_put.default",
            lambda x, i, j, v: x.index_put((i, j), v),
            f32(4, 5),
            PICKS,
            PICKS,
            f32(3),
            id="pairs",
        ),
        case("aten.index_put_.default", assign_axis, f32(2, 4, 5), PICKS, f32(2, 3, 5), id="axis"),
        case("aten.index_put_.default", assign_apart, f32(4, 2, 5), PICKS, f32(3, 1), id="apart"),
        case(
            "aten.index_put.default",
            lambda x: x.index_put((x > 0,), x[0, 0]),
            f32(4, 5),
            id="mask",
            dynamic=True,
        ),
        case(
            "aten.index_put.default",
            lambda x: x.index_put((x[:, 0] > 0,), x[1]),
            f32(4, 5),
            id="mask row",
            dynamic=True,
        ),
        case(
            "aten.index_put.default",
            lambda x, m: x.index_put((m,), x[m] * 2),
            f32(4, 5),
            boolean(4, 5),
            id="mask values",
            dynamic=True,
        ),
        case(
            "aten.index_put.default",
            lambda x, m, j, v: x.index_put((m, j), v),
            f32(4, 5),
            boolean(4),
            rows(5, 1),
            f32(1),
            id="mask and index",
        ),
        *(
            case(
                "aten.index_put.default",
                lambda x, m, n, v: x.index_put((m, n), v),
                f32(4, 5),
                mask,
                torch.tensor([False, True, True, False, False]),
                value,
                id=f"masks {name}",
            )
            for name, mask, value in (
                ("scalar", EVEN, f32()),
                ("values", EVEN, f32(2)),
                ("broadcast", EVEN & (torch.arange(4) > 0), f32()),
            )
        ),
        case(
            "aten.index_put.default",
            lambda x, m, n, v: torch.ops.aten.index_put(x, [m, None, n], v, True),
            f32(4, 2, 5),
            EVEN,
            torch.tensor([False, True, True, False, False]),
            f32(2, 2),
            id="masks apart",
        ),
        case(
            "aten.index_copy.default",
            lambda x, i, s: x.index_copy(0, i, s),
            f32(4, 5),
            PICKS,
            f32(3, 5),
        ),
        case(
            "aten.index_copy.default",
            lambda x, i, s: x.index_copy(1, i, s),
            f32(2, 4),
            PICKS,
            f32(2, 3),
            id="axis",
            dynamic=True,
        ),
        case(
            "aten.index_add.default",
            lambda x, i: x.index_add(0, i, x[i] + 1, alpha=2),
            f32(4, 5),
            rows(4, 6),
            dynamic=True,
        ),
        case(
            "aten.index_add.default",
            lambda x, i, s: x.index_add(-1, i, s),
            i64(2, 4),
            rows(4, 6),
            i64(2, 6),
            id="axis",
        ),
        case(
            "aten.index_add.default",
            lambda x, i, s: x.index_add(0, i, s),
            f16(4, 2),
            rows(4, 6),
            f16(6, 2),
            id="f16",
        ),
        case(
            "aten.index_fill.int_Scalar",
            lambda x, i: x.index_fill(1, i, 2),
            f32(2, 4),
            PICKS,
            dynamic=True,
        ),
        case(
            "aten.index_fill.int_Scalar",
            lambda x: x.index_fill(1, torch.tensor([0, -1]), 2),
            f32(2, 4),
            id="constant",
        ),
        case(
            "aten.index_fill.int_Tensor",
            lambda x, i, v: x.index_fill(0, i, v),
            i64(4, 2),
            PICKS,
            i64(),
        ),
        case(
            "aten.index_reduce.default",
            lambda x, i, s: x.index_reduce(0, i, s, "amax"),
            f32(4, 5),
            rows(4, 6),
            f32(6, 5),
        ),
        case(
            "aten.index_reduce.default",
            lambda x, i, s: x.index_reduce(1, i, s, "mean", include_self=False),
            f32(2, 4),
            rows(4, 6),
            f32(2, 6),
            id="mean",
        ),
        case(
            "aten.scatter.src",
            lambda x, i, s: x.scatter(0, i, s),
            f32(4, 3),
            torch.tensor([[0, 1, 2], [3, 0, 1]]),
            f32(4, 3),
        ),
        case(
            "aten.scatter.src",
            lambda x, i, s: x.scatter(1, i, s),
            f32(2, 4),
            PICKS.expand(2, 3).contiguous(),
            f32(2, 3),
            id="dynamic",
            dynamic=True,
        ),
        case(
            "aten.scatter.value",
            lambda x, i: x.scatter(-1, i, 7),
            f32(2, 4),
            rows(4, 2, 3),
            dynamic=True,
        ),
        case(
            "aten.scatter.value",
            lambda x, i: x.scatter(0, i, 7),
            f32(),
            i64(low=0, high=1),
            id="scalar",
        ),
        case(
            "aten.scatter.reduce",
            lambda x, i, s: x.scatter(1, i, s, reduce="multiply"),
            f32(2, 4),
            rows(4, 2, 3),
            f32(2, 3),
        ),
        case(
            "aten.scatter_add.default",
            lambda x, i, s: x.scatter_add(1, i, s),
            f32(2, 4),
            rows(4, 2, 6),
            f32(2, 6),
            dynamic=True,
        ),
        case(
            "aten.scatter_add.default",
            lambda x, i, s: x.scatter_add(0, i, s),
            boolean(4),
            rows(4, 6),
            boolean(6),
            id="bool",
        ),
        *(
            case(
                "aten.scatter_reduce.two",
                lambda x, i, s, how=how, own=own: x.scatter_reduce(1, i, s, how, include_self=own),
                f32(2, 4),
                rows(4, 2, 6),
                f32(2, 6),
                id=f"{how} {own}",
            )
            for how in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        ),
        case(
            "aten.scatter_reduce.two",
            lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
            i64(4),
            rows(4, 6),
            i64(6),
            id="mean int",
        ),
        case(
            "aten.scatter_reduce.two",
            lambda x, i, s: x.scatter_reduce(0, i, s, "amin", include_self=False),
            i64(4),
            rows(4, 6),
            i64(6),
            id="amin int",
        ),
        case(
            "aten.masked_scatter.default",
            lambda x, m, s: x.masked_scatter(m, s),
            f32(4, 5),
            boolean(5),
            f32(5, 4),
            dynamic=True,
        ),
        case(
            "aten.put.default",
            lambda x, i, s: x.put(i, s, accumulate=True),
            f32(4, 5),
            rows(20, 3),
            f32(3),
        ),
        case(
            "aten.select_scatter.default",
            lambda x: x.select_scatter(x[:, 0] * 2, 1, -1),
            f32(4, 5),
            dynamic=({0: torch.export.Dim.DYNAMIC},),
        ),
        case(
            "aten.select_scatter.default",
            lambda x: x.select_scatter(~x[0], 0, 1),
            boolean(4, 5),
            id="dynamic",
            dynamic=True,
        ),
        case("aten.slice.Tensor", assign_part, f32(4, 5), id="writes"),
        case(
            "aten.slice_scatter.default",
            lambda x: x.slice_scatter(x[::2] * 2, 0, 0, None, 2),
            f32(4, 5),
            dynamic=True,
            id="dynamic step",
        ),
        case(
            "aten.slice_scatter.default",
            lambda x: x.slice_scatter(x[:2] * 2, 0, 1, 3),
            f32(4, 5),
            dynamic=({0: torch.export.Dim.DYNAMIC},),
            id="dynamic",
        ),
        case(
            "aten.slice_scatter.default",
            lambda x, s: x.slice_scatter(s, 1, 1, 3),
            f32(4, 5),
            f32(4, 2),
        ),
        case(
            "aten.slice_scatter.default",
            lambda x, s: x.slice_scatter(s, 0, -2),
            f32(4, 5),
            f32(2, 5),
            id="end",
        ),
        case(
            "aten.slice_scatter.default",
            lambda x, s: x.slice_scatter(s, 1, 1, None, 2),
            i64(4, 6),
            i64(4, 3),
            id="step",
        ),
        case(
            "aten.diagonal_scatter.default",
            lambda x, s: x.diagonal_scatter(s, 1),
            f32(4, 5),
            f32(4),
        ),
        case(
            "aten.diagonal_scatter.default",
            lambda x, s: x.diagonal_scatter(s, -1, 0, 2),
            f32(4, 2, 5),
            f32(2, 3),
            id="planes",
        ),
        case(
            "aten.slice_backward.default",
            lambda g: torch.ops.aten.slice_backward(g, [6, 5], 0, 1, 6, 2),
            f32(3, 5),
        ),
        case(
            "aten.select_backward.default",
            lambda g: torch.ops.aten.select_backward(g, [4, 6, 5], 1, -1),
            f32(4, 5),
        ),
        *(
            case(
                "aten.index_reduce.default",
                lambda x, i, y, form=form, own=own: x.index_reduce(0, i, y, form, include_self=own),
                torch.tensor([1.0, NAN, 3.0, 4.0]),
                torch.tensor([0, 0, 2, 1]),
                torch.tensor([NAN, 5.0, 2.0, 7.0]),
                id=f"NaN-{form}-{own}",
            )
            for form in ("amax", "amin")
            for own in (False, True)
        ),
    ],
)
