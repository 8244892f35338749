"""Run the converted model and PyTorch on batches of two sizes: `python compare.py model.onnx`."""

from __future__ import annotations

import sys

import onnxruntime
import torch
from model import Model

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
for size in (2, 7):
    x = torch.randn(size, 8)
    expected = Model().eval()(x)
    got = [torch.from_numpy(value) for value in session.run(None, {"x": x.numpy()})]
    torch.testing.assert_close(got, [value.detach() for value in expected])
    print(f"batch of {size}: equal")
