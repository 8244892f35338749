"""The selective scan of Mamba over a dynamic number of tokens."""

from __future__ import annotations

from typing import Any

import torch

from onnxport._export.patches.patch import Function, Patch

patch = Patch(
    "selective-scan",
    reason="it is a loop in Python over the tokens, which fixes their number",
)


@patch.replaces(
    *(
        f"transformers.models.{family}.modeling_{family}.mamba_selective_scan"
        for family in ("falcon_mamba", "jamba", "mamba", "zamba")
    )
)
def selective_scan(
    original: Function,
    hidden_states: torch.Tensor,
    dt: torch.Tensor,
    A: torch.Tensor,  # noqa: N803  (the names of the original)
    B: torch.Tensor,  # noqa: N803
    C: torch.Tensor,  # noqa: N803
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Use `scan` where the number of tokens is dynamic."""
    del original
    if not isinstance(hidden_states.shape[-1], torch.SymInt):
        return NotImplemented
    return formula(hidden_states, dt, A, B, C, *args, **kwargs)


def formula(
    hidden_states: torch.Tensor,
    dt: torch.Tensor,
    A: torch.Tensor,  # noqa: N803
    B: torch.Tensor,  # noqa: N803
    C: torch.Tensor,  # noqa: N803
    D: torch.Tensor | None = None,  # noqa: N803
    z: torch.Tensor | None = None,
    delta_bias: torch.Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    use_mambapy: bool = False,
    use_associative_scan: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the loop's result: `state = exp(A dt) state + dt B x`, and `C state` of each step."""
    from torch._higher_order_ops.scan import scan

    del use_mambapy, use_associative_scan, kwargs
    kind = hidden_states.dtype
    if delta_bias is not None:
        dt = dt + delta_bias.to(dt.dtype)[..., None]
    if delta_softplus:
        dt = torch.nn.functional.softplus(dt)
    # Tokens first.
    steps, inputs = dt.permute(2, 0, 1)[..., None], hidden_states.permute(2, 0, 1)[..., None]
    decays = torch.exp(A[None, None] * steps)
    inputs = steps * B.permute(2, 0, 1)[:, :, None].float() * inputs.float()
    start = torch.zeros(
        *hidden_states.shape[:2], A.shape[-1], dtype=kind, device=hidden_states.device
    ).to(torch.promote_types(kind, torch.promote_types(decays.dtype, inputs.dtype)))

    def step(
        state: torch.Tensor, given: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        state = given[0] * state + given[1]
        return state, state.clone()

    last, states = scan(step, start, (decays.to(start.dtype), inputs.to(start.dtype)))
    found = torch.matmul(states.to(kind), C.permute(2, 0, 1)[..., None])[..., 0].permute(1, 2, 0)
    if D is not None:
        found = found + hidden_states * D[None, :, None]
    if z is not None:
        found = found * torch.nn.functional.silu(z)
    return (found, last) if return_last_state else found
