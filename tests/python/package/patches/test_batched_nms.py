"""`batched-nms`: as many boxes as values decide."""

import pytest
import torch
from torch import nn

from onnxport._export.patches import install, registry
from tests.python.package.patches import agrees, exported

ops = pytest.importorskip("torchvision.ops")


def drawn(count, shift=0.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    corner, size = torch.rand(2, count, 2, generator=generator) * 20
    boxes = torch.cat([corner, corner + size], 1) + shift
    scores = torch.randperm(count, generator=generator) / max(count, 1)
    return boxes, scores, torch.randint(0, 3, (count,), generator=generator)


class Detections(nn.Module):
    def forward(self, boxes, scores, labels):
        above = scores > 0.2
        boxes, scores, labels = boxes[above], scores[above], labels[above]
        kept = ops.batched_nms(boxes, scores, labels, 0.3)
        return boxes[kept], labels[kept]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", [0.0, -10.0, -100.0])
@pytest.mark.parametrize("count", [0, 1, 2, 40, 1000, 1500])
def test_results_are_those_of_the_original(count, shift, dtype):
    if shift < -50 and count > 1000:
        # The original separates classes by negative coordinates only up to 1000 boxes.
        pytest.skip("torchvision takes boxes of positive coordinates")
    boxes, scores, labels = drawn(count, shift)
    agrees("batched-nms", lambda: ops.batched_nms(boxes.to(dtype), scores.to(dtype), labels, 0.3))


def test_the_original_refuses_boxes_of_integers():
    boxes, scores, labels = drawn(4)
    for chosen in ([], ["batched-nms"]):
        with install.installed(registry.chosen(chosen)), pytest.raises(RuntimeError):
            ops.batched_nms(boxes.int(), scores, labels, 0.3)


def test_selected_boxes_are_exported():
    sizes = ({0: "boxes"},) * 3
    others = [drawn(40, seed=1), drawn(3, seed=2)]
    program = exported("batched-nms", Detections(), drawn(12), sizes, others)
    boxes, _, labels = drawn(5)
    found, classes = program(boxes, torch.zeros(5), labels)
    assert (found.shape, classes.shape) == ((0, 4), (0,))
