import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f16, f32, f64, suite, u8

ALL = {0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}


def to(size, mode, **options):
    return lambda x: F.interpolate(x, size=size, mode=mode, **options)


def by(factor, mode, **options):
    return lambda x: F.interpolate(x, scale_factor=factor, mode=mode, **options)


test_ops = suite(
    __file__,
    [
        case("aten.upsample_nearest1d.vec", by(2, "nearest"), f32(2, 3, 5)),
        case("aten.upsample_nearest2d.vec", by(2, "nearest"), f32(2, 3, 5, 6), dynamic=(ALL,)),
        case("aten.upsample_nearest2d.vec", to((7, 13), "nearest"), u8(2, 3, 5, 6), id="size"),
        case(
            "aten.upsample_nearest2d.vec",
            by((1.3, 0.7), "nearest"),
            f32(2, 3, 10, 9),
            id="fraction",
        ),
        case(
            "aten.upsample_nearest2d.vec", to((41, 82), "nearest"), f32(1, 1, 1, 2), id="rounding"
        ),
        case("aten.upsample_nearest2d.vec", to((5, 6), "nearest"), f32(2, 3, 5, 6), id="same"),
        case("aten.upsample_nearest3d.vec", by(2, "nearest"), f32(1, 2, 3, 4, 5)),
        case("aten._upsample_nearest_exact1d.vec", to(7, "nearest-exact"), f32(2, 3, 5)),
        case("aten._upsample_nearest_exact2d.vec", by(1.7, "nearest-exact"), f32(2, 3, 5, 6)),
        case(
            "aten._upsample_nearest_exact2d.vec",
            by(2, "nearest-exact"),
            f32(2, 3, 5, 6),
            id="dynamic",
            dynamic=(ALL,),
        ),
        case("aten._upsample_nearest_exact3d.vec", by(2, "nearest-exact"), f32(1, 2, 3, 4, 5)),
        case("aten.upsample_linear1d.vec", by(2, "linear"), f32(2, 3, 5)),
        case(
            "aten.upsample_linear1d.vec",
            to(8, "linear", align_corners=True),
            f32(2, 3, 5),
            id="corners",
        ),
        case("aten.upsample_bilinear2d.vec", by(2, "bilinear"), f32(2, 3, 5, 6), dynamic=(ALL,)),
        case("aten.upsample_bilinear2d.vec", to((9, 4), "bilinear"), f32(2, 3, 5, 6), id="size"),
        case(
            "aten.upsample_bilinear2d.vec",
            lambda x: F.interpolate(x, size=(x.shape[2] * 2 + 1, x.shape[3] + 3), mode="bilinear"),
            f32(2, 3, 5, 6),
            id="size-dynamic",
            dynamic=(ALL,),
        ),
        case(
            "aten.upsample_bilinear2d.vec",
            to((9, 4), "bilinear", align_corners=True),
            f32(2, 3, 5, 6),
            id="corners",
        ),
        case(
            "aten.upsample_bilinear2d.vec",
            by(1.5, "bilinear", align_corners=True),
            f32(2, 3, 5, 6),
            id="corners-dynamic",
            dynamic=(ALL,),
        ),
        case(
            "aten.upsample_bilinear2d.vec",
            by((1.3, 0.7), "bilinear"),
            f32(2, 3, 10, 9),
            id="fraction",
        ),
        case("aten.upsample_bilinear2d.vec", to((9, 4), "bilinear"), f16(2, 3, 5, 6), id="half"),
        case("aten.upsample_trilinear3d.vec", by(2, "trilinear"), f32(1, 2, 3, 4, 5)),
        case(
            "aten.upsample_trilinear3d.vec",
            to((4, 5, 6), "trilinear", align_corners=True),
            f32(1, 2, 3, 4, 5),
            id="corners",
        ),
        case("aten.upsample_bicubic2d.vec", by(2, "bicubic"), f32(2, 3, 5, 6)),
        case(
            "aten.upsample_bicubic2d.vec",
            to((9, 4), "bicubic", align_corners=True),
            f32(2, 3, 5, 6),
            id="corners",
        ),
        case(
            "aten._upsample_bilinear2d_aa.vec",
            to((4, 3), "bilinear", antialias=True),
            f32(2, 3, 9, 10),
        ),
        case(
            "aten._upsample_bilinear2d_aa.vec",
            to((14, 13), "bilinear", antialias=True),
            f32(2, 3, 9, 10),
            id="up",
        ),
        case(
            "aten._upsample_bicubic2d_aa.vec",
            to((4, 3), "bicubic", antialias=True),
            f32(2, 3, 9, 10),
        ),
        case(
            "aten.upsample_nearest2d.default",
            lambda x: torch.ops.aten.upsample_nearest2d(x, [10, 12], 2.0, 2.0),
            f32(2, 3, 5, 6),
        ),
        case(
            "aten.upsample_bilinear2d.default",
            lambda x: torch.ops.aten.upsample_bilinear2d(x, [10, 12], False),
            f32(2, 3, 5, 6),
        ),
        *(
            case(
                f"aten.upsample_{name}{axes}d.vec",
                to(size, name, align_corners=corners),
                f64(2, 3, *(5, 6, 4)[:axes]),
                id=f"double-{corners}",
            )
            for name, axes, size in (
                ("linear", 1, (8,)),
                ("bilinear", 2, (8, 4)),
                ("bicubic", 2, (8, 4)),
                ("trilinear", 3, (8, 4, 9)),
            )
            for corners in (False, True)
        ),
        case(
            "aten.upsample_bilinear2d.vec",
            lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
            f64(2, 3, 5, 6),
            id="double-scale",
        ),
        *(
            case(
                f"aten._upsample_{mode}2d_aa.vec",
                to((4, 13), mode, antialias=True, align_corners=corners),
                of(2, 3, 9, 10),
                id=f"{of.__name__}-{corners}",
            )
            for mode in ("bilinear", "bicubic")
            for of, corners in ((f64, False), (f64, True), (f32, True))
        ),
        *(
            case(
                "aten._upsample_lanczos2d_aa.vec",
                to(size, "lanczos", antialias=True),
                f32(2, 3, 9, 10),
                id=f"{size}",
            )
            for size in ((4, 3), (14, 13))
        ),
        case(
            "aten._upsample_lanczos2d_aa.default",
            lambda x: torch.ops.aten._upsample_lanczos2d_aa(x, [4, 7], False),
            f64(2, 3, 9, 10),
        ),
    ],
)
