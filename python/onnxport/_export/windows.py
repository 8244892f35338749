"""How many tokens the sliding windows of a cache have seen.

A window keeps the last tokens only, and transformers counts in Python what it has seen. A graph
takes that number from a size: the length of a layer that keeps all tokens, or the columns of the
attention mask, which has one for each token in the cache and each new one. Without either, it is
the length of the window. That makes no difference to a call with positions and without a mask,
which `_is_independent` finds out; otherwise the window must not be full.

transformers also asks whether a window is full, where the answer makes no difference to a formula.
`restore` replaces the method, so that one graph serves both.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensor

from onnxport import _errors
from onnxport._export import inputs, layers, places

# Names of a mask with a column for each token, and of the new tokens.
_MASKS = (
    ("decoder_attention_mask", ("decoder_input_ids", "decoder_inputs_embeds")),
    ("attention_mask", ("input_ids", "inputs_embeds")),
)


class Seen(int):
    """A number of tokens that copies keep, and that makes no two structures differ."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    __hash__ = int.__hash__


def source(cache: Any, layer: Any, length: Any) -> Any:
    """Describe where the number of tokens that `layer` has seen comes from.

    A layer with full attention keeps the whole sequence, and a window does until it is full.
    """
    full = (i for i, one in enumerate(cache.layers) if not getattr(one, "is_sliding", False))
    for index in (*full, cache.layers.index(layer)):
        keys = getattr(cache.layers[index], "keys", None)
        if isinstance(keys, torch.Tensor) and keys.dim() == 4 and _same(keys.shape[-2], length):
            return {"layer": index}
    return Seen(length) if isinstance(length, int) else "mask"


def _same(one: Any, other: Any) -> bool:
    """Compare sizes as they are written: comparing their values would add a guard."""
    expressions = [
        size.node.expr if isinstance(size, torch.SymInt) else size for size in (one, other)
    ]
    return bool(expressions[0] == expressions[1])


def restore(cache: Any, layer: Any, known: Any) -> None:
    """Give a layer the number of tokens that `source` described, as far as the cache has it."""
    if isinstance(known, dict):
        layer.cumulative_length = cache.layers[known["layer"]].keys.shape[-2]
    else:
        layer.cumulative_length = int(known) if isinstance(known, int) else None
    from transformers.cache_utils import DynamicSlidingWindowLayer

    # One that records the past keeps more than its window.
    has_keys = isinstance(getattr(layer, "keys", None), torch.Tensor)
    if has_keys and not getattr(layer, "record_past", True):
        layers.replace(layer, DynamicSlidingWindowLayer, "get_mask_sizes", _mask_sizes)


def _mask_sizes(self: Any, query_length: Any) -> tuple[Any, Any]:
    """Return how many keys there will be, and the position of the first."""
    kept = self.keys.shape[-2]
    return kept + query_length, self.cumulative_length - kept


@contextlib.contextmanager
def counted(module: torch.nn.Module) -> Iterator[None]:
    """Take the tokens that windows have seen from the attention mask in calls of `module`."""
    hook = module.register_forward_pre_hook(_count, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _count(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
    for _, held in _windows((args, kwargs)):
        length = _by_mask(module, args, kwargs) if held else None
        for layer in held:
            own = layer.cumulative_length is None or isinstance(layer.keys, FakeTensor)
            if length is not None or own:
                layer.cumulative_length = layer.keys.shape[-2] if length is None else length


def _by_mask(module: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Return how many tokens are in the cache by the attention mask, None without one."""
    try:
        given = inspect.signature(module.forward).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    further = given.arguments.get(_keywords(given.signature), {})
    arguments = {**given.arguments, **further}
    for name, names in _MASKS:
        mask = arguments.get(name)
        tokens = next((arguments[one] for one in names if arguments.get(one) is not None), None)
        if isinstance(mask, torch.Tensor) and mask.dim() == 2 and tokens is not None:
            return mask.shape[-1] - tokens.shape[1]
    return None


def _keywords(signature: inspect.Signature) -> str:
    kind = inspect.Parameter.VAR_KEYWORD
    return next((one.name for one in signature.parameters.values() if one.kind is kind), "")


def _windows(arguments: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Return caches that have only sliding windows, with the layers that have seen tokens."""
    leaves = pytree.tree_leaves(arguments, is_leaf=lambda one: hasattr(one, "layers"))
    for cache in leaves:
        every = getattr(cache, "layers", None)
        if not isinstance(every, list):
            continue
        if not all(getattr(layer, "is_sliding", False) for layer in every):
            continue
        yield cache, [layer for layer in every if _is_window(layer)]


def _is_window(layer: Any) -> bool:
    length = getattr(layer, "cumulative_length", 0)
    return hasattr(layer, "sliding_window") and (length is None or _is_positive(length))


def _is_positive(length: Any) -> bool:
    return isinstance(length, torch.SymInt) or (isinstance(length, int) and length > 0)


def check(module: Any, args: Any, kwargs: Mapping[str, Any], shapes: Any) -> None:
    """Refuse windows without the number of tokens that they have seen, and warn of bounded ones.

    Raises:
        UsageError: A window is full, or the attention mask has another number of columns.
    """
    filled = [(cache, layer) for cache, held in _windows((args, kwargs)) for layer in held]
    if not filled:
        return
    counted = _by_mask(module, args, kwargs)
    if counted is not None:
        for _, layer in filled:
            seen = layer.cumulative_length
            if seen is not None and seen != counted:
                message = (
                    f"the attention mask has columns for {counted} tokens in the cache, which has "
                    f"seen {seen}"
                )
                raise _errors.usage(message, "give it a column for each token, new ones included")
        return
    full = [
        layer
        for cache, layer in filled
        if not isinstance(source(cache, layer, layer.cumulative_length), dict)
    ]
    if (not full and shapes is None) or _is_independent(module, args, kwargs):
        return
    for layer in full:
        window = layer.sliding_window
        message = (
            f"tokens have filled the sliding window of {window} of this cache, and no layer keeps "
            "all of them: the model would only be valid for this position"
        )
        help = (
            "give positions, or an attention mask with two axes, or export with a cache of fewer "
            f"than {window} tokens"
        )
        raise _errors.usage(message, help)
    for window in sorted({layer.sliding_window for _, layer in filled}):
        places.warn(
            f"the model is only valid for caches of fewer than {window} tokens, due to its sliding "
            "window"
        )


def _is_independent(module: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
    """Tell whether a call returns the same whatever number of tokens its windows have seen."""
    found = []
    for more in (0, 1, 1000):
        call = inputs.copied((args, kwargs))
        for _, held in _windows(call):
            for layer in held:
                layer.cumulative_length = layer.keys.shape[-2] + more
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=()):
                torch.manual_seed(0)
                found.append(pytree.tree_leaves(module(*call[0], **call[1])))
        except Exception:
            return False
    first, *others = found
    return all(len(other) == len(first) and all(map(_equal, first, other)) for other in others)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    return bool(one == other)
