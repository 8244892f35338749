import torch

import onnxport


class Batch:
    def __init__(self, ids, mask):
        self.ids = ids
        self.mask = mask


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, batch):
        return self.table(batch.ids) * batch.mask.unsqueeze(-1)


batch = Batch(torch.tensor([[1, 2, 3]]), torch.ones(1, 3))
onnxport.export(Encoder().eval(), (batch,), "encoder.onnx")
