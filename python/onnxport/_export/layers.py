"""Layers of caches with other methods, which do not ask for sizes.

transformers chooses by a size where one formula serves both cases. A graph would answer as its
example did.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

_REPLACED: dict[tuple[type, str], type] = {}


def original(kind: type) -> type:
    """Return the class of transformers for that of a layer."""
    while kind in _REPLACED.values():
        kind = kind.__mro__[1]
    return kind


def replace(layer: Any, owner: type, name: str, method: Callable[..., Any]) -> None:
    """Replace the method `name` of a layer, unless its class does not take it from `owner`."""
    kind = type(layer)
    if getattr(kind, name, None) is not getattr(owner, name):
        return
    if (kind, name) not in _REPLACED:
        members = {name: method, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
        _REPLACED[kind, name] = type(kind.__name__, (kind,), members)
    layer.__class__ = _REPLACED[kind, name]


@contextlib.contextmanager
def any_prompt() -> Iterator[None]:
    """Let prompts be shorter than the kernel of a convolution, or longer, as long as this lasts."""
    cache_utils = sys.modules.get("transformers.cache_utils")
    owner = getattr(cache_utils, "LinearAttentionLayer", None)
    plain = vars(owner).get("update_conv_state") if owner is not None else None
    if plain is None:
        yield
        return

    @functools.wraps(plain)
    def update_conv_state(
        self: Any,
        conv_states: torch.Tensor,
        state_idx: int = 0,
        conv_kernel_size: int | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """Pad the first states by the whole kernel, and not only as far as they are shorter.

        Callers take as many results from the end as they gave states, since a step after the first
        returns those of the steps before, too.
        """
        is_first = not getattr(self, "record_past", True) and not self.has_previous_state[state_idx]
        is_dynamic = isinstance(conv_states.shape[-1], torch.SymInt)
        if not is_first or not is_dynamic or conv_kernel_size is None:
            return plain(self, conv_states, state_idx, conv_kernel_size, **kwargs)
        if not self.is_conv_states_initialized[state_idx]:
            self.lazy_initialization(
                conv_states=conv_states, state_idx=state_idx, conv_kernel_size=conv_kernel_size
            )
        self.has_previous_state[state_idx] = True
        padded = torch.nn.functional.pad(conv_states, (conv_kernel_size, 0))
        self.conv_states[state_idx].copy_(padded[..., -conv_kernel_size:])
        return padded

    owner.update_conv_state = update_conv_state
    try:
        yield
    finally:
        owner.update_conv_state = plain
