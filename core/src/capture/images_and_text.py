"""Calls of a model of images and text, its settings for onnxruntime-genai, and its programs.

The script of the decoder stands behind this one.
"""

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters import Adapters
    from caches import shapes_of
    from composed import compositions
    from decoder import bounded, dtypes, generation, limit_of, ties, with_attention
    from expected import too_large, write_calls
    from images import DECODE, JOIN, SERVED, VISION, Images
    from parts import runner
    from pooling import read_json
    from process import reason

# Tokens before and behind an image, and padding in the second text.
HEAD, TAIL, PADDING = 3, 4, 2
# The part of the largest logit that logits of parts may differ by.
PRECISION = {"f32": 1e-3, "f16": 3e-2}
# The tokens of an image that the preprocessing of onnxruntime-genai puts into a text.
TOKENS_OF_IMAGE = 256
# Methods of PIL by number.
RESAMPLING = {1: "LANCZOS", 2: "LINEAR", 3: "CUBIC"}


def calls_of(parts: Any, running: Any) -> dict[str, dict[str, tuple[list[Any], list[Any]]]]:
    """Return calls of each part, with their values if there is a model to run."""
    import torch

    dtype = dtypes()[parts.dtype]
    random = torch.Generator().manual_seed(0)
    made: dict[str, dict[str, Any]] = {VISION: {}, JOIN: {}, DECODE: {}}

    record = runner(made, parts.call, running)

    def run(part: str, name: str, given: list[Any], shape: tuple[int, ...]) -> list[Any]:
        return record(part, name, given) or [torch.zeros(shape, dtype=dtype)]

    def words(texts: int, tokens: int) -> Any:
        ids = torch.randint(parts.words - 1, (texts, tokens), generator=random)
        return ids + (ids >= parts.token).long()

    samples = parts.images.samples(random)
    counts = [count for _, _, each in samples for count in each]
    found = [run(VISION, name, given, (sum(each), parts.width))[0] for name, given, each in samples]
    features = torch.cat(found)
    texts = []
    for count in counts:
        # A text with fewer tokens of an image is filled with more words.
        image = torch.full((1, count), parts.token)
        filling = words(1, max(counts) - count + HEAD)
        texts.append(torch.cat([filling, image, words(1, TAIL)], 1))
    prompt = torch.cat(texts)
    mask = torch.ones_like(prompt)
    mask[1, :PADDING] = 0
    caches = [torch.zeros(one, dtype=dtype) for one in shapes_of(parts.layers, 2, 0)]
    calls = {"prompt": prompt, "token-1": words(2, 1), "token-2": words(2, 1)}
    for name, ids in {**calls, "part": words(2, 3)}.items():
        if name != "prompt":
            mask = torch.cat([mask, torch.ones_like(ids)], 1)
            features = features[:0]
        shape = (*ids.shape, parts.width)
        (embedded,) = run(JOIN, name, [ids, features], shape)
        if name == "prompt":
            shift = places_of(parts, prompt, mask, samples)
        places = shift[..., -ids.shape[1] :] if name == "prompt" else later(parts, mask, shift, ids)
        rest = [ids] if parts.blocks else []
        given = [embedded, *rest, mask, places, *caches]
        results = run(DECODE, name, given, (*ids.shape, parts.vocabulary))
        if name == "prompt" and running is not None:
            compare(parts, running, [prompt, mask, places], samples, results[0])
        grown = shapes_of(parts.layers, 2, mask.shape[1])
        caches = results[1:] or [torch.zeros(one, dtype=dtype) for one in grown]
    return made


def places_of(parts: Any, ids: Any, mask: Any, samples: Any) -> Any:
    """Return the positions of a prompt."""
    import torch

    plain = (mask.cumsum(1) - 1).clamp(min=0) + parts.begin
    if not parts.axes:
        return plain
    inner = parts.model.model
    taken = inspect.signature(inner.get_rope_index).parameters
    more = parts.images.of_model(samples)
    more = {name: one for name, one in more.items() if name in taken}
    if "mm_token_type_ids" in taken:
        more["mm_token_type_ids"] = (ids == parts.token).int()
    with torch.no_grad():
        return inner.get_rope_index(input_ids=ids, attention_mask=mask, **more)[0]


def later(parts: Any, mask: Any, prompt: Any, ids: Any) -> Any:
    """Return the positions of tokens behind a prompt, whose positions are given."""
    tokens, before = ids.shape[1], prompt.shape[-1]
    last = prompt.amax(-1, keepdim=True)
    last = last.amax(0, keepdim=True).expand(parts.axes, -1, -1) if parts.axes else last
    return last + mask[:, before:].cumsum(1)[:, -tokens:]


def compare(parts: Any, running: Any, given: list[Any], samples: Any, logits: Any) -> None:
    """Refuse a model that is not its parts."""
    import torch

    ids, mask, places = given
    more = parts.images.of_model(samples)
    if parts.takes:
        is_image = (ids == parts.token).long()
        more["token_type_ids"] = is_image if parts.blocks else torch.zeros_like(is_image)
    with torch.no_grad():
        wanted = running(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            return_dict=True,
            **more,
        ).logits
    counted = mask > 0
    difference = (wanted - logits)[counted].abs().max()
    if not difference <= PRECISION[parts.dtype] * wanted[counted].abs().max():
        parts.refuse(f"logits differ by {float(difference):.0e} from those of the whole model")


