import torch

from tests.python.ops.harness import c64, case, f32, f64, i64, suite

fft = torch.fft
aten = torch.ops.aten

test_ops = suite(
    __file__,
    [
        case("aten.fft_fft.default", fft.fft, f32(3, 8)),
        case(
            "aten.fft_fft.default",
            lambda x: fft.fft(x, n=6, dim=0, norm="ortho"),
            c64(8, 3),
            id="n",
        ),
        case("aten.fft_fft.default", lambda x: fft.fft(x, norm="forward"), f64(5), id="vector"),
        case("aten.fft_fft.default", fft.fft, i64(2, 4), id="int"),
        case("aten.fft_fft.default", fft.fft, c64(3, 8), id="dynamic", dynamic=True),
        case("aten.fft_fft.default", fft.fft, c64(3, 8), id="18", options=("--opset", "18")),
        case("aten.fft_ifft.default", fft.ifft, c64(3, 8)),
        case("aten.fft_ifft.default", lambda x: fft.ifft(x, norm="ortho"), c64(3, 8), id="ortho"),
        case(
            "aten.fft_ifft.default", lambda x: fft.ifft(x, norm="forward"), c64(3, 8), id="forward"
        ),
        case("aten.fft_fft2.default", fft.fft2, f32(2, 4, 6)),
        case("aten.fft_fftn.default", lambda x: fft.fftn(x, s=(4, 5)), c64(2, 4, 6)),
        case("aten.fft_ifft2.default", fft.ifft2, c64(2, 4, 6)),
        case("aten.fft_rfft.default", fft.rfft, f32(3, 9)),
        case("aten.fft_rfft2.default", fft.rfft2, f32(3, 8, 6)),
        case("aten.fft_irfft.default", fft.irfft, c64(3, 5)),
        case(
            "aten.fft_irfft.default", lambda x: fft.irfft(x, n=9, norm="ortho"), c64(3, 5), id="odd"
        ),
        case("aten.fft_irfft.default", lambda x: fft.irfft(x, n=12), c64(3, 5), id="padded"),
        case("aten.fft_hfft.default", lambda x: fft.hfft(x, n=9), c64(3, 5)),
        case("aten.fft_ihfft.default", lambda x: fft.ihfft(x, norm="ortho"), f32(3, 9)),
        case("aten.fft_irfft2.default", fft.irfft2, c64(3, 4, 5)),
        case("aten.fft_fftfreq.default", lambda x: x + fft.fftfreq(5, 0.5), f32(5)),
        case("aten.fft_rfftfreq.default", lambda x: x + fft.rfftfreq(8), f32(5)),
        case("aten._fft_c2c.default", lambda x: aten._fft_c2c(x, [0, 1], 1, True), c64(3, 4)),
        case("aten._fft_c2c.default", lambda x: aten._fft_c2c(x, [1], 0, False), c64(3, 4), id="i"),
        case("aten._fft_r2c.default", lambda x: aten._fft_r2c(x, [0, 1], 2, True), f32(3, 4)),
        case("aten._fft_c2r.default", lambda x: aten._fft_c2r(x, [0, 1], 2, 6), c64(3, 4)),
        case(
            "aten.istft.default",
            lambda x, w: torch.istft(torch.view_as_complex(x), 16, 4, window=w),
            f32(3, 9, 7, 2),
            f32(16, low=0.5),
            dynamic=({0: torch.export.Dim.DYNAMIC, 2: torch.export.Dim.DYNAMIC}, None),
        ),
        case(
            "aten.istft.default",
            lambda x, w: torch.istft(torch.view_as_complex(x), 16, 5, 12, w, True, True, length=30),
            f32(9, 6, 2),
            f32(12, low=0.5),
            id="length",
        ),
        case(
            "aten.istft.default",
            lambda x, w: torch.istft(torch.view_as_complex(x), 16, 5, window=w, length=50),
            f32(2, 9, 6, 2),
            f32(16, low=0.5),
            id="padded",
        ),
        case(
            "aten.istft.default",
            lambda x: torch.istft(torch.view_as_complex(x), 16, onesided=False, length=20),
            f32(16, 9, 2),
            id="twosided",
        ),
        case(
            "aten.stft.default",
            lambda x: torch.view_as_real(torch.stft(x, 16, return_complex=True)),
            f32(2, 64),
        ),
        case(
            "aten.stft.default",
            lambda x, w: torch.stft(
                x, 16, 5, 12, w, center=False, normalized=True, return_complex=True
            ),
            f32(64),
            f32(12),
            id="window",
        ),
        case("aten.fft_irfft.default", fft.irfft, c64(3, 5), id="dynamic", dynamic=True),
        case(
            "aten.fft_irfft.default",
            lambda x: fft.irfft(x, n=9, norm="ortho"),
            c64(3, 5),
            id="padded-dynamic",
            dynamic=True,
        ),
        case("aten.fft_irfft2.default", fft.irfft2, c64(3, 4, 5), id="dynamic", dynamic=True),
        case("aten.fft_irfftn.default", fft.irfftn, c64(3, 4, 5), id="dynamic", dynamic=True),
        case("aten.fft_hfft.default", fft.hfft, c64(3, 5), id="dynamic", dynamic=True),
        case("aten.fft_hfft2.default", fft.hfft2, c64(3, 4, 5)),
        case(
            "aten.fft_hfftn.default", lambda x: fft.hfftn(x, s=(4, 7), norm="ortho"), c64(3, 4, 5)
        ),
        case(
            "aten.fft_hfftn.default",
            fft.hfftn,
            c64(3, 4, 5),
            id="dynamic",
            dynamic=True,
            tolerance=10,
        ),
        case("aten.fft_ihfft2.default", fft.ihfft2, f32(3, 4, 5)),
        case("aten.fft_ihfftn.default", lambda x: fft.ihfftn(x, dim=(0, 2)), f32(3, 4, 5)),
        case(
            "aten.fft_ihfftn.default",
            lambda x: fft.ihfftn(x, norm="forward"),
            f32(3, 4),
            id="forward",
            dynamic=True,
        ),
    ],
)
