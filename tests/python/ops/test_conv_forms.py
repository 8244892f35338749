import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f16, f32, f64, suite

AUTO = torch.export.Dim.AUTO


ANY = torch.export.Dim.AUTO


def stride_of(padding):
    """Return a stride, which must be 1 where the padding keeps the extents."""
    return 1 if padding == "same" else 2


test_ops = suite(
    __file__,
    [
        case("aten.conv1d.default", F.conv1d, f32(2, 3, 9), f32(4, 3, 3), f32(4), dynamic=True),
        case(
            "aten.conv2d.default",
            lambda x, w, b: F.conv2d(
                x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2
            ),
            f32(2, 4, 9, 9),
            f32(6, 2, 3, 3),
            f32(6),
            id="full",
        ),
        case("aten.conv2d.default", F.conv2d, f32(3, 9, 9), f32(4, 3, 3, 3), id="unbatched"),
        case("aten.conv2d.default", F.conv2d, f16(1, 3, 9, 9), f16(4, 3, 3, 3), id="half"),
        case("aten.conv2d.default", F.conv2d, f64(1, 3, 5, 5), f64(4, 3, 3, 3), id="double"),
        case(
            "aten.conv3d.default",
            lambda x, w: F.conv3d(x, w, padding=1),
            f32(1, 2, 4, 5, 6),
            f32(3, 2, 3, 3, 3),
            dynamic=True,
        ),
        case(
            "aten.conv1d.padding",
            lambda x, w: F.conv1d(x, w, padding="same"),
            f32(2, 3, 9),
            f32(4, 3, 4),
        ),
        case(
            "aten.conv2d.padding",
            lambda x, w: F.conv2d(x, w, padding="same", dilation=(1, 3)),
            f32(2, 3, 9, 8),
            f32(4, 3, 2, 4),
            dynamic={"x": {0: AUTO, 2: AUTO, 3: AUTO}, "w": None},
        ),
        case(
            "aten.conv2d.padding",
            lambda x, w: F.conv2d(x, w, padding="valid", stride=2),
            f32(2, 3, 9, 8),
            f32(4, 3, 2, 4),
            id="valid",
        ),
        case(
            "aten.convolution.default",
            lambda x, w: torch.convolution(x, w, None, [1], [0], [1], False, [0], 1),
            f32(2, 3, 9),
            f32(4, 3, 3),
        ),
        case(
            "aten.convolution.default",
            lambda x, w, b: torch.convolution(x, w, b, [2, 2], [1, 0], [1, 1], True, [1, 0], 1),
            f32(2, 3, 5, 5),
            f32(3, 4, 3, 3),
            f32(4),
            id="transposed",
        ),
        case(
            "aten.conv_transpose1d.default",
            lambda x, w: F.conv_transpose1d(x, w, stride=3, output_padding=2),
            f32(2, 3, 9),
            f32(3, 4, 3),
            dynamic=True,
        ),
        case(
            "aten.conv_transpose2d.input",
            lambda x, w, b: F.conv_transpose2d(
                x, w, b, stride=2, padding=1, output_padding=1, groups=2, dilation=2
            ),
            f32(2, 4, 5, 5),
            f32(4, 3, 3, 3),
            f32(6),
        ),
        case(
            "aten.conv_transpose2d.input",
            F.conv_transpose2d,
            f32(4, 5, 5),
            f32(4, 3, 3, 3),
            id="unbatched",
        ),
        case(
            "aten.conv_transpose3d.input",
            lambda x, w: F.conv_transpose3d(x, w, stride=2),
            f32(1, 2, 3, 3, 3),
            f32(2, 2, 2, 2, 2),
        ),
        case(
            "aten.conv_tbc.default",
            lambda x, w, b: torch.conv_tbc(x, w, b, 1),
            f32(7, 2, 3),
            f32(3, 3, 4),
            f32(4),
        ),
        case(
            "aten.im2col.default",
            lambda x: F.unfold(x, (2, 3), dilation=2, padding=1, stride=2),
            f32(2, 3, 8, 9),
        ),
        case("aten.im2col.default", lambda x: F.unfold(x, 2), f32(3, 8, 9), id="unbatched"),
        case(
            "aten.im2col.default",
            lambda x: F.unfold(x, 3, padding=1),
            f32(2, 3, 8, 9),
            id="dynamic",
            dynamic=True,
        ),
        case(
            "aten.col2im.default",
            lambda x: F.fold(x, (4, 5), 2, padding=1, stride=1),
            f32(2, 12, 30),
        ),
        case(
            "aten.col2im.default",
            lambda x: F.fold(x, (4, 6), 2, stride=2),
            f32(12, 6),
            id="unbatched",
        ),
        case(
            "aten.conv2d.default",
            lambda x, w, b: F.conv2d(x.bfloat16(), w.bfloat16(), b.bfloat16()).float(),
            f32(1, 3, 6, 5),
            f32(4, 3, 2, 2),
            f32(4),
            id="bf16",
        ),
        # ONNX Runtime has no convolution of float64.
        *(
            case(
                f"aten.conv{axes}d.{form}",
                lambda x, w, b, axes=axes, padding=padding: getattr(F, f"conv{axes}d")(
                    x, w, b, stride=stride_of(padding), padding=padding, dilation=2, groups=2
                ),
                f64(2, 4, *(9, 8, 7)[:axes]),
                f64(6, 2, *(3, 2, 2)[:axes]),
                f64(6),
                id="double",
                dynamic=dynamic and ({0: ANY, 2: ANY}, None, None),
            )
            for axes, form, padding, dynamic in (
                (1, "default", 1, True),
                (2, "default", 1, True),
                (2, "padding", "same", None),
                (3, "default", 1, None),
            )
        ),
        case("aten.conv2d.default", F.conv2d, f64(3, 6, 7), f64(2, 3, 3, 3), id="double-plain"),
        *(
            case(
                f"aten.conv_transpose{axes}d.{form}",
                lambda x, w, b, axes=axes: getattr(F, f"conv_transpose{axes}d")(
                    x, w, b, stride=3, padding=1, output_padding=1, dilation=2, groups=2
                ),
                f64(2, 4, *(5, 4, 3)[:axes]),
                f64(4, 3, *(3, 2, 2)[:axes]),
                f64(6),
                id="double",
                dynamic=dynamic and ({0: ANY, 2: ANY}, None, None),
            )
            for axes, form, dynamic in (
                (1, "default", True),
                (2, "input", True),
                (3, "input", None),
            )
        ),
        case(
            "aten.conv_transpose2d.input",
            F.conv_transpose2d,
            f64(2, 4, 5, 4),
            f64(4, 3, 3, 3),
            id="double-plain",
        ),
    ],
)
