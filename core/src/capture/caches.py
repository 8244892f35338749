"""Caches of the layers of a decoder: keys and values, or the state of a short convolution.

A layer is described as the answer has it: `heads`, `key_size` and `value_size`, or `channels` and
`length`. The script of the decoder stands behind this one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused


def shapes_of(layers: list[dict[str, int]], texts: Any, tokens: Any) -> list[tuple[Any, ...]]:
    """Return the shapes of all caches after this number of tokens."""
    shapes: list[tuple[Any, ...]] = []
    for layer in layers:
        if "channels" in layer:
            shapes.append((texts, layer["channels"], layer["length"]))
        else:
            sizes = layer["key_size"], layer["value_size"]
            shapes += [(texts, layer["heads"], tokens, size) for size in sizes]
    return shapes


def before(past: list[Any]) -> Any:
    """Return the number of tokens in the caches of a call."""
    return next(one.shape[2] for one in past if one.dim() == 4)


def is_convolution(layer: Any) -> bool:
    """Whether the layer of a cache of transformers is the state of a convolution."""
    import transformers

    known = getattr(transformers.cache_utils, "LinearAttentionLayer", None)
    return known is not None and type(layer) is known


def empty_cache(config: Any) -> Any:
    """Return a cache without tokens, whose layers of keys and values keep all of them."""
    import transformers

    cache = transformers.DynamicCache()
    try:
        layers = transformers.DynamicCache(config=config).layers
    except Exception:
        # An older release, or layers of a kind that it does not know.
        return cache
    if any(is_convolution(layer) for layer in layers):
        plain = transformers.cache_utils.DynamicLayer
        cache.layers = [layer if is_convolution(layer) else plain() for layer in layers]
    return cache


def convolved(state: Any) -> Any:
    """Return the layer of a cache with this state; zeros stand for no tokens."""
    import torch
    import transformers

    class Convolved(transformers.cache_utils.LinearAttentionLayer):  # type: ignore[misc]
        """A state that each call extends, whichever number of tokens it has."""

        def update_conv_state(self, conv_states: Any, state_idx: int = 0, **_: Any) -> Any:
            extended = torch.cat([self.conv_states[state_idx], conv_states], -1)
            self.conv_states[state_idx] = extended[..., -state.shape[-1] :]
            return extended

    layer = Convolved()
    layer.conv_states[0] = state
    layer.is_conv_states_initialized[0] = layer.has_previous_state[0] = True
    # The model must not take its way for single tokens, which writes to the state.
    layer.record_past = True
    return layer


def cache_of(layers: list[dict[str, int]], past: list[Any]) -> Any:
    """Return a cache of transformers with these contents."""
    import transformers

    cache = transformers.DynamicCache()
    rest = iter(past)
    for at, layer in enumerate(layers):
        if "channels" in layer:
            cache.layers.append(convolved(next(rest)))
        else:
            cache.update(next(rest), next(rest), at)
    return cache


def filled_cache(cache: Any, layers: list[dict[str, int]], past: list[Any]) -> Any:
    """Return an empty cache with these contents, as transformers fills it."""
    rest = iter(past)
    for at, layer in enumerate(layers):
        if "channels" in layer:
            state, own = next(rest), cache.layers[at]
            own.lazy_initialization(conv_states=state)
            own.conv_states[0].copy_(state)
            own.has_previous_state[0] = True
        else:
            cache.update(next(rest), next(rest), at)
    return cache


def contents(cache: Any) -> list[Any]:
    """Return the tensors of a cache of transformers, in the order of the interface."""
    tensors: list[Any] = []
    for layer in cache.layers:
        states = getattr(layer, "conv_states", None)
        tensors += [layer.keys, layer.values] if states is None else [states[0]]
    return tensors


def layers_of(cache: Any, about: str) -> list[dict[str, int]]:
    """Describe the layers of a cache after 3 tokens of 2 texts; `about` begins a refusal."""
    import transformers

    layers: list[dict[str, int]] = []
    for layer in cache.layers:
        if is_convolution(layer):
            (state, *others) = layer.conv_states.values()
            recurrent = any(one is not None for one in layer.recurrent_states.values())
            if others or recurrent or state is None or state.dim() != 3 or state.shape[0] != 2:
                raise Refused("architecture", f"{about}: a layer has a recurrent state")
            layers.append({"channels": int(state.shape[1]), "length": int(state.shape[2])})
            continue
        plain = type(layer) is transformers.cache_utils.DynamicLayer
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if not plain or keys is None or values is None or keys.dim() != 4 or values.dim() != 4:
            raise Refused("architecture", f"{about}: a layer has a {type(layer).__name__}")
        leading = tuple(keys.shape[:3])
        if leading != tuple(values.shape[:3]) or (keys.shape[0], keys.shape[2]) != (2, 3):
            shapes = f"{tuple(keys.shape)} and {tuple(values.shape)} after 3 tokens of 2 texts"
            raise Refused("architecture", f"{about}: a layer has the shapes {shapes}")
        key_size, value_size = int(keys.shape[3]), int(values.shape[3])
        layers.append({"heads": int(keys.shape[1]), "key_size": key_size, "value_size": value_size})
    if not any("heads" in layer for layer in layers):
        raise Refused("architecture", about)
    return layers
