"""Captures the decoder of a checkpoint for onnxport, which starts this with the user's Python.

Its arguments are CHECKPOINT PARENT. `process.py` and the other scripts of this folder stand before
it, and the first has the import of annotations for all.

Messages are JSON. The request has `program`, the path of the program to write; `dtype`, `f32`,
`f16` or null for the checkpoint's own; `last`, whether only the logits of the last token are
wanted; `code`, the path of a Python file to run first, or null; `genai`, whether models of several
programs are those of onnxruntime-genai; `buffers`, whether caches are buffers that
GroupQueryAttention writes to; `pooling`, that of an embedding model whose files
state none, or null; `adapters`, each with its `folder`, the shapes of its tensors as `stored`,
and whether it is `merged` into the weights; `record`, `inputs` for calls to run the model with,
`values` for their results as well, or null; and `stored`, the shapes of the tensors of the
checkpoint. The answers are messages with `step`, the work that begins, and then one with
`decoder`, a description of the program, `composed`, the compositions of parameters, and
`adapted`, the modules that adapters change, or one with `error` and its `kind`.

Parameters are fake tensors, so the capture reads and allocates no weight. Buffers, such as the
frequencies of rotary embeddings, are real, since a checkpoint need not have them.
"""

import contextlib
import functools
import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters import RANK, Adapters
    from caches import shapes_of
    from checkpoint import Checkpoint
    from described import Described, imported
    from embedding import embedding, is_embedding
    from encoder_decoder import encoder_decoder
    from expected import record
    from images_and_text import images_and_text
    from process import end_with, reason, receive, write

# Sizes of the captured call. They differ, so that no two dimensions are taken for one.
BATCH, SEQUENCE, PAST = 3, 5, 7
LIMITS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "n_ctx",
    "max_target_positions",
)
# Layers whose past is keys and values.
ATTENTION = {"chunked_attention", "full_attention", "sliding_attention"}
SEARCH = ("do_sample", "temperature", "top_k", "top_p", "repetition_penalty")


class Refused(Exception):  # noqa: N818
    """A checkpoint that cannot be captured."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def send(message: dict[str, Any]) -> None:
    """Write one message."""
    data = json.dumps(message).encode()
    write(struct.pack("<Q", len(data)) + data)


def limit_of(config: Any) -> int | None:
    """Return the largest number of tokens, if the configuration states one."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    limits = [getattr(text, name, None) for name in LIMITS]
    return next((int(one) for one in limits if isinstance(one, int) and one > 0), None)


def ids_of(value: Any) -> list[int]:
    """Return token ids, given as one, as several or not at all."""
    return (
        []
        if value is None
        else [int(one) for one in (value if isinstance(value, list) else [value])]
    )


def rotary_kinds(value: Any) -> Iterator[str]:
    """Yield the kinds of rotary embeddings; each type of layer may have its own."""
    if isinstance(value, list):
        for part in value:
            yield from rotary_kinds(part)
    elif isinstance(value, dict):
        yield from (value[key] for key in ("rope_type", "type") if isinstance(value.get(key), str))
        yield from rotary_kinds(list(value.values()))


def configuration(folder: str) -> Any:
    """Read the configuration of a decoder."""
    import transformers

    if not os.path.isfile(os.path.join(folder, "config.json")):
        raise Refused("checkpoint", "the folder has no config.json")
    try:
        config = transformers.AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except (KeyError, ValueError) as error:
        about = f"transformers {transformers.__version__} does not know this architecture"
        raise Refused("architecture", f"{about}: {reason(error)}") from error
    except Exception as error:
        raise Refused("checkpoint", f"config.json cannot be read: {reason(error)}") from error
    if getattr(config, "audio_config", None) is not None:
        raise Refused("architecture", f"`{config.model_type}` is a decoder of sound")
    if getattr(config, "quantization_config", None) is not None:
        raise Refused("architecture", "the weights of this checkpoint are quantized")
    # A capture would keep the frequencies of one length.
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    rotary = [getattr(text, name, None) for name in ("rope_parameters", "rope_scaling")]
    if kind := next(
        (kind for kind in rotary_kinds(rotary) if kind in ("dynamic", "longrope")), None
    ):
        message = f"`{kind}` rotary frequencies depend on the length of the text"
        raise Refused("architecture", message)
    return config


