import torch

import onnxport


@torch.library.custom_op("shop::softcap", mutates_args=())
def softcap(x: torch.Tensor, cap: float) -> torch.Tensor:
    return torch.tanh(x / cap) * cap


@softcap.register_fake
def _(x, cap):
    return torch.empty_like(x)


@onnxport.lowering("shop::softcap")
def lower_softcap(op, x, cap):
    return op.Tanh(x / cap) * cap


class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(8, 3)

    def forward(self, features):
        return softcap(self.head(features), 30.0)


model, args = Scores().eval(), (torch.randn(2, 8),)
dynamic = {"features": {0: torch.export.Dim("batch")}}
program = torch.export.export(model, args, dynamic_shapes=dynamic)
torch.export.save(program, "scores.pt2")
onnxport.export(program, f="scores.onnx")
