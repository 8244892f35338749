import torch

import onnxport


@torch.library.custom_op("shop::at_least", mutates_args=())
def at_least(scores: torch.Tensor, least: float) -> torch.Tensor:
    return scores[scores > least]


@onnxport.lowering("shop::at_least")
def lower_at_least(op, scores, least):
    return op.Compress(scores, op.Greater(scores, least), axis=0)


class Filter(torch.nn.Module):
    def forward(self, scores):
        return at_least(scores, 0.5)


onnxport.export(Filter().eval(), (torch.rand(6),), "filter.onnx")