@contextlib.contextmanager
def fake_parameters(mode: Any) -> Iterator[None]:
    """Replace each parameter, as it is created, by one without memory."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    register = torch.nn.Module.register_parameter

    def registered(self: torch.nn.Module, name: str, parameter: Any) -> None:
        # A tied parameter stays the same object.
        if parameter is not None and not isinstance(parameter, FakeTensor):
            with mode:
                empty = torch.empty(parameter.shape, dtype=parameter.dtype)
                parameter = torch.nn.Parameter(empty, requires_grad=False)
            # transformers need not draw values for it; some of its ways look at them.
            parameter._is_hf_initialized = True
        register(self, name, parameter)

    torch.nn.Module.register_parameter = registered
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register


def with_attention(make: Callable[..., Any], config: Any, dtype: Any) -> Any:
    """Return the model that `make` makes with the fastest attention that it has.

    Raises ValueError if transformers has no such model.
    """
    import transformers

    release = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    typed = {"dtype" if release >= (4, 56) else "torch_dtype": dtype}
    # The fused attention has no softcap.
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    softcap = getattr(text, "attn_logit_softcapping", None)
    problem = ValueError("no attention was tried")
    for kind in ["eager"] if softcap else ["sdpa", "eager"]:
        try:
            return make(attn_implementation=kind, trust_remote_code=False, **typed).eval()
        except ValueError as error:
            problem = error
    raise problem


def model_of(config: Any, dtype: Any, mode: Any) -> Any:
    """Build the model without weights."""
    import transformers

    def make(**options: Any) -> Any:
        with fake_parameters(mode):
            return transformers.AutoModelForCausalLM.from_config(config, **options)

    try:
        return with_attention(make, config, dtype)
    except ValueError as error:
        about = f"transformers has no language model for `{config.model_type}`"
        raise Refused("architecture", f"{about}: {reason(error)}") from error


def capture(
    model: Any,
    mode: Any,
    layers: list[dict[str, int]],
    dtype: Any,
    positions: bool,
    buffers: bool,
    adapters: Adapters,
    most: int | None = None,
) -> Any:
    """Export the model with dynamic batch, sequence and past; of `most` tokens, if given."""
    import torch
    from torch.export import Dim

    with mode:
        ids = torch.zeros(BATCH, SEQUENCE, dtype=torch.int64)
        given = [ids, torch.ones(BATCH, PAST + SEQUENCE, dtype=torch.int64)]
        given += [torch.zeros_like(ids)] if positions else []
        caches = shapes_of(layers, BATCH, PAST)
        given += [torch.zeros(shape, dtype=dtype) for shape in caches]
        given += adapters.given(dtype, {}, RANK)
    batch, past = Dim("batch", min=1), Dim("past", min=0, max=most)
    tokens = {0: batch, 1: Dim("sequence", min=1, max=most)}
    # A buffer may be longer than the text.
    total = Dim("total", min=1) if buffers else Dim.AUTO
    shapes = [tokens, {0: batch, 1: total}, *([tokens] if positions else [])]
    shapes += [{0: batch, 2: past} if len(shape) == 4 else {0: batch} for shape in caches]
    for at in range(len(adapters.sizes)):
        rank = Dim(f"rank_{at}", min=0)
        shapes += [{1: rank}, {0: rank}]
    with torch.no_grad():
        return torch.export.export(
            model, tuple(given), dynamic_shapes=(tuple(shapes),), strict=False
        )


def bounded(limit: int | None, export: Callable[..., Any]) -> tuple[Any, int | None]:
    """Return the program, and its largest number of tokens.

    A model may not take more tokens than `limit`, such as one with a table of masks.
    """
    from torch._dynamo.exc import UserError, UserErrorType

    try:
        return export(), limit
    except UserError as error:
        if error.error_type != UserErrorType.CONSTRAINT_VIOLATION or limit is None:
            raise
        # PyTorch takes all sizes to be 2 at least, which the other part of the tokens needs.
        return export(most=limit - 2), limit - 2


def generation(folder: str, config: Any) -> dict[str, Any]:
    """Return the special tokens, and how the checkpoint generates."""
    import transformers

    if os.path.exists(os.path.join(folder, "generation_config.json")):
        settings = transformers.GenerationConfig.from_pretrained(folder, local_files_only=True)
    else:
        settings = transformers.GenerationConfig.from_model_config(config)

    def token(name: str) -> list[int]:
        stated = getattr(settings, name, None)
        return ids_of(getattr(config, name, None) if stated is None else stated)

    search = {name: getattr(settings, name, None) for name in SEARCH}
    return {
        "eos": token("eos_token_id"),
        "bos": next(iter(token("bos_token_id")), None),
        "pad": next(iter(token("pad_token_id")), None),
        "search": {name: value for name, value in search.items() if value is not None},
    }


def ties(model: Any) -> list[list[str]]:
    """Return the names of parameters that are one tensor."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return [group for group in names.values() if len(group) > 1]


