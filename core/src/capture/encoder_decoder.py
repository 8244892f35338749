"""Encoder-decoders as three programs, with the names of optimum.

They are the encoder, the decoder for the first tokens, which makes the caches of the attention to
the encoder, and the decoder for later tokens. The script of the decoder stands behind this one.
"""

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters import Adapters
    from composed import compositions
    from decoder import (
        Refused,
        bounded,
        fake_parameters,
        generation,
        limit_of,
        ties,
        with_attention,
    )
    from expected import too_large, write_calls
    from parts import export_part, runner
    from process import reason
    from sound import Served

# The files, and the names of optimum.
ENCODER, FIRST, LATER = "encoder_model", "decoder_model", "decoder_with_past_model"
# Sizes of the captured calls, no two of which are equal; and those of the calls to compare.
TEXTS, SOURCE, TARGET, BEFORE = 3, 11, 5, 7
PROMPT_OF_ENCODER, SHORT_OF_ENCODER, STEPS = 8, 5, 2


def sequences_of(config: Any, make: Callable[..., Any]) -> Any:
    """Return the model that `make` makes of one of transformers' classes for encoder-decoders."""
    import transformers

    problem: Exception = ValueError("transformers has no such model")
    for auto in ("AutoModelForSeq2SeqLM", "AutoModelForSpeechSeq2Seq"):
        try:
            return make(getattr(transformers, auto))
        except ValueError as error:
            problem = error
    about = f"transformers has no encoder-decoder for `{config.model_type}`"
    raise Refused("architecture", f"{about}: {reason(problem)}") from problem


