import torch

from tests.python.ops.harness import case, f32, f64, i64, suite

# Its determinant is 22.9, and its condition 1.7.
WELL = torch.tensor([[3.0, 0.5, -0.2], [0.1, 2.5, 0.7], [-0.4, 0.3, 3.2]])

test_ops = suite(
    __file__,
    [
        case("aten.det.default", torch.det, f32(2, 3, 3), dynamic=True),
        case("aten.linalg_det.default", torch.linalg.det, f64(3, 3)),
        case("aten.logdet.default", torch.logdet, WELL),
        case("aten.logdet.default", torch.logdet, WELL[[1, 0, 2]], id="negative"),
        case("aten.logdet.default", torch.logdet, WELL * torch.zeros(2, 1, 1), id="singular"),
        case("aten.slogdet.default", torch.slogdet, f32(3, 3)),
        case("aten.trace.default", torch.trace, f32(3, 3)),
        case("aten.trace.default", torch.trace, i64(3, 5), id="int"),
        case(
            "aten.linalg_matrix_power.default", lambda x: torch.linalg.matrix_power(x, 5), f32(3, 3)
        ),
        case(
            "aten.linalg_matrix_power.default",
            lambda x: torch.linalg.matrix_power(x, 0),
            f32(2, 3, 3),
            id="0",
        ),
        case(
            "aten.linalg_cross.default", lambda x, y: torch.linalg.cross(x, y), f32(2, 3), f32(1, 3)
        ),
        case("aten.cross.default", lambda x, y: torch.ops.aten.cross(x, y), f32(3, 4), f32(3, 4)),
        case("aten.linalg_vecdot.default", torch.linalg.vecdot, f32(2, 3), f32(3)),
        case("aten.linalg_vander.default", lambda x: torch.linalg.vander(x, N=4), f32(2, 3)),
    ],
)