def decoder(folder: str, request: dict[str, Any]) -> dict[str, Any]:
    """Write the program; describe it and the compositions of its parameters."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    send({"step": "importing PyTorch and transformers"})
    try:
        import torch
        import transformers
        from torch._subclasses.fake_tensor import FakeTensorMode
    except ImportError as error:
        raise Refused("packages", reason(error)) from error
    if not hasattr(transformers.DynamicCache(), "layers"):
        about = f"transformers {transformers.__version__} is too old"
        raise Refused("packages", f"{about}: 4.56 or newer is needed")
    code = imported(request["code"])
    send({"step": "building the model without weights"})
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    if hasattr(code, "decoder"):
        return decoder_of(Described(folder, code.decoder, request, mode), request, mode)
    config = configuration(folder)
    stated = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
    name = request["dtype"] or ("f16" if stated == torch.float16 else "f32")
    dtype = dtypes()[name]
    is_vector = is_embedding(folder, config, request["pooling"])
    sees = getattr(config, "vision_config", None) is not None
    is_two = getattr(config, "is_encoder_decoder", False)
    if is_vector:
        if request["adapters"]:
            about = f"`{config.model_type}` makes a vector or scores, and takes no adapters"
            raise Refused("adapter", f"`{request['adapters'][0]['folder']}`: {about}")
        if sees:
            raise Refused("architecture", f"`{config.model_type}` is not a model of text alone")
        if request["last"]:
            about = f"`{config.model_type}` makes one vector or one row of scores of each text"
            raise Refused("architecture", f"{about}: it has no logits of tokens")
        return embedding(folder, config, name, mode, request, send)
    if sees:
        if request["last"] or request["buffers"]:
            about = f"`{config.model_type}` is a model of images and text"
            raise Refused("architecture", f"{about}: logits are of all tokens, caches grow")
        return images_and_text(folder, config, name, mode, request, send)
    if is_two:
        if request["last"] or request["buffers"]:
            about = f"`{config.model_type}` has an encoder and a decoder"
            raise Refused("architecture", f"{about}: logits are of all tokens, caches grow")
        return encoder_decoder(folder, config, dtype, name, mode, request, send)
    return decoder_of(Checkpoint(folder, config, name, request, mode), request, mode)


def dtypes() -> dict[str, Any]:
    """Return the element types of models by name."""
    import torch

    return {"f32": torch.float32, "f16": torch.float16}


def decoder_of(source: Any, request: dict[str, Any], mode: Any) -> dict[str, Any]:
    """Write the program of a `Checkpoint` or `Described`; describe it."""
    import torch
    import transformers

    model, layers, positions = source.model, source.layers, source.positions
    send({"step": "capturing the model"})
    dtype = dtypes()[source.dtype]
    adapters = Adapters(request["adapters"], model)
    adapters.take(model)
    export = functools.partial(
        capture, model, mode, layers, dtype, positions, request["buffers"], adapters
    )
    program, limit = bounded(source.limit, export)
    adapters.refuse_unused(program)
    send({"step": "saving the program"})
    torch.export.save(program, request["program"])
    uncompared = None
    if request["record"]:
        if request["record"] == "values":
            send({"step": "running the checkpoint in PyTorch"})
        uncompared = record(source, adapters, request, program)
    described = {
        "architecture": type(model).__name__,
        "dtype": source.dtype,
        "layers": layers,
        "positions": positions,
        "uncompared": uncompared,
        "vocabulary": source.vocabulary,
        "limit": limit,
        "ties": ties(model),
        "python": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
        **source.description(),
    }
    return {
        "decoder": described,
        "composed": source.composed,
        "adapted": adapters.description(),
    }


def main() -> None:
    """Answer the request."""
    folder, parent, *_ = sys.argv[1:]
    end_with(int(parent))
    request = json.loads(receive())
    try:
        send(decoder(folder, request))
    except Refused as refused:
        send({"error": str(refused), "kind": refused.kind})
    except BaseException as error:
        send({"error": reason(error), "kind": "capture"})


if __name__ == "__main__":
    main()
    # Exit at once: loaded libraries may be slow to shut down.
    os._exit(0)