def settings_of(parts: Any) -> dict[str, Any]:
    """Return the settings for onnxruntime-genai, and the file of its preprocessing."""
    layer = parts.layers[0]
    past = {f"past_{kind}_names": f"past_key_values.%d.{kind}" for kind in ("key", "value")}
    present = {f"present_{kind}_names": f"present.%d.{kind}" for kind in ("key", "value")}

    def names(part: str) -> tuple[dict[str, str], dict[str, str]]:
        inputs, outputs = parts.interface(part)
        plain = [[one for one in each if "." not in one] for each in (inputs, outputs)]
        return {one: one for one in plain[0]}, {one: one for one in plain[1]}

    settings: dict[str, Any] = {"type": SERVED[str(parts.config.model_type)]}
    for key, part in (("vision", VISION), ("embedding", JOIN), ("decoder", DECODE)):
        inputs, outputs = names(part)
        settings[key] = {"filename": f"{part}.onnx", "inputs": inputs, "outputs": outputs}
    settings["decoder"]["inputs"] |= past
    settings["decoder"]["outputs"] |= present
    settings["decoder"] |= {
        "head_size": layer["key_size"],
        "hidden_size": parts.width,
        "num_attention_heads": int(parts.text.num_attention_heads),
        "num_hidden_layers": len(parts.layers),
        "num_key_value_heads": layer["heads"],
    }
    of_model, of_vision = parts.images.settings()
    settings |= of_model
    settings["vision"] |= of_vision
    steps = processing_of_images(parts.folder)
    if not steps or parts.images.tokens != TOKENS_OF_IMAGE:
        return {"settings": settings}
    settings["vision"]["config_filename"] = "image_processor.json"
    transforms = [
        {"operation": {"name": name, "type": kind, "attrs": attributes}}
        for name, kind, attributes in steps
    ]
    processor = {"processor": {"name": "image_processing", "transforms": transforms}}
    return {"settings": settings, "files": {"image_processor.json": processor}}


def processing_of_images(folder: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the steps from the bytes of an image to its pixels, if the checkpoint has them."""
    stated = read_json(folder, "preprocessor_config.json")
    if stated is None:
        stated = (read_json(folder, "processor_config.json") or {}).get("image_processor")
    stated = {**(stated or {})}
    size, method = stated.get("size"), RESAMPLING.get(stated.get("resample"))
    plain = all(stated.get(f"do_{step}", True) for step in ("resize", "rescale", "normalize"))
    known = isinstance(size, dict) and {"height", "width"} <= set(size) and method is not None
    known = known and {"image_mean", "image_std"} <= set(stated)
    if not plain or not known or stated.get("do_pan_and_scan"):
        return []
    resize = {name: int(size[name]) for name in ("height", "width")}
    resize |= {"interpolation": method, "keep_aspect_ratio": 0}
    mean, std = ([float(one) for one in stated[name]] for name in ("image_mean", "image_std"))
    factor = {"rescale_factor": float(stated.get("rescale_factor", 1 / 255))}
    return [
        ("decode_image", "DecodeImage", {"color_space": "RGB"}),
        ("resize", "Resize", resize),
        ("rescale", "Rescale", factor),
        ("normalize", "Normalize", {"mean": mean, "std": std}),
        ("to_channel_first", "Permute3D", {"dims": [2, 0, 1]}),
    ]


def images_and_text(
    folder: str, config: Any, name: str, mode: Any, request: dict[str, Any], tell: Any
) -> dict[str, Any]:
    """Write the programs; describe them and the compositions of the parameters."""
    import torch
    import transformers

    parts = Images(folder, config, name, request, mode)
    adapters = Adapters(request["adapters"], parts.model)
    adapters.refuse_swapped(parts.model)
    made = compositions(parts.model, request["stored"])
    root = os.path.splitext(request["program"])[0]
    limit, programs, described = limit_of(config), {}, []
    for part in (VISION, JOIN, DECODE):
        tell({"step": f"capturing {part}"})
        programs[part], most = bounded(limit_of(config), functools.partial(parts.capture, part))
        limit = most if most is None or limit is None else min(limit, most)
        path = f"{root}-{part}.pt2"
        torch.export.save(programs[part], path)
        described.append({"name": part, "program": path, **parts.described(part)})
    uncompared = running = None
    if request["record"]:
        if request["record"] == "values" and (uncompared := too_large(parts.model)) is None:
            tell({"step": "running the checkpoint in PyTorch"})

            def load(auto: Any) -> Any:
                stored = functools.partial(auto.from_pretrained, folder, local_files_only=True)
                return with_attention(stored, config, dtypes()[name])

            try:
                running = adapters.merge(parts.made(load))
            except Exception as error:
                uncompared = f"PyTorch does not run the checkpoint: {reason(error)}"
        calls = calls_of(parts, running)
        for part, program in programs.items():
            write_calls(f"{root}-{part}.pt2", program, calls[part])
    return {
        "decoder": {
            "model_type": str(config.model_type),
            "architecture": parts.name,
            "dtype": name,
            "layers": parts.layers,
            "positions": True,
            "uncompared": uncompared,
            "attention_heads": getattr(parts.text, "num_attention_heads", None),
            "hidden_size": getattr(parts.text, "hidden_size", None),
            "vocabulary": parts.vocabulary,
            "limit": limit,
            "ties": ties(parts.model),
            "prefix": getattr(parts.model, "base_model_prefix", ""),
            "python": f"PyTorch {torch.__version__}, transformers {transformers.__version__}",
            **generation(folder, config),
        },
        "composed": made,
        "adapted": adapters.description(),
        "parts": described,
        **(settings_of(parts) if request["genai"] else {}),
    }
