import torch

from tests.python.ops.harness import case, f32, suite

test_ops = suite(
    __file__,
    [
        case("aten.hann_window.default", lambda x: x + torch.hann_window(9), f32(9)),
        case("aten.hann_window.periodic", lambda x: x + torch.hann_window(9, False), f32(9)),
        case("aten.hamming_window.default", lambda x: x + torch.hamming_window(9), f32(9)),
        case(
            "aten.hamming_window.periodic_alpha_beta",
            lambda x: x + torch.hamming_window(9, True, 0.6, 0.4),
            f32(9),
        ),
        case("aten.blackman_window.default", lambda x: x + torch.blackman_window(9), f32(9)),
        case(
            "aten.bartlett_window.periodic", lambda x: x + torch.bartlett_window(9, False), f32(9)
        ),
        case("aten.kaiser_window.default", lambda x: x + torch.kaiser_window(9), f32(9)),
        case("aten.kaiser_window.beta", lambda x: x + torch.kaiser_window(1, False, 5.0), f32(9)),
    ],
)
