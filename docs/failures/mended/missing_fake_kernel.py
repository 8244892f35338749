import torch

import onnxport


@torch.library.custom_op("shop::at_least", mutates_args=())
def at_least(scores: torch.Tensor, least: float) -> torch.Tensor:
    return scores[scores > least]


@torch.library.register_fake("shop::at_least")
def _(scores, least):
    context = torch.library.get_ctx()
    return scores.new_empty([context.new_dynamic_size()], dtype=torch.float32)


@onnxport.lowering("shop::at_least")
def lower_at_least(op, scores, least):
    return op.Compress(scores, op.Greater(scores, least), axis=0)


class Filter(torch.nn.Module):
    def forward(self, scores):
        return at_least(scores, 0.5)


onnxport.export(Filter().eval(), (torch.rand(6),), "filter.onnx")
