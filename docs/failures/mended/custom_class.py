import torch

import onnxport


class Batch:
    def __init__(self, ids, mask):
        self.ids = ids
        self.mask = mask


torch.utils._pytree.register_pytree_node(
    Batch,
    lambda value: ([value.ids, value.mask], None),
    lambda fields, _: Batch(*fields),
    serialized_type_name="__main__.Batch",
    flatten_with_keys_fn=lambda value: (
        [(torch.utils._pytree.GetAttrKey(name), getattr(value, name)) for name in ("ids", "mask")],
        None,
    ),
)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, batch):
        return self.table(batch.ids) * batch.mask.unsqueeze(-1)


batch = Batch(torch.tensor([[1, 2, 3]]), torch.ones(1, 3))
onnxport.export(Encoder().eval(), (batch,), "encoder.onnx")
