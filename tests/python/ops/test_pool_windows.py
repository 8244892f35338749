import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f16, f32, f64, i64, suite

test_ops = suite(
    __file__,
    [
        case("aten.max_pool1d.default", lambda x: F.max_pool1d(x, 3), f32(2, 3, 10), dynamic=True),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(x, 3, 2, 1),
            f32(2, 3, 9, 8),
            dynamic=True,
        ),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(x, (2, 3), (2, 3), (1, 1), ceil_mode=True),
            f32(2, 3, 8, 9),
            id="ceil",
        ),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(x, 2, 3, ceil_mode=True),
            f32(2, 3, 9, 11),
            id="ceil-starts-outside",
        ),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
            f32(2, 3, 8, 9),
            id="ceil-dynamic",
            dynamic=True,
        ),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(x, 2, 1, dilation=(2, 1)),
            f32(3, 8, 9),
            id="unbatched",
        ),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2),
            f32(2, 3, 8, 8, low=-2, high=-1),
            id="zeros-before",
        ),
        case("aten.max_pool2d.default", lambda x: F.max_pool2d(x, 2), i64(1, 3, 8, 9), id="int"),
        case("aten.max_pool3d.default", lambda x: F.max_pool3d(x, 2, 2, 1), f32(1, 2, 5, 6, 7)),
        case(
            "aten.max_pool1d_with_indices.default",
            lambda x: F.max_pool1d(x, 3, 2, return_indices=True),
            f32(2, 3, 10),
        ),
        case(
            "aten.max_pool2d_with_indices.default",
            lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
            f32(2, 3, 9, 8),
            dynamic=True,
        ),
        case(
            "aten.max_pool2d_with_indices.default",
            lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True, ceil_mode=True),
            f32(3, 9, 8),
            id="unbatched",
        ),
        case(
            "aten.max_pool3d_with_indices.default",
            lambda x: F.max_pool3d(x, 2, return_indices=True),
            f32(1, 2, 4, 4, 4),
        ),
        case(
            "aten.avg_pool1d.default",
            lambda x: F.avg_pool1d(x, 3, 2, 1),
            f32(2, 3, 10),
            dynamic=True,
        ),
        case(
            "aten.avg_pool2d.default", lambda x: F.avg_pool2d(x, 2), f32(2, 3, 8, 8), dynamic=True
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            f32(3, 9, 8),
            id="exclude",
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
            f32(2, 3, 8, 10),
            id="ceil-include",
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
            f32(2, 3, 8, 10),
            id="ceil-exclude",
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True),
            f32(2, 3, 8, 11),
            id="ceil-no-pad",
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True),
            f32(2, 3, 8, 11),
            id="ceil-dynamic",
            dynamic=True,
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, divisor_override=5),
            f32(2, 3, 8, 11),
            id="divisor",
        ),
        case("aten.avg_pool3d.default", lambda x: F.avg_pool3d(x, 2, 1, 1), f32(1, 2, 5, 6, 7)),
        case(
            "aten.adaptive_avg_pool1d.default", lambda x: F.adaptive_avg_pool1d(x, 1), f32(2, 3, 7)
        ),
        case(
            "aten.adaptive_avg_pool2d.default",
            lambda x: F.adaptive_avg_pool2d(x, 1),
            f32(2, 3, 7, 5),
            dynamic=True,
        ),
        case(
            "aten.adaptive_avg_pool2d.default",
            lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
            f32(2, 3, 6, 8),
            id="divides",
        ),
        case(
            "aten.adaptive_avg_pool2d.default",
            lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
            f32(3, 7, 10),
            id="general",
        ),
        case(
            "aten.adaptive_avg_pool2d.default",
            lambda x: F.adaptive_avg_pool2d(x, (None, 1)),
            f32(2, 3, 7, 10),
            id="none",
        ),
        case(
            "aten.adaptive_avg_pool2d.default",
            lambda x: F.adaptive_avg_pool2d(x, 1),
            f64(2, 3, 7, 10),
            id="double",
        ),
        case(
            "aten.adaptive_avg_pool2d.default",
            lambda x: F.adaptive_avg_pool2d(x, 7),
            f32(2, 3, 3, 3),
            id="larger",
        ),
        case(
            "aten.adaptive_avg_pool3d.default",
            lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)),
            f32(1, 2, 5, 6, 7),
        ),
        case(
            "aten.adaptive_max_pool1d.default",
            lambda x: F.adaptive_max_pool1d(x, 2, return_indices=True),
            f32(2, 3, 8),
        ),
        case(
            "aten.adaptive_max_pool2d.default",
            lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
            f32(2, 3, 7, 5),
            dynamic=True,
        ),
        case(
            "aten.adaptive_max_pool2d.default",
            lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True),
            f32(2, 3, 7, 10),
            id="general",
        ),
        case(
            "aten.max_unpool2d.default",
            lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
            f32(2, 3, 6, 8),
        ),
        case("aten.max_pool2d.default", lambda x: F.max_pool2d(x, 2), f16(2, 3, 6, 8), id="half"),
        # ONNX Runtime fuses the two and pads with minus infinity, if it can.
        case(
            "aten.max_pool1d.default",
            lambda x: F.max_pool1d(F.pad(x, (1, 1)), 3, 2),
            f32(2, 3, 9, high=-1.0),
            id="padded",
        ),
        case(
            "aten.max_pool2d.default",
            lambda x: F.max_pool2d(x.bfloat16(), 2).float(),
            f32(2, 3, 8, 8),
            id="bf16",
        ),
        case(
            "aten.fractional_max_pool2d.default",
            lambda x, u: torch.ops.aten.fractional_max_pool2d(x, [2, 3], [4, 3], u),
            f32(2, 3, 9, 8),
            f32(2, 3, 2, low=0.0, high=0.99),
        ),
        case(
            "aten.fractional_max_pool2d.default",
            lambda x, u: torch.ops.aten.fractional_max_pool2d(x, [2, 2], [1, 3], u)[0],
            torch.tensor([[[1.0, 2, 3, 4], [5, float("nan"), 7, 8], [0, 1, 2, 3]]]),
            f32(1, 1, 2, low=0.0, high=0.99),
            id="nan",
        ),
        case(
            "aten.fractional_max_pool3d.default",
            lambda x, u: torch.ops.aten.fractional_max_pool3d(x, [2, 1, 2], [2, 3, 2], u),
            f32(2, 3, 5, 6, 5),
            f32(2, 3, 3, low=0.0, high=0.99),
        ),
        case(
            "aten.max_pool2d_with_indices_backward.default",
            lambda g, x: torch.ops.aten.max_pool2d_with_indices_backward(
                g,
                x,
                [3, 3],
                [2, 2],
                [1, 1],
                [1, 1],
                False,
                F.max_pool2d_with_indices(x, 3, 2, 1)[1],
            ),
            f32(2, 3, 4, 5),
            f32(2, 3, 8, 9),
        ),
        *(
            case(
                f"aten.adaptive_{kind}_pool{axes}d.default",
                getattr(F, f"adaptive_{kind}_pool{axes}d")
                if kind == "avg"
                else lambda x, s, axes=axes: getattr(F, f"adaptive_max_pool{axes}d")(
                    x, s, return_indices=True
                ),
                f32(2, 3, *(7, 5, 6)[:axes]),
                3,
                id="dynamic",
                dynamic=(dict.fromkeys(range(axes + 2), torch.export.Dim.AUTO), None),
            )
            for kind in ("avg", "max")
            for axes in (1, 2, 3)
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1),
            f64(2, 3, 8, 11),
            id="double",
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            f64(2, 3, 8, 11),
            id="double-uncounted",
            dynamic=True,
        ),
        case("aten.avg_pool1d.default", lambda x: F.avg_pool1d(x, 3, 1), f64(2, 3, 8), id="double"),
        case(
            "aten.avg_pool3d.default",
            lambda x: F.avg_pool3d(x, 2, 1, 1),
            f64(1, 2, 5, 6, 7),
            id="double",
        ),
    ],
)
