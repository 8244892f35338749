"""Models of images and text as three programs, with the names of onnxruntime-genai.

`vision` makes a state of each patch of an image, `embedding` puts these into the embeddings of a
text, in place of the tokens that stand for images, and `model` is the decoder, for prompts and for
later tokens. The script of the decoder stands behind this one.
"""

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caches import before, cache_of, contents, layers_of, shapes_of
    from checkpoint import checked
    from decoder import Refused, dtypes, fake_parameters, with_attention
    from parts import export_part
    from pixels import given_masks, pixels_of, takes_masks
    from process import reason

VISION, JOIN, DECODE = "vision", "embedding", "model"
# Parameters of models that need no further input.
KNOWN = {
    "attention_mask",
    "cache_position",
    "image_sizes",
    "input_ids",
    "inputs_embeds",
    "kwargs",
    "labels",
    "logits_to_keep",
    "lm_kwargs",
    "mm_encoder_outputs",
    "output_attentions",
    "output_hidden_states",
    "past_key_values",
    "pixel_values",
    "position_ids",
    "return_dict",
    "self",
    "token_type_ids",
    "use_cache",
    "vision_feature_layer",
    "vision_feature_select_strategy",
}
# The model whose tokens of an image attend to each other, and the one whose prompt does.
BLOCKS_OF_IMAGES, BLOCK_OF_PROMPT = "gemma3", "paligemma"
# The kinds of onnxruntime-genai by those of transformers.
SERVED = {
    "gemma3": "gemma3",
    "mistral3": "mistral3",
    "qwen2_vl": "qwen2_5_vl",
    "qwen2_5_vl": "qwen2_5_vl",
}
# Sizes of the captured calls, no two of which are equal.
TEXTS_GIVEN, TOKENS_GIVEN, FEATURES_GIVEN, BEFORE_GIVEN = 3, 5, 11, 7


