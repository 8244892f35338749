import torch
from torchvision.ops import roi_align

import onnxport


class Crops(torch.nn.Module):
    def forward(self, image, boxes):
        return roi_align(image, boxes, 3)


args = (torch.randn(1, 3, 8, 8), torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]]))
onnxport.export(Crops().eval(), args, "crops.onnx", opset_version=22, verify=True)
