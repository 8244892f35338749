"""Run two models on batches of two sizes: `python compare.py plain.onnx optimized.onnx`."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import onnx
import onnxruntime

sessions = []
for path in sys.argv[1:]:
    onnx.checker.check_model(path, full_check=True)
    counts = Counter(node.op_type for node in onnx.load(path).graph.node)
    shown = ", ".join(f"{counts[op]} {op}" for op in ("Conv", "MatMul", "MaxPool", "Relu"))
    print(f"{path.rsplit('/', 1)[-1]}: {shown}")
    sessions.append(onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]))
generator = np.random.default_rng(0)
for size in (2, 5):
    x = generator.standard_normal((size, 3, 64, 64), dtype=np.float32)
    feed = {sessions[0].get_inputs()[0].name: x}
    plain, optimized = (session.run(None, feed)[0] for session in sessions)
    np.testing.assert_allclose(optimized, plain, rtol=1e-3, atol=1e-4 * np.abs(plain).max())
    difference = np.abs(optimized - plain).max()
    print(
        f"batch of {size}: equal, largest difference {difference:.1e} of {np.abs(plain).max():.1e}"
    )
