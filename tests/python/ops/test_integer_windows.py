import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, i32, i64, suite, u8

AUTO = torch.export.Dim.AUTO


test_ops = suite(
    __file__,
    [
        case("aten.conv1d.default", F.conv1d, i64(2, 3, 9), i64(4, 3, 3), i64(4)),
        case(
            "aten.conv1d.default",
            lambda x, w: F.conv1d(x, w, stride=2, padding=1),
            i32(2, 3, 9),
            i32(4, 3, 3),
            id="dynamic",
            dynamic=({0: AUTO, 2: AUTO}, None),
        ),
        case("aten.conv1d.default", F.conv1d, u8(3, 9), u8(4, 3, 2), id="bytes wrap around"),
        case(
            "aten.conv2d.default",
            lambda x, w, b: F.conv2d(
                x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2
            ),
            i64(2, 4, 9, 9),
            i64(6, 2, 3, 3),
            i64(6),
        ),
        case(
            "aten.conv3d.default",
            lambda x, w: F.conv3d(x, w, padding=1),
            i64(1, 2, 4, 5, 6),
            i64(3, 2, 3, 3, 3),
        ),
        *(
            case(
                f"aten.conv_transpose{axes}d.{form}",
                lambda x, w, b, axes=axes: getattr(F, f"conv_transpose{axes}d")(
                    x, w, b, stride=3, padding=1, output_padding=1, dilation=2, groups=2
                ),
                i64(2, 4, *(5, 4, 3)[:axes]),
                i64(4, 3, *(3, 2, 2)[:axes]),
                i64(6),
            )
            for axes, form in ((1, "default"), (2, "input"), (3, "input"))
        ),
        case(
            "aten.avg_pool1d.default",
            lambda x: F.avg_pool1d(x, 3, 2, 1),
            i64(2, 3, 10),
            dynamic=True,
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            i64(2, 3, 9, 8),
            id="padding that does not count",
            dynamic=True,
        ),
        case(
            "aten.avg_pool2d.default",
            lambda x: F.avg_pool2d(x, (3, 2), 2, 1, ceil_mode=True),
            i64(3, 8, 9),
            id="hanging over",
        ),
        case(
            "aten.avg_pool3d.default",
            lambda x: F.avg_pool3d(x, 2, divisor_override=3),
            i64(1, 2, 4, 4, 5),
        ),
    ],
)
