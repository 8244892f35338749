"""Models of text that make one vector, or one row of scores, of each text.

An embedding model pools the states of its tokens, as `modules.json` of sentence-transformers or the
request says. A model for the classification of sequences, such as a reranker, has logits. The
script of the decoder stands behind this one.
"""

import contextlib
import functools
import inspect
import os
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from composed import compositions
    from decoder import (
        Refused,
        dtypes,
        fake_parameters,
        generation,
        limit_of,
        ties,
        with_attention,
    )
    from expected import too_large, write_calls
    from pooling import dense, pooled, pooling_of, read_json
    from process import reason

MODEL = "model"
SCORES = "ForSequenceClassification"
# The texts of a call, their length, and the tokens of each that are not padding.
CALLS = {"texts": (2, 7, (7, 4)), "token": (1, 1, (1,)), "batch": (4, 12, (5, 12, 1, 9))}
TEXTS, TOKENS = 3, 5


def has_scores(config: Any) -> bool:
    """Whether the model of the checkpoint classifies texts."""
    names = getattr(config, "architectures", None) or [""]
    return str(names[0]).endswith(SCORES)


def is_embedding(folder: str, config: Any, asked: str | None) -> bool:
    """Whether the checkpoint makes a vector or scores of a text."""
    return has_scores(config) or pooling_of(folder, config, asked) is not None


@contextlib.contextmanager
def masks_without_vmap() -> Iterator[None]:
    """Make masks of any kind by broadcasting.

    PyTorch cannot save the operators that `vmap` leaves in a program.
    """
    from transformers import masking_utils

    def broadcast(function: Any) -> Any:
        def made(*places: Any) -> Any:
            texts, _, queries, keys = (one.shape[0] for one in places)
            mask = function(*masking_utils._non_vmap_expansion_sdpa(*places))
            return mask.expand(texts, -1, queries, keys)

        return made

    changed = {
        "_vmap_expansion_sdpa": broadcast,
        "TransformGetItemToIndex": contextlib.nullcontext,
    }
    kept = {name: getattr(masking_utils, name, None) for name in changed}
    known = all(kept.values()) and hasattr(masking_utils, "_non_vmap_expansion_sdpa")
    for name, one in changed.items() if known else ():
        setattr(masking_utils, name, one)
    try:
        yield
    finally:
        for name, one in kept.items() if known else ():
            setattr(masking_utils, name, one)


