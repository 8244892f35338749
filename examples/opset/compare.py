"""Run the converted model and PyTorch on batches of two sizes: `python compare.py model.onnx`."""

from __future__ import annotations

import sys

import onnx
import onnxruntime
import torch
from ops import Model

path = sys.argv[1]
onnx.checker.check_model(path, full_check=True)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
functions = ", ".join(f"{f.domain}::{f.name}" for f in onnx.load(path).functions)
print(f"local functions: {functions}")
for size in (2, 7):
    x = torch.randn(size, 8)
    expected = Model().eval()(x)
    got = [torch.from_numpy(value) for value in session.run(None, {"x": x.numpy()})]
    torch.testing.assert_close(got, [value.detach() for value in expected])
    difference = max((a - b).abs().max().item() for a, b in zip(got, expected, strict=True))
    print(f"batch of {size}: equal, largest difference {difference:.1e}")
