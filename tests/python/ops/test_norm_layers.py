import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f16, f32, f64, suite

aten = torch.ops.aten
POSITIVE = f32(4, low=0.5)

test_ops = suite(
    __file__,
    [
        case(
            "aten.batch_norm.default",
            lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
            f32(2, 4, 3, 5),
            f32(4),
            POSITIVE,
            f32(4),
            f32(4),
            dynamic=True,
        ),
        case(
            "aten.batch_norm.default",
            lambda x, m, v: F.batch_norm(x, m, v),
            f32(5, 4),
            f32(4),
            POSITIVE,
            id="plain",
        ),
        case(
            "aten.batch_norm.default",
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
            f32(5, 4, 3),
            f32(4),
            f32(4),
            id="batch",
        ),
        case(
            "aten._native_batch_norm_legit.no_stats",
            lambda x, w, b: aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5),
            f32(5, 4, 3),
            f32(4),
            f32(4),
        ),
        case(
            "aten._native_batch_norm_legit_no_training.default",
            lambda x, w, b, m, v: aten._native_batch_norm_legit_no_training(
                x, w, b, m, v, 0.1, 1e-5
            ),
            f32(5, 4, 3),
            f32(4),
            f32(4),
            f32(4),
            POSITIVE,
        ),
        case(
            "aten._native_batch_norm_legit_functional.default",
            lambda x, w, b, m, v: aten._native_batch_norm_legit_functional(
                x, w, b, m, v, True, 0.1, 1e-5
            ),
            f32(5, 4, 3),
            f32(4),
            f32(4),
            f32(4),
            POSITIVE,
            dynamic=True,
        ),
        case(
            "aten.native_batch_norm.default",
            lambda x, w, b, m, v: aten.native_batch_norm(x, w, b, m, v, False, 0.1, 1e-5)[0],
            f32(5, 4, 3),
            f32(4),
            f32(4),
            f32(4),
            POSITIVE,
        ),
        case(
            "aten.instance_norm.default",
            lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
            f32(2, 4, 5, 3),
            f32(4),
            f32(4),
            dynamic=True,
        ),
        case("aten.instance_norm.default", F.instance_norm, f64(2, 4, 5), id="double"),
        case(
            "aten.instance_norm.default",
            lambda x, m, v: F.instance_norm(x, m, v, use_input_stats=False),
            f32(2, 4, 5),
            f32(4),
            POSITIVE,
            id="running",
        ),
        case(
            "aten.layer_norm.default",
            lambda x, w, b: F.layer_norm(x, (4,), w, b),
            f32(2, 3, 4),
            f32(4),
            f32(4),
            dynamic={
                "x": {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO},
                "w": None,
                "b": None,
            },
        ),
        case(
            "aten.layer_norm.default",
            lambda x: F.layer_norm(x, (3, 4), eps=1e-3),
            f32(2, 3, 4),
            id="plain",
        ),
        case(
            "aten.layer_norm.default",
            lambda x, w: F.layer_norm(x, (4,), w),
            f16(2, 3, 4),
            f16(4),
            id="half",
        ),
        case(
            "aten.layer_norm.default",
            lambda x, w: F.layer_norm(x, (4,), w),
            f64(2, 3, 4),
            f64(4),
            id="double",
        ),
        case(
            "aten.native_layer_norm.default",
            lambda x, w, b: torch.native_layer_norm(x, (4,), w, b, 1e-5),
            f32(2, 3, 4),
            f32(4),
            f32(4),
        ),
        case(
            "aten.group_norm.default",
            lambda x, w, b: F.group_norm(x, 2, w, b),
            f32(2, 4, 3, 5),
            f32(4),
            f32(4),
            dynamic={
                "x": {0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO},
                "w": None,
                "b": None,
            },
        ),
        case(
            "aten.group_norm.default",
            lambda x, w, b: F.group_norm(x, 2, w, b),
            f32(2, 4, 3, 5),
            f32(4),
            f32(4),
            id="21",
            options=("--opset", "21"),
        ),
        case("aten.group_norm.default", lambda x: F.group_norm(x, 2), f64(2, 4, 3), id="double"),
        case("aten.group_norm.default", lambda x: F.group_norm(x, 2), f32(2, 4), id="no-space"),
        case(
            "aten.native_group_norm.default",
            lambda x, w, b: torch.native_group_norm(x, w, b, 2, 4, 15, 2, 1e-5),
            f32(2, 4, 3, 5),
            f32(4),
            f32(4),
        ),
        case(
            "aten.rms_norm.default", lambda x, w: F.rms_norm(x, (4,), w, 1e-6), f32(2, 3, 4), f32(4)
        ),
        case("aten.rms_norm.default", lambda x: F.rms_norm(x, (3, 4)), f32(2, 3, 4), id="plain"),
        case(
            "aten.rms_norm.default",
            lambda x, w: F.rms_norm(x, (4,), w, 1e-6),
            f32(2, 3, 4),
            f32(4),
            id="23",
            options=("--opset", "23"),
        ),
        case(
            "aten.rms_norm.default",
            lambda x, w: F.rms_norm(x, (4,), w),
            f16(2, 3, 4),
            f16(4),
            id="half",
        ),
        case(
            "aten._fused_rms_norm.default",
            lambda x, w: aten._fused_rms_norm(x, (4,), w, 1e-6),
            f32(2, 3, 4),
            f32(4),
        ),
        case(
            "aten._weight_norm.default",
            lambda v, g: torch._weight_norm(v, g, 0),
            f32(3, 4, 2),
            f32(3, 1, 1),
        ),
        case(
            "aten._weight_norm_interface.default",
            lambda v, g: aten._weight_norm_interface(v, g, 1),
            f32(3, 4),
            f32(1, 4),
        ),
        case("aten.renorm.default", lambda x: x.renorm(2, 0, 1.5), f32(3, 4, 2)),
        case("aten.group_norm.default", lambda x: F.group_norm(x, 1), f32(0, 2), id="no rows"),
    ],
)
