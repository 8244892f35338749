import torch
import torch.nn.functional as F

from tests.python.ops.harness import case, f32, suite


def sample(mode, padding, corners):
    return lambda x, g: F.grid_sample(x, g, mode, padding, corners)


IMAGE = (f32(2, 3, 5, 6), f32(2, 4, 7, 2, low=-1.5, high=1.5))
VOLUME = (f32(2, 3, 4, 5, 6), f32(2, 3, 4, 5, 3, low=-1.5, high=1.5))

# Coordinates that fit no integer, or are not finite.
FAR = (
    f32(1, 2, 5, 6),
    torch.tensor([torch.nan, torch.inf, 1e10, -1e30, 3e38, 0.5]).reshape(1, 3, 1, 2),
)
HUGE = (FAR[0], torch.tensor([1e10, -1e10, 1e30, -1e30, 17.0, 0.5]).reshape(1, 3, 1, 2))

test_ops = suite(
    __file__,
    [
        case("aten.grid_sampler.default", sample("bilinear", "zeros", False), *IMAGE),
        case(
            "aten.grid_sampler.default",
            sample("bilinear", "border", True),
            *IMAGE,
            id="border",
            dynamic=True,
        ),
        case(
            "aten.grid_sampler.default",
            sample("nearest", "reflection", False),
            *IMAGE,
            id="nearest",
        ),
        case("aten.grid_sampler.default", sample("bicubic", "zeros", False), *IMAGE, id="bicubic"),
        case(
            "aten.grid_sampler.default",
            sample("bicubic", "zeros", False),
            *IMAGE,
            id="18",
            options=("--opset", "18"),
        ),
        case("aten.grid_sampler.default", sample("bilinear", "zeros", False), *VOLUME, id="volume"),
        case(
            "aten.grid_sampler.default",
            sample("bilinear", "border", False),
            *FAR,
            id="far",
        ),
        case(
            "aten.grid_sampler.default",
            sample("bilinear", "reflection", True),
            *FAR,
            id="far reflection",
        ),
        case("aten.grid_sampler.default", sample("bicubic", "zeros", True), *HUGE, id="huge"),
        case(
            "aten.affine_grid_generator.default",
            lambda t: F.affine_grid(t, (2, 3, 4, 5), False),
            f32(2, 2, 3),
        ),
        case(
            "aten.affine_grid_generator.default",
            lambda t: F.affine_grid(t, (2, 3, 4, 5), True),
            f32(2, 2, 3),
            id="corners",
        ),
        case(
            "aten.affine_grid_generator.default",
            lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), False),
            f32(2, 3, 4),
            id="volume",
        ),
        case(
            "aten.affine_grid_generator.default",
            lambda t, x: F.affine_grid(t, x.shape, False),
            f32(2, 2, 3),
            f32(2, 3, 4, 5),
            id="dynamic",
            dynamic=True,
        ),
    ],
)