class Parts:
    """The programs of a model, their interfaces, and calls of them."""

    order: tuple[str, ...] = (ENCODER, FIRST, LATER)
    # Names of files that are not those of the parts.
    files: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config
        self.sound = model.main_input_name == "input_features"
        if model.main_input_name not in ("input_ids", "input_features"):
            about = f"`{type(model).__name__}` takes `{model.main_input_name}`"
            raise Refused("architecture", about)
        self.takes_mask = "attention_mask" in inspect.signature(type(model).forward).parameters
        self.takes_mask = self.takes_mask and not self.sound
        # Heads and sizes of caches, the width of the states of the encoder, and their length.
        self.sizes: list[list[int]] = []
        self.width = self.length = 0

    def source(self, texts: int, length: int) -> list[Any]:
        """Return inputs of the encoder: tokens and their mask, or the features of a sound."""
        import torch

        if self.sound:
            frames = self.config.max_source_positions * 2
            return [torch.zeros(texts, self.config.num_mel_bins, frames)]
        ids = torch.zeros(texts, length, dtype=torch.int64)
        return [ids, torch.ones_like(ids)] if self.takes_mask else [ids]

    def encode(self, model: Any, given: list[Any]) -> list[Any]:
        """Call the encoder."""
        names = [model.main_input_name, "attention_mask"]
        called = dict(zip(names, given, strict=False))
        return [model.get_encoder()(**called, return_dict=True).last_hidden_state]

    def decode(
        self, inner: Any, ids: Any, mask: list[Any], states: Any, past: list[Any]
    ) -> list[Any]:
        """Call the decoder; return logits, and the caches of itself and of the encoder by layer."""
        import transformers
        from transformers.modeling_outputs import BaseModelOutput

        own, cross = transformers.DynamicCache(), transformers.DynamicCache()
        layers = len(past) // 4
        for layer in range(layers):
            own.update(past[4 * layer], past[4 * layer + 1], layer)
            cross.update(past[4 * layer + 2], past[4 * layer + 3], layer)
        cache = transformers.EncoderDecoderCache(own, cross)
        for layer in range(layers):
            cache.is_updated[layer] = True
        if states is None:
            # Its keys and values are in the cache; only its length counts.
            key = past[2]
            states = key.new_zeros((key.shape[0], key.shape[2], self.width))
        out = inner(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            decoder_input_ids=ids,
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
            **({"attention_mask": mask[0]} if mask else {}),
        )
        cache = out.past_key_values
        pairs = zip(
            cache.self_attention_cache.layers, cache.cross_attention_cache.layers, strict=True
        )
        kept = [part for pair in pairs for one in pair for part in (one.keys, one.values)]
        return [out.logits, *kept]

    def probe(self, mode: Any) -> int:
        """Find the sizes of caches; return the number of logits."""
        import torch

        kind = type(self.model).__name__
        about = f"`{kind}` does not keep its past as keys and values of each layer"
        try:
            with mode, torch.no_grad():
                given = self.source(2, 4)
                (states,) = self.encode(self.model, given)
                self.width = int(states.shape[-1])
                ids = torch.zeros(2, 3, dtype=torch.int64)
                logits, *kept = self.decode(self.model, ids, given[1:], states, [])
        except Exception as error:
            raise Refused("architecture", f"{about}: {reason(error)}") from error
        lengths = [3, 3, int(states.shape[1]), int(states.shape[1])]
        for at, one in enumerate(kept):
            if one.dim() != 4 or one.shape[0] != 2 or one.shape[2] != lengths[at % 4]:
                raise Refused("architecture", f"{about}: a cache has the shape {tuple(one.shape)}")
        if not kept:
            raise Refused("architecture", about)
        self.sizes = [[int(one.shape[1]), int(one.shape[3])] for one in kept]
        self.length = int(states.shape[1])
        return int(logits.shape[-1])

    def caches(self, texts: int, own: int, source: int, dtype: Any) -> list[Any]:
        """Return caches of zeros."""
        import torch

        lengths = [own, own, source, source] * (len(self.sizes) // 4)
        pairs = zip(self.sizes, lengths, strict=True)
        return [
            torch.zeros(texts, heads, length, size, dtype=dtype) for (heads, size), length in pairs
        ]

    def names(self, prefix: str) -> list[str]:
        """Return the names of caches."""
        layers = range(len(self.sizes) // 4)
        parts = [f"{side}.{part}" for side in ("decoder", "encoder") for part in ("key", "value")]
        return [f"{prefix}.{layer}.{part}" for layer in layers for part in parts]

    def own(self, caches: list[Any]) -> list[Any]:
        """Return the caches that a later call changes."""
        return [one for at, one in enumerate(caches) if at % 4 < 2]

    def call(self, part: str, model: Any, inner: Any, given: list[Any]) -> tuple[Any, ...]:
        """Call a part; return its results in the order of the interface."""
        if part == ENCODER:
            return tuple(self.encode(model, given))
        masks = [given[1]] if self.takes_mask else []
        rest = given[1 + len(masks) :]
        if part == FIRST:
            return tuple(self.decode(inner, given[0], masks, rest[0], []))
        logits, *kept = self.decode(inner, given[0], masks, None, rest)
        return (logits, *self.own(kept))

    def interface(self, part: str) -> tuple[list[str], list[str]]:
        """Return the names of inputs and outputs."""
        if part == ENCODER:
            masks = ["attention_mask"] if self.takes_mask else []
            return [self.model.main_input_name, *masks], ["last_hidden_state"]
        present = self.names("present")
        inputs = ["input_ids", *(["encoder_attention_mask"] if self.takes_mask else [])]
        if part == FIRST:
            return [*inputs, "encoder_hidden_states"], ["logits", *present]
        return [*inputs, *self.names("past_key_values")], ["logits", *self.own(present)]

    def example(self, part: str, dtype: Any) -> tuple[list[Any], list[dict[int, str]]]:
        """Return inputs for a capture, and the names of their dynamic axes."""
        import torch

        texts, source = {0: "batch_size"}, {0: "batch_size", 1: "encoder_sequence_length"}
        source = texts if self.sound else source
        if part == ENCODER:
            given = self.source(TEXTS, SOURCE)
            return [one.to(dtype) if self.sound else one for one in given], [source] * len(given)
        ids = torch.zeros(TEXTS, TARGET, dtype=torch.int64)
        given, axes = [ids], [{0: "batch_size", 1: "decoder_sequence_length"}]
        length = self.length if self.sound else SOURCE
        if self.takes_mask:
            given.append(torch.ones(TEXTS, length, dtype=torch.int64))
            axes.append(source)
        if part == FIRST:
            return [*given, torch.zeros(TEXTS, length, self.width, dtype=dtype)], [*axes, source]
        before = {0: "batch_size", 2: "past_decoder_sequence_length"}
        cross = texts if self.sound else {0: "batch_size", 2: "encoder_sequence_length"}
        caches = self.caches(TEXTS, BEFORE, length, dtype)
        return [*given, *caches], [*axes, *[before, before, cross, cross] * (len(caches) // 4)]

    def described(self, part: str, dtype: Any) -> dict[str, Any]:
        """Return the names of inputs, outputs and dynamic axes."""
        inputs, outputs = self.interface(part)
        _, axes = self.example(part, dtype)
        dims = [
            {"input": given, "axis": at, "name": name}
            for given, named in zip(inputs, axes, strict=True)
            for at, name in named.items()
        ]
        return {"inputs": inputs, "outputs": outputs, "dims": dims}

    def capture(self, part: str, mode: Any, dtype: Any, most: int | None = None) -> Any:
        """Export a part."""
        from torch.export import Dim

        with mode:
            given, axes = self.example(part, dtype)
        every = {name for one in axes for name in one.values()}
        least = {name: 0 if name.startswith("past") else 1 for name in every}
        dims = {
            name: Dim(name, min=least[name], max=None if name == "batch_size" else most)
            for name in sorted(every)
        }
        shapes = tuple({at: dims[name] for at, name in one.items()} for one in axes)
        call = functools.partial(self.call, part)
        return export_part(self.model, call, given, shapes)

    def calls(self, running: Any, dtype: Any) -> dict[str, dict[str, tuple[list[Any], list[Any]]]]:
        """Return calls of each part, with their values if there is a model to run."""
        import torch

        random = torch.Generator().manual_seed(0)
        words = self.model.get_input_embeddings().num_embeddings
        source = self.source(2, PROMPT_OF_ENCODER)
        if self.sound:
            source = [torch.randn(source[0].shape, generator=random).to(dtype)]
        else:
            source[0] = torch.randint(words, (2, PROMPT_OF_ENCODER), generator=random)
            for mask in source[1:]:
                mask[1, SHORT_OF_ENCODER:] = 0
        masks = source[1:]
        length = self.length if self.sound else PROMPT_OF_ENCODER
        made: dict[str, dict[str, Any]] = {ENCODER: {}, FIRST: {}, LATER: {}}
        run = runner(made, self.call, running)

        states = run(ENCODER, "source", source) or [torch.zeros(2, length, self.width, dtype=dtype)]
        ids = torch.randint(words, (2, 3), generator=random)
        results = run(FIRST, "first", [ids, *masks, *states])
        caches = results[1:] or self.caches(2, ids.shape[1], length, dtype)
        for step in range(STEPS):
            ids = torch.randint(words, (2, 1), generator=random)
            results = run(LATER, f"token-{step + 1}", [ids, *masks, *caches])
            own = results[1:] or self.own(self.caches(2, 4 + step, length, dtype))
            for at, one in enumerate(own):
                caches[at // 2 * 4 + at % 2] = one
        return made


def recorded(
    parts: Parts, folder: str, dtype: Any, request: dict[str, Any], tell: Any, adapters: "Adapters"
) -> tuple[dict[str, Any], str | None]:
    """Return calls of each part, and the reason why wanted values are missing."""
    uncompared = None
    if request["record"] == "values" and (uncompared := too_large(parts.model)) is None:
        tell({"step": "running the checkpoint in PyTorch"})

        def load(auto: Any) -> Any:
            stored = functools.partial(auto.from_pretrained, folder, local_files_only=True)
            return with_attention(stored, parts.config, dtype)

        try:
            running = adapters.merge(sequences_of(parts.config, load))
            return parts.calls(running, dtype), None
        except Exception as error:
            uncompared = f"PyTorch does not run the checkpoint: {reason(error)}"
    return parts.calls(None, dtype), uncompared


def encoder_decoder(
    folder: str, config: Any, dtype: Any, name: str, mode: Any, request: dict[str, Any], tell: Any
) -> dict[str, Any]:
    """Write the programs; describe them and the compositions of the parameters."""
    import torch
    import transformers

    def empty(auto: Any) -> Any:
        def make(**options: Any) -> Any:
            with fake_parameters(mode):
                return auto.from_config(config, **options)

        return with_attention(make, config, dtype)

    model = sequences_of(config, empty)
    adapters = Adapters(request["adapters"], model)
    adapters.refuse_swapped(model)
    parts = Served(model) if request["genai"] else Parts(model)
    vocabulary = parts.probe(mode)
    made = compositions(model, request["stored"])
    root = os.path.splitext(request["program"])[0]
    limit, programs, described = limit_of(config), {}, []
    for part in parts.order:
        tell({"step": f"capturing {part}"})
        export = functools.partial(parts.capture, part, mode, dtype)
        programs[part], most = bounded(limit_of(config), export)
        limit = most if most is None or limit is None else min(limit, most)
        path = f"{root}-{part}.pt2"
        torch.export.save(programs[part], path)
        name_of_part = parts.files.get(part, part)
        described.append({"name": name_of_part, "program": path, **parts.described(part, dtype)})
    uncompared = None
    if request["record"]:
        calls, uncompared = recorded(parts, folder, dtype, request, tell, adapters)
        for part, program in programs.items():
            write_calls(f"{root}-{part}.pt2", program, calls[part])
    layers = [
        {"heads": heads, "key_size": size, "value_size": values}
        for (heads, size), (_, values) in zip(parts.sizes[::4], parts.sizes[1::4], strict=True)
    ]
    return {
        "decoder": {
            "model_type": str(config.model_type),
            "architecture": type(model).__name__,
            "dtype": name,
            "layers": layers,
            "positions": False,
            "uncompared": uncompared,
            "attention_heads": getattr(config, "num_attention_heads", None),
            "hidden_size": getattr(config, "hidden_size", None),
            "vocabulary": vocabulary,
            "limit": limit,
            "ties": ties(model),
            "prefix": getattr(model, "base_model_prefix", ""),
            "python": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
            **generation(folder, config),
        },
        "composed": made,
        "adapted": adapters.description(),
        "parts": described,
        **(parts.served(folder) if isinstance(parts, Served) else {}),
    }
