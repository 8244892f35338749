import torch

import onnxport


class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight = torch.randn(4, 4)
        self.weight = torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8)

    def forward(self, x):
        return x @ self.weight.dequantize()


model = Table().eval()
onnxport.export(model, (torch.randn(2, 4),), "table.onnx")