class Images:
    """The programs of a model, their interfaces, and calls of them."""

    def __init__(
        self, folder: str, config: Any, dtype: str, request: dict[str, Any], mode: Any
    ) -> None:
        self.folder, self.config, self.dtype, self.mode = folder, config, dtype, mode
        self.text = config.get_text_config()
        kind = str(config.model_type)
        if request["genai"] and kind not in SERVED:
            raise Refused("server", f"onnxruntime-genai has no runtime for `{kind}`")

        def empty(auto: Any) -> Any:
            def make(**options: Any) -> Any:
                with fake_parameters(mode):
                    return auto.from_config(config, **options)

            return with_attention(make, config, dtypes()[dtype])

        self.model = self.made(empty)
        self.name = type(self.model).__name__
        if not hasattr(self.model, "get_image_features"):
            self.refuse("it makes no states of images alone")
        try:
            self.images = pixels_of(self.model, config, dtype)
        except Refused as refused:
            self.refuse(str(refused))
        self.takes = self.blocks_of()
        self.blocks = self.takes == BLOCKS_OF_IMAGES
        # Positions have a row for each axis of images, or begin at 1.
        self.axes = 3 if hasattr(getattr(self.model, "model", None), "get_rope_index") else 0
        self.begin = 1 if self.takes == BLOCK_OF_PROMPT else 0
        tokens = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
        token = next((one for one in tokens if one is not None), None)
        if token is None:
            self.refuse("it does not state the token of an image")
        self.token = int(token)
        self.words = self.model.get_input_embeddings().num_embeddings
        self.probe()

    def refuse(self, why: str) -> Any:
        """Refuse the model."""
        raise Refused("architecture", f"`{self.name}` has no such parts: {why}")

    def made(self, make: Any) -> Any:
        """Return the model that `make` makes of the class of transformers."""
        import transformers

        try:
            return make(transformers.AutoModelForImageTextToText)
        except (AttributeError, ValueError) as error:
            about = f"transformers has no model of images and text for `{self.config.model_type}`"
            raise Refused("architecture", f"{about}: {reason(error)}") from error

    def blocks_of(self) -> str | None:
        """Return the kind of model whose attention is not causal; refuse inputs of other kinds."""
        names = set(inspect.signature(type(self.model).forward).parameters)
        if unknown := sorted(names - KNOWN - self.images.known):
            self.refuse(f"it takes `{unknown[0]}`")
        if "pixel_values" not in names:
            self.refuse("it does not take `pixel_values`")
        if "token_type_ids" not in names:
            return None
        kind, attention = self.config.model_type, self.model.config._attn_implementation
        is_prompt = kind == BLOCK_OF_PROMPT and takes_masks(self.model)
        if (kind, attention) == (BLOCKS_OF_IMAGES, "sdpa") or is_prompt:
            return str(kind)
        return self.refuse(f"it takes `token_type_ids`, and has the attention `{attention}`")

    def see(self, model: Any, given: list[Any]) -> Any:
        """Return the states of images, one for each of their tokens."""
        import torch

        found = self.images.features(model, given)
        found = getattr(found, "pooler_output", found)
        parts = [found] if isinstance(found, torch.Tensor) else list(found)
        parts = [one.reshape(-1, one.shape[-1]) for one in parts]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def join(self, model: Any, ids: Any, features: Any) -> Any:
        """Return the embeddings of a text with the states of images, in order."""
        import torch

        is_image = ids == self.token
        embeddings = model.get_input_embeddings()
        words = torch.where(is_image, 0, ids) if self.token >= self.words else ids
        embedded = embeddings(words)
        # A row of zeros, for a text without images.
        rows = torch.cat([features, features.new_zeros(1, features.shape[1])])
        last = features.shape[0]
        at = (is_image.flatten().long().cumsum(0) - 1).reshape(ids.shape)
        is_there = is_image & (at < last)
        at = torch.where(is_there, at, last)
        return torch.where(is_there[..., None], rows[at], embedded)

    def decode(self, inner: Any, given: list[Any]) -> list[Any]:
        """Call the decoder; return logits and caches."""
        embedded, *rest = given
        ids = rest.pop(0) if self.blocks else None
        mask, places, *past = rest
        checked(past, embedded, mask)
        more: dict[str, Any] = {"attention_mask": mask}
        masking = contextlib.nullcontext()
        if ids is not None:
            more = {"attention_mask": self.masks(ids, mask, before(past))}
        elif self.takes == BLOCK_OF_PROMPT:
            masking = given_masks(self.model, self.masks_of_prompt(embedded, mask, before(past)))
        with masking:
            out = inner(
                inputs_embeds=embedded,
                position_ids=places,
                past_key_values=cache_of(self.layers, past),
                use_cache=True,
                return_dict=True,
                **more,
            )
        return [out.logits, *contents(out.past_key_values)]

    def masks(self, ids: Any, mask: Any, past: Any) -> dict[str, Any]:
        """Return the masks of layers: causal, and open between the tokens of an image."""
        import torch

        tokens = ids.shape[1]
        is_image = ids == self.token
        begins = is_image & ~torch.nn.functional.pad(is_image, (1, 0))[:, :tokens]
        image = torch.where(is_image, begins.long().cumsum(1), 0)
        # An image is in one call: the past is text.
        others = torch.nn.functional.pad(image, (past, 0))
        here, there = image[:, None, :, None], others[:, None, None, :]
        at = past + torch.arange(tokens)[:, None]
        before_at = torch.arange(mask.shape[1])[None]
        seen = (before_at <= at) | ((here == there) & (here > 0))
        seen = seen & (mask > 0)[:, None, None, :]
        near = before_at > at - self.text.sliding_window
        return {"full_attention": seen, "sliding_attention": seen & near}

    def masks_of_prompt(self, embedded: Any, mask: Any, past: Any) -> dict[str, Any]:
        """Return the masks of layers: open in a first call, and causal in later ones."""
        import torch

        at = past + torch.arange(embedded.shape[1])[:, None]
        before_at = torch.arange(mask.shape[1])[None]
        is_first = at[:1] == 0
        is_there = (mask > 0)[:, None, None, :]
        causal = before_at <= at
        window = getattr(self.text, "sliding_window", None)
        near = causal if window is None else causal & (before_at > at - window)
        masks = {"full_attention": causal, "sliding_attention": near}
        masks = {name: (one | is_first) & is_there for name, one in masks.items()}
        if self.model.config._attn_implementation == "sdpa":
            return masks
        least = torch.finfo(embedded.dtype).min
        return {
            name: torch.where(one, 0.0, least).to(embedded.dtype) for name, one in masks.items()
        }

    def probe(self) -> None:
        """Find the sizes of states and caches."""
        import torch
        import transformers

        about = f"`{self.name}` does not keep its past as keys and values of each layer"
        with self.mode, torch.no_grad():
            self.images.is_probe = True
            try:
                given, axes = self.images.example()
                features = self.see(self.model, given)
            except Refused as refused:
                self.refuse(str(refused))
            except Exception as error:
                self.refuse(f"it makes no states of images alone: {reason(error)}")
            self.images.is_probe = False
            self.width = int(features.shape[1])
            if axes == [{0: "num_images"}]:
                self.images.tokens = int(features.shape[0]) // given[0].shape[0]
            embedded = torch.zeros(2, 3, self.width, dtype=dtypes()[self.dtype])
            mask = torch.ones(2, 3, dtype=torch.int64)
            more = {"token_type_ids": torch.zeros_like(mask)} if self.takes else {}
            try:
                out = self.model(
                    inputs_embeds=embedded,
                    attention_mask=mask,
                    past_key_values=transformers.DynamicCache(),
                    use_cache=True,
                    return_dict=True,
                    **more,
                )
            except Exception as error:
                raise Refused("architecture", f"{about}: {reason(error)}") from error
        self.layers = layers_of(out.past_key_values, about)
        self.vocabulary = int(out.logits.shape[-1])

    def call(self, part: str, model: Any, inner: Any, given: list[Any]) -> tuple[Any, ...]:
        """Call a part; return its results in the order of the interface."""
        if part == VISION:
            return (self.see(model, given),)
        if part == JOIN:
            return (self.join(model, *given),)
        return tuple(self.decode(inner, given))

    def interface(self, part: str) -> tuple[list[str], list[str]]:
        """Return the names of inputs and outputs."""
        if part == VISION:
            return list(self.images.names), ["image_features"]
        if part == JOIN:
            return ["input_ids", "image_features"], ["inputs_embeds"]
        past = [
            f"{{}}.{layer}.{kind}" for layer in range(len(self.layers)) for kind in ("key", "value")
        ]
        ids = ["input_ids"] if self.blocks else []
        inputs = ["inputs_embeds", *ids, "attention_mask", "position_ids"]
        inputs += [one.format("past_key_values") for one in past]
        return inputs, ["logits", *(one.format("present") for one in past)]

    def example(self, part: str) -> tuple[list[Any], list[dict[int, str]]]:
        """Return inputs for a capture, and the names of their dynamic axes."""
        import torch

        dtype = dtypes()[self.dtype]
        if part == VISION:
            return self.images.example()
        ids = torch.zeros(TEXTS_GIVEN, TOKENS_GIVEN, dtype=torch.int64)
        tokens = {0: "batch_size", 1: "sequence_length"}
        if part == JOIN:
            features = torch.zeros(FEATURES_GIVEN, self.width, dtype=dtype)
            return [ids, features], [tokens, {0: "num_image_tokens"}]
        total = torch.ones(TEXTS_GIVEN, BEFORE_GIVEN + TOKENS_GIVEN, dtype=torch.int64)
        given = [torch.zeros(*ids.shape, self.width, dtype=dtype)]
        # Inputs that are one tensor would be one in the program.
        given += [ids] if self.blocks else []
        places = ids.new_zeros(self.axes, *ids.shape) if self.axes else torch.zeros_like(ids)
        axes = [tokens] * len(given)
        given += [total, places]
        axes += [{0: "batch_size", 1: "total_sequence_length"}]
        axes += [{at + 1: name for at, name in tokens.items()} if self.axes else tokens]
        shapes = shapes_of(self.layers, TEXTS_GIVEN, BEFORE_GIVEN)
        given += [torch.zeros(shape, dtype=dtype) for shape in shapes]
        return given, axes + [{0: "batch_size", 2: "past_sequence_length"}] * len(shapes)

    def described(self, part: str) -> dict[str, Any]:
        """Return the names of inputs, outputs and dynamic axes."""
        inputs, outputs = self.interface(part)
        _, axes = self.example(part)
        dims = [
            {"input": given, "axis": at, "name": name}
            for given, named in zip(inputs, axes, strict=True)
            for at, name in named.items()
            # The sum of two others.
            if name != "total_sequence_length" and name not in self.images.multiples
        ]
        return {"inputs": inputs, "outputs": outputs, "dims": dims}

    def capture(self, part: str, most: int | None = None) -> Any:
        """Export a part."""
        from torch.export import Dim

        with self.mode:
            given, axes = self.example(part)
        least = {"past_sequence_length": 0, "num_image_tokens": 0, "num_tiles": 2}
        most_of = {"sequence_length": most, "past_sequence_length": most}
        dims = {
            name: Dim(name, min=least.get(name, 1), max=most_of.get(name))
            for name in sorted({name for one in axes for name in one.values()})
        }
        dims["total_sequence_length"] = Dim.AUTO
        for name, factor in self.images.multiples.items():
            dims[name] = factor * Dim(f"{name}_by_{factor}", min=1)
        shapes = tuple({at: dims[name] for at, name in one.items()} for one in axes)
        call = functools.partial(self.call, part)
        return export_part(self.model, call, given, shapes)
