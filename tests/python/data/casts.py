"""Write `casts.txt`: casts of PyTorch and ONNX to every narrower type.

Run `python -m tests.python.data.casts`. A line is the bits of a float32 and those of it in float16,
bfloat16 and the four 8-bit types. float16 and bfloat16 are PyTorch's, the others those of `Cast`
with `saturate = 1` in the reference implementation of ONNX.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

EIGHT = [
    TensorProto.FLOAT8E4M3FN,
    TensorProto.FLOAT8E4M3FNUZ,
    TensorProto.FLOAT8E5M2,
    TensorProto.FLOAT8E5M2FNUZ,
]


def samples() -> np.ndarray:
    """Return float32 at and around every place where rounding changes."""
    rng = np.random.default_rng(0)
    exponents = np.arange(-30, 20, dtype=np.int64)
    steps = np.ldexp(1 + np.arange(64) / 64.0, exponents[:, None]).astype(np.float32).ravel()
    near = np.concatenate(
        [steps, np.nextafter(steps, np.float32(0)), np.nextafter(steps, np.float32(np.inf))]
    )
    near = rng.choice(near, 2500, replace=False)
    edges = [
        0,
        448,
        464,
        465,
        480,
        240,
        248,
        249,
        57344,
        61440,
        61441,
        65504,
        65519.996,
        65520,
        3.3895e38,
        3.4028235e38,
    ]
    bits = rng.integers(0, 1 << 32, 1500, dtype=np.uint32).view(np.float32)
    values = np.concatenate(
        [near, np.array(edges, np.float32), bits[~np.isnan(bits)], [np.inf, 1e-45, 1e-40, 2e-7]]
    )
    values = values.astype(np.float32)
    return np.concatenate([values, -values])


def eight(values: np.ndarray, to: int) -> np.ndarray:
    """Return the codes of `values` in an 8-bit type."""
    node = helper.make_node("Cast", ["x"], ["y"], to=to, saturate=1)
    graph = helper.make_graph(
        [node],
        "cast",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])],
        [helper.make_tensor_value_info("y", to, [None])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return ReferenceEvaluator(model).run(None, {"x": values})[0].view(np.uint8)


def main() -> None:
    """Write the table."""
    values = samples()
    tensor = torch.from_numpy(values)
    columns = [values.view(np.uint32)]
    columns += [
        tensor.to(dtype).view(torch.int16).numpy().view(np.uint16)
        for dtype in (torch.float16, torch.bfloat16)
    ]
    columns += [eight(values, to) for to in EIGHT]
    widths = (8, 4, 4, 2, 2, 2, 2)
    rows = zip(*columns, strict=True)
    lines = [" ".join(f"{n:0{w}x}" for n, w in zip(row, widths, strict=True)) for row in rows]
    (Path(__file__).parents[2] / "files/data/casts.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
