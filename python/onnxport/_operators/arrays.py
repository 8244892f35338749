"""Arrays that become constants."""

from __future__ import annotations

import sys
from typing import Any

from onnxport._operators import dtype


def parts(value: Any) -> tuple[int, list[int], bytes]:
    """Return the element type, the sizes and the bytes of an array, row-major, little-endian."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        kind = dtype.number(value.dtype)
        plain = value.detach().cpu().contiguous()
        if plain.is_complex():
            raise TypeError("complex tensors are pairs of reals in ONNX: use `torch.view_as_real`")
        data = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
        return kind, list(value.shape), data
    if hasattr(value, "numpy") and not hasattr(value, "tobytes"):
        value = value.numpy()
    if not all(hasattr(value, name) for name in ("dtype", "shape", "tobytes")):
        raise TypeError(f"a {type(value).__name__} is neither a value nor a constant")
    kind = dtype.number(value.dtype)
    if value.dtype.byteorder == ">" or (value.dtype.byteorder == "=" and sys.byteorder == "big"):
        value = value.astype(value.dtype.newbyteorder("<"))
    return kind, list(value.shape), value.tobytes()
