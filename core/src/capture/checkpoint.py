"""A decoder of transformers: its model without weights, and its interface.

The script of the decoder stands behind this one.
"""

import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caches import (
        before,
        cache_of,
        contents,
        empty_cache,
        filled_cache,
        layers_of,
        shapes_of,
    )
    from composed import compositions
    from decoder import (
        ATTENTION,
        Refused,
        dtypes,
        generation,
        limit_of,
        model_of,
        with_attention,
    )
    from group_query import Buffered, current, rotary, rotates, use_group_query
    from process import reason
    from streamed import streamed


def probe(model: Any, mode: Any) -> tuple[list[dict[str, int]], int]:
    """Call the model without a past; describe the caches of its layers, and count its logits."""
    import torch

    about = f"`{type(model).__name__}` does not keep its past as keys and values of each layer"
    if "past_key_values" not in inspect.signature(type(model).forward).parameters:
        raise Refused("architecture", about)
    ids, mask = torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64)
    cache = empty_cache(model.config)
    try:
        with mode, torch.no_grad():
            out = model(
                input_ids=ids,
                # A layer with a state asks for the values of a mask.
                attention_mask=None if cache.layers else mask,
                past_key_values=cache,
                use_cache=True,
                return_dict=True,
            )
        cache = out.past_key_values
        _ = cache.layers
    except Exception as error:
        kinds = sorted(set(getattr(model.config, "layer_types", None) or ()) - ATTENTION)
        why = f"it has layers of the kind `{kinds[0]}`" if kinds else reason(error)
        raise Refused("architecture", f"{about}: {why}") from error
    return layers_of(cache, about), int(out.logits.shape[-1])


def checked(past: list[Any], ids: Any, mask: Any) -> None:
    """State that all caches have one length, and the length of the mask."""
    import torch

    length = before(past)
    for tensor in past:
        if tensor.dim() == 4:
            torch._check(tensor.shape[2] == length)
    torch._check(mask.shape[1] == ids.shape[1] + length)


def forward_checked(inner: Callable[..., Any], positions: bool) -> Callable[..., Any]:
    """Return a `forward` of tensors that states their lengths."""

    def forward(*given: Any) -> Any:
        checked(list(given[3 if positions else 2 :]), given[0], given[1])
        return tuple(inner(*given))

    return forward


def forward_of(
    model: Any,
    layers: list[dict[str, int]],
    positions: bool,
    last: bool,
    buffers: bool,
    rotates: bool = False,
) -> Any:
    """Return a `forward` whose arguments and results are tensors in the order of the interface.

    The attention `rotates` queries and keys if the model is to leave that to it.
    """
    inner = type(model).forward
    more: dict[str, Any] = {"logits_to_keep": 1} if last else {}

    def forward(self: Any, *given: Any) -> Any:
        ids, mask, *rest = given
        places = {"position_ids": rest.pop(0)} if positions else {}
        if buffers:
            buffered = Buffered(rest, ids, mask)
            current.append(buffered)
            cache = buffered.cache
        else:
            checked(rest, ids, mask)
            cache = cache_of(layers, rest)
        with rotary[-1].call() if rotates else contextlib.nullcontext():
            out = inner(
                self,
                input_ids=ids,
                attention_mask=mask,
                past_key_values=cache,
                use_cache=True,
                return_dict=True,
                **places,
                **more,
            )
        if buffers:
            return out.logits, *buffered.present()
        return out.logits, *contents(out.past_key_values)

    return types.MethodType(forward, model)


class Checkpoint:
    """A decoder of transformers."""

    def __init__(
        self, folder: str, config: Any, dtype: str, request: dict[str, Any], mode: Any
    ) -> None:
        self.folder, self.config, self.dtype, self.mode = folder, config, dtype, mode
        self.last = request["last"]
        self.model = model = model_of(config, dtypes()[dtype], mode)
        self.layers, self.vocabulary = probe(model, mode)
        self.words = model.get_input_embeddings().num_embeddings
        self.composed = compositions(model, request["stored"])
        parameters = inspect.signature(type(model).forward).parameters
        self.positions = "position_ids" in parameters
        if self.last and "logits_to_keep" not in parameters:
            kind = type(model).__name__
            raise Refused("architecture", f"`{kind}` always computes the logits of all tokens")
        if request["buffers"] and any("channels" in layer for layer in self.layers):
            about = f"`{type(model).__name__}` has layers with the state of a convolution"
            raise Refused("architecture", f"{about}, for which there are no buffers")
        self.limit = limit_of(config)
        model.forward = forward_of(
            model, self.layers, self.positions, self.last, request["buffers"]
        )
        if request["buffers"]:
            use_group_query(model, self.limit)
            if self.positions and rotates(model, self.tried()):
                self.positions = False
                model.forward = forward_of(model, self.layers, False, self.last, True, True)

    def tried(self) -> list[Any]:
        """Return fake arguments of a call with positions."""
        import torch

        with self.mode:
            ids = torch.zeros(2, 3, dtype=torch.int64)
            mask = torch.ones(2, 7, dtype=torch.int64)
            dtype = dtypes()[self.dtype]
            past = [torch.zeros(shape, dtype=dtype) for shape in shapes_of(self.layers, 2, 4)]
            return [ids, mask, torch.zeros_like(ids), *past]

    def loaded(self) -> Any:
        """Return the model with its weights."""
        import transformers

        load = functools.partial(
            transformers.AutoModelForCausalLM.from_pretrained, self.folder, local_files_only=True
        )
        return with_attention(load, self.config, dtypes()[self.dtype])

    def streamed(self) -> Any:
        """Return a model that reads its weights while it runs."""
        model = model_of(self.config, dtypes()[self.dtype], self.mode)
        return streamed(model, self.folder, self.composed)

    def run(self, model: Any, given: list[Any]) -> list[Any]:
        """Return the results of a model that was loaded."""
        ids, mask, *rest = given
        places = {"position_ids": rest.pop(0)} if self.positions else {}
        cache = empty_cache(self.config)
        if before(rest):
            cache = filled_cache(cache, self.layers, rest)
        out = model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
            **places,
            **({"logits_to_keep": 1} if self.last else {}),
        )
        return [out.logits, *contents(out.past_key_values)]

    def description(self) -> dict[str, Any]:
        """Return the part of the answer that the configuration states."""
        config = self.config
        text = config.get_text_config() if hasattr(config, "get_text_config") else config
        return {
            "model_type": str(config.model_type),
            "attention_heads": getattr(text, "num_attention_heads", None),
            "hidden_size": getattr(text, "hidden_size", None),
            "prefix": getattr(self.model, "base_model_prefix", ""),
            **generation(self.folder, config),
        }
