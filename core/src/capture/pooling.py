"""The modules of sentence-transformers behind a model: pooling, dense layers, normalization.

The script of the decoder stands behind this one.
"""

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused
    from embedding import has_scores
    from process import reason

POOLINGS = ("cls", "lasttoken", "max", "mean", "mean_sqrt_len_tokens", "weightedmean")
# The keys of older releases, such as `pooling_mode_mean_tokens`.
OLDER = {f"pooling_mode_{name}": name for name in POOLINGS} | {
    f"pooling_mode_{name}_{tokens}": name
    for name, tokens in (
        ("cls", "token"),
        ("max", "tokens"),
        ("mean", "tokens"),
        ("weightedmean", "tokens"),
    )
}


def read_json(*path: str) -> Any:
    """Read a file of the checkpoint; `None` if it is not there."""
    name = os.path.join(*path)
    if not os.path.isfile(name):
        return None
    try:
        with open(name, encoding="utf-8") as file:
            return json.load(file)
    except ValueError as error:
        raise Refused("checkpoint", f"`{name}` cannot be read: {reason(error)}") from error


def pooling_of(folder: str, config: Any, asked: str | None) -> tuple[list[str], list[Any]] | None:
    """Return the kinds of pooling, and the later steps; `None` without pooling.

    A step is the path and the settings of a dense layer, or `None` for a normalization.
    """
    if asked is not None:
        return [asked], []
    modules = read_json(folder, "modules.json")
    if has_scores(config) or not isinstance(modules, list):
        return None
    kinds: list[str] | None = None
    steps: list[Any] = []
    for module in modules:
        kind, path = str(module.get("type", "")).rsplit(".", 1)[-1], str(module.get("path", ""))
        settings = read_json(folder, path, "config.json") or {}
        if kind == "Transformer" and kinds is None and path in ("", "."):
            continue
        if kind == "Pooling" and kinds is None:
            kinds = pooling_kinds(settings)
        elif kind == "Normalize" and kinds is not None:
            steps.append(None)
        elif kind == "Dense" and kinds is not None:
            steps.append((os.path.join(folder, path), settings))
        else:
            raise Refused("architecture", f"modules.json has the module `{kind}` in `{path}`")
    return None if kinds is None else (kinds, steps)


def dense(path: str, settings: dict[str, Any], dtype: Any) -> Any:
    """Return a dense layer of sentence-transformers, whose weights are buffers."""
    import safetensors.torch
    import torch

    ends = [settings.get(f"module_{end}_name") for end in ("input", "output")]
    if settings.get("use_residual") or set(ends) - {None, "sentence_embedding"}:
        raise Refused("architecture", f"`{path}` is a dense layer with further inputs")
    known = str(settings.get("activation_function", "torch.nn.Tanh"))
    kind = getattr(torch.nn, known.rsplit(".", 1)[-1], None)
    if not known.startswith("torch.nn.") or not isinstance(kind, type):
        raise Refused("architecture", f"`{path}` has the activation `{known}`")
    file = os.path.join(path, "model.safetensors")
    if not os.path.isfile(file):
        raise Refused("checkpoint", f"`{path}` has no model.safetensors")
    stored = safetensors.torch.load_file(file)

    class Dense(torch.nn.Module):
        """A linear layer and its activation."""

        def __init__(self) -> None:
            super().__init__()
            for name in ("weight", "bias"):
                tensor = stored.get(f"linear.{name}")
                self.register_buffer(name, None if tensor is None else tensor.to(dtype))
            self.activation = kind()

        def forward(self, vectors: Any) -> Any:
            return self.activation(torch.nn.functional.linear(vectors, self.weight, self.bias))

    made = Dense()
    if made.weight is None or bool(settings.get("bias", True)) != (made.bias is not None):
        raise Refused("checkpoint", f"`{file}` lacks a tensor of its dense layer")
    return made


def pooling_kinds(settings: dict[str, Any]) -> list[str]:
    """Return the kinds of pooling that a module has."""
    mode = settings.get("pooling_mode")
    if mode is None:
        mode = [name for key, name in OLDER.items() if settings.get(key)] or ["mean"]
    kinds = [mode] if isinstance(mode, str) else list(mode)
    if unknown := [one for one in kinds if one not in POOLINGS]:
        raise Refused("architecture", f"the pooling `{unknown[0]}` is not known")
    if settings.get("include_prompt") is False:
        raise Refused("architecture", "the pooling leaves out the prompt, whose length varies")
    return kinds


def pooled(states: Any, mask: Any, kind: str) -> Any:
    """Return a vector for each text, as sentence-transformers computes it."""
    import torch

    def at(index: Any) -> Any:
        places = index[:, None, None].expand(-1, 1, states.shape[2])
        return torch.gather(states, 1, places).squeeze(1)

    if kind == "cls":
        return at(mask.argmax(1))
    if kind == "lasttoken":
        return at(states.shape[1] - 1 - mask.flip(1).argmax(1))
    if kind == "max":
        return states.masked_fill(mask[:, :, None] == 0, float("-inf")).amax(1)
    # Sums are in f32 at least.
    wide = states.float()
    weights = mask[:, :, None].to(wide.dtype)
    if kind == "weightedmean":
        # The first token that counts has the weight 1.
        places = torch.arange(1, states.shape[1] + 1, dtype=wide.dtype)[None]
        weights = weights * (places - mask.argmax(1)[:, None].to(wide.dtype))[:, :, None]
    total = weights.sum(1).clamp(min=1e-9)
    divisor = total.sqrt() if kind == "mean_sqrt_len_tokens" else total
    return ((wide * weights).sum(1) / divisor).to(states.dtype)
