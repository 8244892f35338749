"""torchvision's operators on boxes: suppression and pools of regions."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torchvision import ops

from tests.python.loaded import convert_both
from tests.python.onnx_runtime import OrtModel, check_model
from tests.python.ops.harness import Random, case, export, f32, f64, i64, suite


def corners(count: int, size: float, dtype: torch.dtype = torch.float32) -> Random:
    """Describe corners that also lie outside of an image of `size`, some in the wrong order."""
    return Random(dtype, (count, 4), -0.2 * size, 1.2 * size)


def indices(count: int, batch: int) -> Random:
    """Describe the places of regions in a batch."""
    return i64(count, low=0, high=batch)


def regions(index: Tensor, boxes: Tensor) -> Tensor:
    """Return regions `[K, 5]`."""
    return torch.cat([index.to(boxes.dtype)[:, None], boxes], dim=1)


def align(size: int | tuple[int, int], scale: float, ratio: int, aligned: bool):
    """Return `roi_align` of features, indices and boxes.

    torchvision fails on the CPU where it has to count the samples of one inverted axis.
    """

    def forward(x: Tensor, index: Tensor, boxes: Tensor) -> Tensor:
        if aligned and ratio <= 0:
            low, high = boxes[:, :2], boxes[:, 2:]
            inverted = (low > high).any(dim=1, keepdim=True)
            larger, smaller = torch.maximum(low, high), torch.minimum(low, high)
            boxes = torch.where(
                inverted, torch.cat([larger, smaller], 1), torch.cat([smaller, larger], 1)
            )
        return ops.roi_align(x, regions(index, boxes), size, scale, ratio, aligned)

    return forward


def pool(size: int | tuple[int, int], scale: float):
    """Return `roi_pool` of features, indices and boxes."""

    def forward(x: Tensor, index: Tensor, boxes: Tensor) -> Tensor:
        return ops.roi_pool(x, regions(index, boxes), size, scale)

    return forward


def nms(threshold: float):
    """Return `nms` at a threshold."""
    return lambda boxes, scores: ops.nms(boxes, scores, threshold)


def ordered(count: int, size: float) -> Tensor:
    """Return corners of which the second lies behind the first."""
    low = torch.linspace(-0.1, 0.6, 2 * count).view(count, 2) * size
    return torch.cat([low, low + torch.linspace(0, 0.5, 2 * count).view(count, 2) * size], 1)


# torchvision does not state the shape of the result, without which PyTorch cannot export it.
torch.library.register_fake(
    "torchvision::box_iou_rotated", lambda a, b: a.new_empty(a.shape[0], b.shape[0])
)
# Disjoint, crossing, nested, equal, touching and empty ones.
ROTATED = torch.tensor(
    [
        [0.0, 0.0, 4.0, 2.0, 30.0],
        [0.5, 0.25, 4.0, 2.0, -45.0],
        [0.0, 0.0, 1.0, 0.5, 30.0],
        [9.0, 9.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 3.0, 3.0, 90.0],
        [2.5, 1.0, 0.0, 3.0, 10.0],
        [-1.0, 0.5, 2.5, 5.0, 200.0],
    ]
)
ALIGN = "torchvision.roi_align.default"
POOL = "torchvision.roi_pool.default"
NMS = "torchvision.nms.default"
# Every dimension of the features but the channels, and the number of regions.
SIZES = (
    {0: Dim("batch", min=2), 2: Dim("height", min=4), 3: Dim("width", min=4)},
    {0: Dim("regions")},
    {0: Dim("regions")},
)

test_ops = suite(
    __file__,
    [
        *(
            case(
                ALIGN,
                align((3, 2), 0.5, ratio, aligned),
                f32(2, 3, 9, 8),
                indices(12, 2),
                corners(12, 16),
                id=f"ratio-{ratio}-{'aligned' if aligned else 'legacy'}",
                dynamic=SIZES,
            )
            for ratio in (-1, 0, 1, 3)
            for aligned in (False, True)
        ),
        case(
            ALIGN,
            align(2, 0.3, -1, True),
            f64(2, 3, 9, 8),
            indices(7, 2),
            corners(7, 24, torch.float64),
            id="double",
        ),
        case(
            ALIGN,
            align(2, 0.25, 2, False),
            Random(torch.float16, (2, 3, 9, 8), -2, 2),
            indices(7, 2),
            corners(7, 24, torch.float16),
            id="half",
        ),
        case(
            ALIGN, align(2, 1.0, -1, True), f32(1, 1, 4, 5), indices(0, 1), corners(0, 4), id="none"
        ),
        case(
            ALIGN,
            lambda x, boxes: ops.roi_align(x, [boxes, boxes + 1], 2, 1.0, 2, True),
            f32(2, 3, 9, 8),
            corners(5, 8),
            id="list",
        ),
        case(
            POOL, pool((3, 2), 0.5), f32(2, 3, 9, 8), indices(12, 2), corners(12, 16), dynamic=SIZES
        ),
        case(
            POOL,
            pool((2, 7), 1.0),
            f32(1, 2, 6, 5),
            indices(9, 1),
            Random(torch.float32, (9, 4), -3, 9),
            id="bins-of-one",
        ),
        case(
            POOL,
            lambda x, index, boxes: pool(3, 1.0)(x, index, boxes.round() + 0.5),
            f32(1, 2, 12, 12),
            indices(9, 1),
            corners(9, 12),
            id="halves",
        ),
        case(POOL, pool(2, 1.0), f32(1, 1, 4, 5), indices(0, 1), corners(0, 4), id="none"),
        case(NMS, nms(0.3), corners(20, 16), f32(20), dynamic=({0: Dim("n")}, {0: Dim("n")})),
        case(NMS, nms(0.3), corners(20, 16, torch.float64), f64(20), id="double"),
        case(
            "torchvision.roi_pool.default",
            lambda x, index, boxes: torch.ops.torchvision.roi_pool(
                x, regions(index, boxes), 0.5, 3, 2
            ),
            f32(2, 3, 9, 8),
            indices(12, 2),
            corners(12, 16),
            id="indices",
        ),
        *(
            case(
                "torchvision.ps_roi_align.default",
                lambda x, index, boxes, ratio=ratio: torch.ops.torchvision.ps_roi_align(
                    x, regions(index, boxes), 0.5, 3, 2, ratio
                ),
                f32(2, 12, 9, 8),
                indices(9, 2),
                ordered(9, 16),
                id=f"ratio-{ratio}",
                dynamic=SIZES,
            )
            for ratio in (-1, 2)
        ),
        case(
            "torchvision.ps_roi_pool.default",
            lambda x, index, boxes: torch.ops.torchvision.ps_roi_pool(
                x, regions(index, boxes), 0.5, 3, 2
            ),
            f32(2, 12, 9, 8),
            indices(9, 2),
            corners(9, 16),
            dynamic=SIZES,
        ),
        case(
            "torchvision.box_iou_rotated.default",
            lambda a, b: torch.ops.torchvision.box_iou_rotated(a, b),
            ROTATED,
            ROTATED.flip(0)[:5] + 0.25,
            tolerance=10,
            dynamic=({0: Dim("n")}, {0: Dim("m")}),
        ),
    ],
)


def awkward(seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Draw boxes on a coarse grid, so that ties, equal and empty boxes are common."""
    generator = torch.Generator().manual_seed(seed)
    count = seed if seed < 3 else int(torch.randint(0, 40, (), generator=generator))
    coarse = 1.0 if seed % 2 else 0.1
    low = torch.randint(-4, 8, (count, 2), generator=generator)
    size = torch.randint(-1 if seed % 3 == 0 else 0, 6, (count, 2), generator=generator)
    boxes = torch.cat([low, low + size], dim=1).to(dtype) * coarse
    scores = torch.randint(-3, 4, (count,), generator=generator).to(dtype) * coarse
    return boxes, scores


@pytest.mark.parametrize("opset", [18, 20, 23])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("threshold", [0.0, 0.1, 1 / 3, 0.5, 1.0, -0.5, 1.5])
def test_suppression_is_that_of_torchvision(
    tmp_path: Path, threshold: float, dtype: torch.dtype, opset: int
) -> None:
    """Order and contents are equal, also of ties and of boxes without area."""
    if opset != 20 and threshold != 0.5:
        pytest.skip("one threshold shows that the opset makes no difference")
    archive, model = tmp_path / "nms.pt2", tmp_path / "nms.onnx"
    count = {0: Dim("n")}
    inputs = (torch.rand(7, 4, dtype=dtype), torch.rand(7, dtype=dtype))
    torch.export.save(export(nms(threshold), inputs, (count, count)), archive)
    convert_both(archive, model, "--opset", str(opset))
    check_model(model)
    runner = OrtModel(model)
    kept = 0
    for seed in range(100):
        boxes, scores = awkward(seed, dtype)
        expected = ops.nms(boxes, scores, threshold)
        (got,) = runner.run({"boxes": boxes, "scores": scores})
        assert got.tolist() == expected.tolist(), f"seed {seed}"
        kept += len(expected)
    assert kept > 100
