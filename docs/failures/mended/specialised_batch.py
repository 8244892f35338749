import torch

import onnxport


class Pool(torch.nn.Module):
    def forward(self, tokens):
        return tokens.reshape(tokens.shape[0], 40).softmax(-1)


args = (torch.randn(4, 5, 8),)
onnxport.export(Pool().eval(), args, "pool.onnx", dynamic_shapes={"tokens": {0: "batch"}})
