import torch

from tests.python.ops.harness import case, f32, suite

aten = torch.ops.aten
X, Y = f32(3, 5), f32(3, 5)

test_ops = suite(
    __file__,
    [
        case("aten.sigmoid_backward.default", lambda x, y: aten.sigmoid_backward(x, y), X, Y),
        case("aten.tanh_backward.default", lambda x, y: aten.tanh_backward(x, y), X, Y),
        case(
            "aten.threshold_backward.default", lambda x, y: aten.threshold_backward(x, y, 0), X, Y
        ),
        case(
            "aten.leaky_relu_backward.default",
            lambda x, y: aten.leaky_relu_backward(x, y, 0.2, False),
            X,
            Y,
        ),
        case(
            "aten.hardtanh_backward.default",
            lambda x, y: aten.hardtanh_backward(x, y, -1, 1),
            X,
            Y,
        ),
    ],
)
