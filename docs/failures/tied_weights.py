import torch

import onnxport


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(1000, 64)
        self.head = torch.nn.Linear(64, 1000, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


onnxport.export(Tied().eval(), (torch.tensor([[1, 2, 3]]),), "tied.onnx")
