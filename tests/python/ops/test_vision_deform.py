"""torchvision's deformable convolution."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.export import Dim
from torchvision import ops

from tests.python.ops.harness import Random, case, suite

NAME = "torchvision.deform_conv2d.default"


class Deform(nn.Module):
    """A layer with random weights; the offsets and, where wanted, the mask are inputs."""

    def __init__(
        self,
        channels: tuple[int, int],
        kernel: tuple[int, int],
        groups: int = 1,
        bias: bool = True,
        dtype: torch.dtype = torch.float32,
        **window: int | tuple[int, int],
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        shape = (channels[1], channels[0] // groups, *kernel)
        self.weight = nn.Parameter(torch.randn(shape, generator=generator, dtype=dtype))
        values = torch.randn(channels[1], generator=generator, dtype=dtype)
        self.bias = nn.Parameter(values) if bias else None
        self.window = window

    def forward(self, x: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """Convolve."""
        return ops.deform_conv2d(x, offset, self.weight, self.bias, mask=mask, **self.window)


def inputs(
    x: Sequence[int],
    kernel: tuple[int, int],
    result: tuple[int, int],
    offset_groups: int = 1,
    mask: bool = True,
    dtype: torch.dtype = torch.float32,
) -> tuple[Random, ...]:
    """Describe the features, offsets that reach out of them and, where wanted, a mask."""
    taps = offset_groups * kernel[0] * kernel[1]
    offset = Random(dtype, (x[0], 2 * taps, *result), -4, 4)
    weights = (Random(dtype, (x[0], taps, *result), 0, 2),) if mask else ()
    return Random(dtype, tuple(x), -2, 2), offset, *weights


BATCH, HEIGHT, WIDTH = Dim("batch"), Dim("height", min=4), Dim("width", min=4)
SIZES = {0: BATCH, 2: HEIGHT, 3: WIDTH}
OPSETS = ("18", "19", "20", "23")

test_ops = suite(
    __file__,
    [
        *(
            entry
            for opset in OPSETS
            for options in [("--opset", opset)]
            for entry in (
                case(
                    NAME,
                    Deform((4, 6), (3, 3), padding=1),
                    *inputs((2, 4, 6, 7), (3, 3), (6, 7)),
                    id=f"dynamic-{opset}",
                    dynamic=(SIZES, SIZES, SIZES),
                    options=options,
                ),
                case(
                    NAME,
                    Deform((4, 6), (3, 2), 2, stride=(2, 1), padding=(1, 2), dilation=(2, 1)),
                    *inputs((2, 4, 9, 7), (3, 2), (4, 10), offset_groups=2),
                    id=f"groups-{opset}",
                    options=options,
                ),
                case(
                    NAME,
                    Deform((4, 4), (1, 3), groups=4, bias=False),
                    *inputs((1, 4, 5, 6), (1, 3), (5, 4), offset_groups=4, mask=False),
                    id=f"depthwise-{opset}",
                    options=options,
                ),
            )
        ),
        case(
            NAME,
            Deform((4, 6), (3, 3), padding=1, dtype=torch.float64),
            *inputs((2, 4, 6, 7), (3, 3), (6, 7), dtype=torch.float64),
            id="double",
        ),
        case(
            NAME,
            Deform((4, 6), (3, 3), padding=1, dtype=torch.float16),
            *inputs((2, 4, 6, 7), (3, 3), (6, 7), dtype=torch.float16),
            id="half",
        ),
        case(NAME, Deform((1, 1), (2, 2)), *inputs((1, 1, 2, 2), (2, 2), (1, 1)), id="one-element"),
    ],
)
