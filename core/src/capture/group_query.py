"""Attention as `com.microsoft::GroupQueryAttention`, which keeps its caches in buffers.

The operator appends keys and values to the caches and applies a causal mask itself, with or
without a sliding window. So a model qualifies if all of its attention goes through the interface
of transformers, and if its masks are causal. The script of the decoder stands behind this one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused
    from rotary import Rotary, depends

GROUP_QUERY = "onnxport_group_query"
OPERATOR = "group_query_attention"
SCHEMA = (
    "(Tensor query, Tensor key, Tensor value, Tensor past_key, Tensor past_value, Tensor lengths,"
    " Tensor total, SymInt length, int num_heads, int kv_num_heads, float scale, int window,"
    " float softcap, Tensor? sinks=None, Tensor? cos=None, Tensor? sin=None,"
    " bool interleaved=False) -> (Tensor, Tensor, Tensor)"
)
# Arguments of attention functions that do not change the result.
NEUTRAL = {
    "cache_position",
    "logits_to_keep",
    "num_items_in_batch",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "position_ids",
    "return_dict",
    "use_cache",
}
# Queries whose rows of a mask are compared with those of a window, and one behind all windows.
QUERIES = (0, 1, 2, 3, 7, 31, 63, 64, 127, 511, 1023, 4095, 8191, 32767, 131071)
FAR = 1 << 40


class Causal:
    """A causal mask in place of a tensor: each query sees the last `window` tokens, 0 for all."""

    def __init__(self, window: int, problem: Exception | None = None) -> None:
        # A model may make masks that no layer uses.
        self.window, self.problem = window, problem

    def __getattr__(self, name: str) -> Any:
        """Refuse a model that computes with the mask."""
        raise not_causal(f"the model uses `{name}` of its mask")


def not_causal(about: str) -> Exception:
    """Return the refusal of attention that the operator does not compute."""
    return Refused("architecture", f"GroupQueryAttention does not compute its attention: {about}")


def window_of(mask_function: Any) -> int:
    """Return the window of a mask, 0 if it is causal without one.

    The mask is a function of positions. Its rows are evaluated for several queries: each has to
    allow the query itself and the tokens before it, as many as the window has.
    """
    import torch

    def row(query: int, keys: Any) -> Any:
        zero, at = torch.zeros((), dtype=torch.int64), torch.full((), query)
        return torch.as_tensor(mask_function(zero, zero, at, keys)).expand(len(keys))

    def seen(query: int) -> int:
        allowed = row(query, torch.arange(query + 3))
        count = int(allowed.sum())
        if count == 0 or not bool(allowed[query - count + 1 : query + 1].all()):
            raise not_causal(f"the mask of token {query} is not a window")
        return count

    windows = {query: seen(query) for query in QUERIES}
    window = max(windows.values())
    limited = window <= QUERIES[-1]
    near = (window - 2, window - 1, window, window + 1, 2 * window + 1) if limited else ()
    windows.update((query, seen(query)) for query in near if query >= 0)
    for query, count in windows.items():
        if count != (min(query + 1, window) if limited else query + 1):
            raise not_causal(f"token {query} sees {count} tokens")
    far = row(FAR, torch.tensor([0, FAR // 2, FAR, FAR + 1])).tolist()
    if far != [not limited, not limited, True, False]:
        raise not_causal("its mask changes far behind the first token")
    return window if limited else 0


def mask_of(*_: Any, mask_function: Any = None, **rest: Any) -> Causal:
    """Stand for the function of transformers that builds a mask."""
    from torch.utils._python_dispatch import _disable_current_modes

    if rest.get("use_vmap"):
        raise not_causal("the mask depends on more than positions")
    try:
        with _disable_current_modes():
            return Causal(window_of(mask_function))
    except Refused as problem:
        return Causal(0, problem)
    except (RuntimeError, TypeError) as error:
        raise not_causal("the mask depends on values") from error


class Buffered:
    """The caches of a call, and the lengths that they have in it."""

    def __init__(self, past: list[Any], ids: Any, mask: Any) -> None:
        import torch
        import transformers

        for tensor in past:
            torch._check(tensor.shape[2] == past[0].shape[2])
        total = mask.shape[1]
        before = total - ids.shape[1]
        # The last token of each text.
        lengths = (mask.sum(1) - 1).to(torch.int32)
        total_length = torch.full((1,), total, dtype=torch.int32)
        # In a buffer that is longer than the text, the operator writes in place.
        length = torch.sym_max(past[0].shape[2], total)

        class Layer(transformers.cache_utils.DynamicLayer):  # type: ignore[misc]
            """A cache to which the attention appends."""

            def update(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
                if self.fresh is not None:
                    raise not_causal("a layer is updated twice")
                self.fresh = keys, values
                return keys, values

            def get_seq_length(self) -> Any:
                return before

        self.cache = transformers.DynamicCache()
        self.cache.layers = []
        for keys, values in zip(past[::2], past[1::2], strict=True):
            layer = Layer()
            layer.is_initialized = True
            layer.keys, layer.values, layer.fresh = keys, values, None
            layer.call = (lengths, total_length, length)
            layer.present = None
            layer.dtype, layer.device = keys.dtype, keys.device
            self.cache.layers.append(layer)

    def present(self) -> list[Any]:
        """Return the caches after the call."""
        if any(layer.present is None for layer in self.cache.layers):
            raise not_causal("it does not go through the interface of transformers")
        return [part for layer in self.cache.layers for part in layer.present]


# The caches of the call that is captured, and the rotary embeddings of the model.
current: list[Buffered] = []
rotary: list["Rotary"] = []


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    sliding_window: int | None = None,
    is_causal: bool | None = None,
    s_aux: Any = None,
    **rest: Any,
) -> tuple[Any, None]:
    """Compute the attention of a layer, as the functions of transformers do."""
    import torch

    stated = {name for name, one in rest.items() if one is not None and one is not False}
    unknown = sorted(stated - NEUTRAL)
    if unknown or dropout:
        raise not_causal(f"`{type(module).__name__}` states {', '.join(unknown) or 'a dropout'}")
    if not isinstance(attention_mask, Causal):
        raise not_causal(f"`{type(module).__name__}` has a mask of its own")
    if attention_mask.problem is not None:
        raise attention_mask.problem
    if is_causal is False or not getattr(module, "is_causal", True):
        raise not_causal(f"`{type(module).__name__}` is not causal")
    if sliding_window and attention_mask.window not in (0, sliding_window):
        raise not_causal(f"two windows, {sliding_window} and {attention_mask.window}")
    layers = [one for one in current[-1].cache.layers if one.fresh and one.fresh[0] is key]
    if len(layers) != 1 or layers[0].fresh[1] is not value or layers[0].present is not None:
        raise not_causal(f"`{type(module).__name__}` changes the keys and values of its cache")
    (layer,) = layers
    lengths, total, length = layer.call
    cos, sin, interleaved = rotary[-1].taken(query, key) or (None, None, False)
    batch, heads, tokens, size = query.shape
    shared = key.shape[1]
    if key.shape[3] != size or value.shape[3] != size:
        raise not_causal("keys and values have several sizes")

    def rows(tensor: Any) -> Any:
        return tensor.transpose(1, 2).reshape(batch, tokens, tensor.shape[1] * size)

    out, *present = torch.ops.onnxport.group_query_attention(
        rows(query),
        rows(key),
        rows(value),
        layer.keys,
        layer.values,
        lengths,
        total,
        length,
        int(heads),
        int(shared),
        float(size**-0.5 if scaling is None else scaling),
        attention_mask.window,
        float(softcap or 0.0),
        s_aux,
        cos,
        sin,
        interleaved,
    )
    layer.present = present
    return out.reshape(batch, tokens, heads, size), None


def define() -> None:
    """Define the operator that stands for a node of GroupQueryAttention."""
    import torch

    torch.library.define(f"onnxport::{OPERATOR}", SCHEMA)

    @torch.library.register_fake(f"onnxport::{OPERATOR}")  # type: ignore[untyped-decorator]
    def _(query: Any, _key: Any, _value: Any, keys: Any, values: Any, *rest: Any) -> Any:
        length = rest[2]
        caches = [
            one.new_empty((one.shape[0], one.shape[1], length, one.shape[3]))
            for one in (keys, values)
        ]
        return torch.empty_like(query), *caches


def use_group_query(model: Any, limit: int | None) -> None:
    """Make `model` compute attention with the operator."""
    import transformers
    from transformers.masking_utils import AttentionMaskInterface

    define()
    transformers.AttentionInterface.register(GROUP_QUERY, attend)
    AttentionMaskInterface.register(GROUP_QUERY, mask_of)
    model.set_attn_implementation(GROUP_QUERY)
    if model.config._attn_implementation != GROUP_QUERY:
        raise not_causal("it does not go through the interface of transformers")
    rotary.append(Rotary(model, limit))


def rotates(model: Any, given: list[Any]) -> bool:
    """Tell whether the operator can compute all rotary embeddings of a model.

    The model takes the fake tensors `given`, of which the third has the positions. The operator
    counts these itself, so nothing else may depend on them.
    """
    import torch

    own = rotary[-1]
    with own.call(), given[2].fake_mode, torch.no_grad():
        positional = depends(lambda: model(*given), given[2])
        return bool(own.tables) and not positional and not own.left
