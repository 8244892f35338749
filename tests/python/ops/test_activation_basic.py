import math

import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f16, f32, f64, i64, suite, u8

NAN = torch.tensor([float("nan"), 0.1, 2.0, -0.1, -2.0, float("inf")])
ZERO = torch.tensor([0.0, -0.0, 1.0, -1.0])
BF16 = torch.linspace(-3, 3, 9).bfloat16()
OLD = ("--opset", "18")
NAMES = ("relu6", "hardsigmoid", "hardswish", "selu", "elu", "celu", "mish", "silu", "softplus")
PLAIN = [(f"aten.{name}.default", getattr(F, name)) for name in NAMES]
PLAIN[0] = ("aten.relu6.default", lambda x: torch.ops.aten.relu6(x))

test_ops = suite(
    __file__,
    [
        *(
            case(op, function, f32(3, 9, low=-5.0, high=7.0), dynamic=True)
            for op, function in PLAIN
        ),
        *(case(op, function, f64(9, low=-5.0, high=7.0), id="f64") for op, function in PLAIN),
        *(case(op, function, f16(9), id="f16") for op, function in PLAIN),
        *(case(op, function, BF16, id="bf16", options=OLD) for op, function in PLAIN),
        case("aten.relu.default", torch.relu, i64(9)),
        case("aten.gelu.default", F.gelu, f32(9), dynamic=True),
        case("aten.gelu.default", F.gelu, f32(9), id="18", options=OLD),
        case("aten.gelu.default", F.gelu, f64(9), id="f64"),
        case("aten.gelu.default", F.gelu, f16(9), id="f16"),
        case("aten.gelu.default", lambda x: F.gelu(x, approximate="tanh"), f32(9), id="tanh"),
        case("aten.gelu.default", lambda x: F.gelu(x, approximate="tanh"), f64(9), id="t64"),
        case(
            "aten.gelu.default",
            lambda x: F.gelu(x, approximate="tanh"),
            f32(9),
            id="t18",
            options=OLD,
        ),
        case("aten.hardtanh.default", lambda x: F.hardtanh(x, -0.5, 0.7), f32(9)),
        case("aten.hardtanh.default", lambda x: F.hardtanh(x, math.nan, 0.7), NAN, id="nan"),
        case("aten.leaky_relu.default", lambda x: F.leaky_relu(x, 0.2), f32(9)),
        case("aten.leaky_relu.default", lambda x: F.leaky_relu(x, 0.2), f64(9), id="f64"),
        case("aten.rrelu.default", lambda x: F.rrelu(x, 0.1, 0.3), f32(9)),
        case("aten.prelu.default", F.prelu, f32(2, 3, 4, 4), f32(3)),
        case("aten.prelu.default", F.prelu, f32(2, 3, 4), f32(1), id="one", dynamic=True),
        case("aten.prelu.default", F.prelu, f64(2, 3), f64(3), id="f64"),
        case("aten.elu.default", lambda x: F.elu(x, 0.5), f32(9), id="alpha"),
        case("aten.celu.default", lambda x: F.celu(x, 2.0), f32(9), id="alpha"),
        case("aten.celu.default", lambda x: F.celu(x, math.inf), NAN, id="infinite"),
        case("aten.celu.default", lambda x: F.celu(x, math.inf), ZERO, id="infinite zero"),
        case("aten.celu.default", lambda x: F.celu(x, math.inf), NAN.half(), id="infinite f16"),
        case("aten.elu.default", lambda x: F.elu(x, math.inf), ZERO, id="infinite"),
        case("aten.elu.default", lambda x: F.elu(x, math.inf), ZERO.double(), id="infinite f64"),
        case("aten.softplus.default", lambda x: F.softplus(x, 2.0, 1.0), f32(9), id="threshold"),
        case("aten.threshold.default", lambda x: F.threshold(x, 0.5, 7.0), f32(9)),
        case("aten.threshold.default", lambda x: F.threshold(x, 2, 7), i64(9), id="int"),
        case("aten.glu.default", lambda x: F.glu(x, -1), f32(3, 8)),
        case("aten.glu.default", lambda x: F.glu(x, 0), f32(4, 8), id="dim"),
        case("aten.log_sigmoid.default", F.logsigmoid, f32(9, low=-90.0, high=90.0)),
        case("aten.softshrink.default", F.softshrink, f32(9)),
        case("aten.hardshrink.default", F.hardshrink, f64(9)),
        case("aten.hardtanh.default", lambda x: F.hardtanh(x, -1, 3), u8(9), id="u8"),
        case("aten.hardshrink.default", lambda x: F.hardshrink(x), NAN, id="nan"),
        case("aten.softshrink.default", lambda x: F.softshrink(x), NAN, id="nan"),
    ],
)
