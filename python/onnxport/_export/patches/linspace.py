"""`torch.linspace` with a size as the number of steps."""

from __future__ import annotations

from typing import Any

import torch

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "linspace",
    reason="it takes only a number of steps, which fixes the size that the number comes from",
)


@patch.replaces("torch.linspace")
def linspace(
    original: Function,
    start: Any,
    end: Any,
    steps: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    **options: Any,
) -> Any:
    """Use the formula where the number of steps depends on a size."""
    del original
    dtype = dtype or torch.get_default_dtype()
    numbers = isinstance(start, (int, float)) and isinstance(end, (int, float))
    if (
        not isinstance(steps, torch.SymInt)
        or not numbers
        or dtype not in (torch.float32, torch.float64)
        or any(value for name, value in options.items() if name != "pin_memory")
    ):
        return NotImplemented
    return formula(start, end, steps, dtype, device)


def formula(
    start: float, end: float, steps: Any, dtype: torch.dtype, device: Any = None
) -> torch.Tensor:
    """Return the result of PyTorch's kernel: it computes each half from its own end.

    The kernel rounds the product and the sum once, and this twice.
    """
    index = torch.arange(steps, device=device)
    gap = torch.full((), end - start, dtype=dtype, device=device) / torch.sym_max(steps - 1, 1)
    first = index.to(dtype) * gap + start
    second = end - (steps - 1 - index).to(dtype) * gap
    return torch.where(index * 2 < steps, first, second)
