import torch

from tests.python.ops.harness import boolean, c64, case, f32, f64, i64, suite

prims = torch.ops.prims

test_ops = suite(
    __file__,
    [
        case("prims.add.default", lambda x, y: prims.add(x, y), f32(9), f32(9)),
        case("prims.div.default", lambda x, y: prims.div(x, y), i64(9), i64(9, low=1)),
        case("prims.remainder.default", lambda x, y: prims.remainder(x, y), i64(9), i64(9, low=1)),
        case("prims.pow.default", lambda x, y: prims.pow(x, y), f32(9, low=0.1), f32(9)),
        case("prims.lt.default", lambda x, y: prims.lt(x, y), f32(9), f32(9)),
        case("prims.rsqrt.default", lambda x: prims.rsqrt(x), f32(9, low=0.1)),
        case(
            "prims.where.default", lambda c, x, y: prims.where(c, x, y), boolean(9), f32(9), f32(9)
        ),
        case("prims.bitwise_not.default", lambda x: prims.bitwise_not(x), i64(9)),
        case("prims.erf_inv.default", lambda x: prims.erf_inv(x), f32(9, low=-0.9, high=0.9)),
        case(
            "prims.iota.default",
            lambda x: (
                x
                + prims.iota(
                    9, start=2, step=3, dtype=torch.int64, device=x.device, requires_grad=False
                )
            ),
            i64(9),
        ),
        case(
            "prims.convert_element_type.default",
            lambda x: prims.convert_element_type(x, torch.int32),
            f32(9),
        ),
        case("aten._add_relu.Tensor", lambda x, y: torch.ops.aten._add_relu(x, y), f32(9), f32(9)),
        case("prims.prod.default", lambda x: prims.prod(x, [0, 2]), f32(3, 4, 2)),
        case("prims.spherical_bessel_j0.default", lambda x: prims.spherical_bessel_j0(x), f32(9)),
        case(
            "prims.svd.default",
            lambda x: prims.svd(x, full_matrices=False)[1],
            f64(4, 3),
        ),
        case("prims.real.default", lambda x: prims.real(x) * 2, c64(3, 4)),
        case("prims.imag.default", lambda x: prims.imag(x) * 2, c64(3, 4)),
        case("prims.conj.default", lambda x: prims.conj(x) * 2, c64(3, 4)),
        case("prims.conj_physical.default", lambda x: prims.conj_physical(x), c64(3, 4)),
        case(
            "prims.fft_c2r.default",
            lambda x: prims.fft_c2r(x, dim=[1], last_dim_size=7),
            c64(3, 4),
        ),
        case(
            "prims.as_strided_scatter.default",
            lambda x, y: prims.as_strided_scatter(x, y, [2, 2], [4, 1], 1),
            f32(3, 4),
            f32(2, 2),
        ),
    ],
)
