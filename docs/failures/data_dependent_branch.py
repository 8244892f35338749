import torch

import onnxport


class Gate(torch.nn.Module):
    def forward(self, signal):
        if signal.sum() > 0:
            return signal * 2
        return -signal


onnxport.export(Gate().eval(), (torch.ones(3),), "gate.onnx")
