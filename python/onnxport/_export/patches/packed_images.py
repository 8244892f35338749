"""Attention of encoders in transformers that take several images in one sequence."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from onnxport._export.patches.patch import Function, Patch

_MODELS = "transformers.models."
# transformers passes the ends of the parts only to implementations with this word in their name.
_IMPLEMENTATION = "onnxport_flash"


class _PackedImages(Patch):
    """The attention of every encoder that is loaded and takes `cu_seqlens`, some 35 classes."""

    @property
    def functions(self) -> Mapping[str, Function]:
        found = {}
        for name, module in list(sys.modules.items()):
            if name.startswith(_MODELS) and ".modeling_" in name:
                for owner in vars(module).values():
                    if isinstance(owner, type) and owner.__module__ == name and _is_packed(owner):
                        found[f"{name}.{owner.__name__}.forward"] = _forward
        return found


def _is_packed(owner: type) -> bool:
    if not issubclass(owner, torch.nn.Module) or not owner.__name__.endswith("Attention"):
        return False
    parameters = inspect.signature(owner.forward).parameters
    return "cu_seqlens" in parameters and "max_seqlen" in parameters


patch = _PackedImages(
    "packed-images",
    reason="it splits the sequence at positions that are values, and loops over the parts",
)


def _forward(original: Function, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Mask the other parts instead of splitting."""
    call = inspect.signature(original).bind(self, *args, **kwargs)
    if call.arguments.get("cu_seqlens") is None:
        return NotImplemented
    # Only a kernel needs it, and it would be computed from values.
    call.arguments["max_seqlen"] = 0
    with _masking(self.config):
        return original(*call.args, **call.kwargs)


@contextlib.contextmanager
def _masking(config: Any) -> Iterator[None]:
    functions = sys.modules["transformers.modeling_utils"].ALL_ATTENTION_FUNCTIONS
    chosen = config._attn_implementation_internal
    functions[_IMPLEMENTATION] = _attention
    config._attn_implementation_internal = _IMPLEMENTATION
    try:
        yield
    finally:
        config._attn_implementation_internal = chosen
        del functions[_IMPLEMENTATION]


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    cu_seq_lens_q: Tensor,
    scaling: float | None = None,
    dropout: float = 0.0,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention of queries `[batch, heads, length, size]` to keys of the same part."""
    del attention_mask, others
    positions = torch.arange(query.shape[2], device=query.device)
    part = (positions[:, None] >= cu_seq_lens_q[1:]).sum(1)
    result = torch.nn.functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=part[:, None] == part,
        dropout_p=dropout,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return result.transpose(1, 2).contiguous(), None
