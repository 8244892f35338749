"""Attention of MPT in transformers, which slices its bias by the number of tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "mpt",
    reason="it counts the tokens of the cache twice, and slices an axis of size 1 by their number",
)


@patch.replaces("transformers.models.mpt.modeling_mpt.MptAttention.forward")
def forward(
    original: Function,
    self: Any,
    hidden_states: Tensor,
    position_bias: Tensor | None = None,
    past_key_values: Any = None,
    attention_mask: Tensor | None = None,
    **others: Any,
) -> Any:
    """Slice only the axis of the keys: the axis of the queries has size 1."""
    del original, others
    if position_bias is None or position_bias.dim() != 3 or position_bias.shape[1] != 1:
        return NotImplemented
    batch, length = hidden_states.shape[:2]
    projected = self.Wqkv(hidden_states)
    if self.clip_qkv:
        projected = projected.clamp(min=-self.clip_qkv, max=self.clip_qkv)
    queries, keys, values = (
        one.reshape(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        for one in projected.chunk(3, dim=2)
    )
    if past_key_values is not None:
        keys, values = past_key_values.update(keys, values, self.layer_idx)
    scores = torch.matmul(queries, keys.transpose(-1, -2)) * self.softmax_scale
    first = position_bias.shape[2] - keys.shape[-2]
    torch._check(first >= 0, lambda: "there are more tokens than `max_seq_len`")
    scores = scores + position_bias[:, :, first:]
    if attention_mask is not None:
        scores = scores.masked_fill(attention_mask, torch.finfo(queries.dtype).min)
    weights = functional.softmax(scores.float(), dim=-1).to(values.dtype)
    weights = functional.dropout(weights, p=self.attn_dropout_p, training=self.training)
    context = torch.matmul(weights, values).permute(0, 2, 1, 3).reshape(batch, length, -1)
    return self.out_proj(context), weights