class Embedding:
    """A model without weights, and the interface of its program."""

    def __init__(self, folder: str, config: Any, dtype: str, pooling: Any, mode: Any) -> None:
        self.folder, self.config, self.dtype, self.pooling = folder, config, dtype, pooling

        def make(auto: Any, **options: Any) -> Any:
            with fake_parameters(mode):
                return auto.from_config(config, **options)

        self.model = self.build(make)
        signature = inspect.signature(type(self.model).forward).parameters
        self.inputs = ["input_ids", "attention_mask"]
        if missing := [name for name in self.inputs if name not in signature]:
            kind = type(self.model).__name__
            raise Refused("architecture", f"`{kind}` does not take `{missing[0]}`")
        # A model with one type of tokens needs no input for it.
        if "token_type_ids" in signature and (getattr(config, "type_vocab_size", None) or 0) > 1:
            self.inputs.append("token_type_ids")
        self.output = "logits" if pooling is None else "sentence_embedding"
        self.more = {"use_cache": False} if "use_cache" in signature else {}
        self.words = self.model.get_input_embeddings().num_embeddings
        kinds = [] if pooling is None else pooling[1]
        self.steps = [None if one is None else dense(*one, dtypes()[dtype]) for one in kinds]
        for at, one in enumerate(self.steps):
            if one is not None:
                # A name in the program.
                self.model.register_module(f"dense_{at}", one)

    def build(self, make: Any) -> Any:
        """Return the model that `make` makes of a class of transformers."""
        import transformers

        scores = transformers.AutoModelForSequenceClassification
        auto = scores if self.pooling is None else transformers.AutoModel

        def without_pooler(**options: Any) -> Any:
            if self.pooling is not None:
                try:
                    # The pooled state of BERT is another than that of the checkpoint.
                    return make(auto, add_pooling_layer=False, **options)
                except TypeError:
                    pass
            return make(auto, **options)

        try:
            return with_attention(without_pooler, self.config, dtypes()[self.dtype])
        except ValueError as error:
            about = f"transformers has no such model of `{self.config.model_type}`"
            raise Refused("architecture", f"{about}: {reason(error)}") from error

    def loaded(self) -> Any:
        """Return the model with its weights."""

        def make(auto: Any, **options: Any) -> Any:
            return auto.from_pretrained(self.folder, local_files_only=True, **options)

        return self.build(make)

    def call(self, inner: Any, given: list[Any]) -> Any:
        """Return the vectors or scores of texts."""
        import torch

        named = dict(zip(self.inputs, given, strict=True))
        out = inner(**named, return_dict=True, **self.more)
        if self.pooling is None:
            return out.logits
        kinds, _ = self.pooling
        mask = named["attention_mask"]
        vectors = torch.cat([pooled(out.last_hidden_state, mask, kind) for kind in kinds], -1)
        for step in self.steps:
            vectors = (
                torch.nn.functional.normalize(vectors, dim=-1) if step is None else step(vectors)
            )
        return vectors

    def capture(self, mode: Any, most: int | None = None) -> Any:
        """Export the model for any number of texts, of `most` tokens if given."""
        import torch
        from torch.export import Dim

        inner = type(self.model).forward

        def forward(model: Any, *given: Any) -> Any:
            return self.call(functools.partial(inner, model), list(given))

        self.model.forward = types.MethodType(forward, self.model)
        with mode:
            given = [torch.ones(TEXTS, TOKENS, dtype=torch.int64) for _ in self.inputs]
        axes = {0: Dim("batch", min=1), 1: Dim("sequence", min=1, max=most)}
        with torch.no_grad(), masks_without_vmap():
            return torch.export.export(
                self.model, tuple(given), dynamic_shapes=((axes,) * len(given),), strict=False
            )

    def limit(self) -> int | None:
        """Return the largest number of tokens that the checkpoint states."""
        stated = [
            (read_json(self.folder, name) or {}).get(key)
            for name, key in (
                ("sentence_bert_config.json", "max_seq_length"),
                ("tokenizer_config.json", "model_max_length"),
            )
        ]
        limits = [one for one in (*stated, limit_of(self.config)) if isinstance(one, int)]
        return min(limits, default=None)

    def calls(self, running: Any) -> dict[str, tuple[list[Any], list[Any]]]:
        """Return calls of other sizes than the captured one, most with padding."""
        import torch

        random = torch.Generator().manual_seed(0)
        pad = getattr(self.config, "pad_token_id", None)
        pad = 0 if pad is None else pad
        made: dict[str, tuple[list[Any], list[Any]]] = {}
        for name, (texts, tokens, counted) in CALLS.items():
            ids = torch.randint(self.words - 1, (texts, tokens), generator=random)
            # No token of a text is that of padding.
            ids += (ids >= pad).long()
            mask = (torch.arange(tokens)[None] < torch.tensor(counted)[:, None]).long()
            ids = torch.where(mask > 0, ids, pad)
            kinds = (torch.arange(tokens) >= tokens // 2).long().expand(texts, tokens) * mask
            given = [ids, mask, kinds][: len(self.inputs)]
            results = []
            if running is not None:
                with torch.no_grad():
                    results = [self.call(running, given)]
            made[name] = given, results
        return made


def embedding(
    folder: str, config: Any, name: str, mode: Any, request: dict[str, Any], tell: Any
) -> dict[str, Any]:
    """Write the program; describe it and the compositions of its parameters."""
    import torch
    import transformers
    from torch._dynamo.exc import UserError, UserErrorType

    pooling = pooling_of(folder, config, request["pooling"])
    if pooling is not None and getattr(config, "is_encoder_decoder", False):
        about = f"`{config.model_type}` has an encoder and a decoder"
        raise Refused("architecture", f"{about}, whose states are not pooled")
    made = Embedding(folder, config, name, pooling, mode)
    composed = compositions(made.model, request["stored"])
    tell({"step": "capturing the model"})
    limit = made.limit()
    try:
        program = made.capture(mode)
    except UserError as error:
        # A table of positions has a length.
        most = limit_of(config)
        if error.error_type != UserErrorType.CONSTRAINT_VIOLATION or most is None:
            raise
        program = made.capture(mode, most)
    root = os.path.splitext(request["program"])[0]
    path = f"{root}-{MODEL}.pt2"
    torch.export.save(program, path)
    uncompared = None
    running = None
    if request["record"]:
        if request["record"] == "values" and (uncompared := too_large(made.model)) is None:
            tell({"step": "running the checkpoint in PyTorch"})
            try:
                running = made.loaded()
            except Exception as error:
                uncompared = f"PyTorch does not run the checkpoint: {reason(error)}"
        write_calls(path, program, made.calls(running))
    prefix = getattr(made.model, "base_model_prefix", "")
    if pooling is not None and prefix:
        # The checkpoint may be that of a model with a head.
        for parameter, _ in made.model.named_parameters():
            stored = f"{prefix}.{parameter}"
            if parameter not in request["stored"] and stored in request["stored"]:
                composed.setdefault(parameter, {"stored": stored})
    sizes = {0: "batch_size", 1: "sequence_length"}
    dims = [
        {"input": given, "axis": axis, "name": size}
        for given in made.inputs
        for axis, size in sizes.items()
    ]
    kinds, _ = pooling or ([], [])
    described = {
        "model_type": str(config.model_type),
        "architecture": type(made.model).__name__,
        "dtype": name,
        "layers": [],
        "positions": False,
        "pooling": kinds,
        "dense": sum(step is not None for step in made.steps),
        "normalized": None in made.steps[-1:],
        "uncompared": uncompared,
        "attention_heads": getattr(config, "num_attention_heads", None),
        "hidden_size": getattr(config, "hidden_size", None),
        "vocabulary": made.words,
        "limit": limit,
        "ties": ties(made.model),
        "prefix": prefix if pooling is None else "",
        "python": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
        **generation(folder, config),
    }
    part = {
        "name": MODEL,
        "program": path,
        "inputs": made.inputs,
        "outputs": [made.output],
        "dims": dims,
    }
    return {"decoder": described, "composed": composed, "parts": [part]}
