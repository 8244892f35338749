import torch

import onnxport

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()).eval()
onnxport.export(model, (torch.randn(2, 4),), "net.onnx", opset_version=9)
