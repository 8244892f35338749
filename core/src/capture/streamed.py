"""A checkpoint that runs in PyTorch although its weights do not fit in the memory.

Each module with parameters reads them before it runs, and drops them behind. The script of the
decoder stands behind this one.
"""

import glob
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import ties


class Stored:
    """The tensors of a checkpoint by the names of parameters."""

    def __init__(self, folder: str, model: Any, composed: dict[str, Any]) -> None:
        import safetensors

        self.composed = composed
        self.prefix = getattr(model, "base_model_prefix", "") + "."
        self.aliases = {name: group for group in ties(model) for name in group}
        self.files = {}
        for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
            file = safetensors.safe_open(path, "pt")
            self.files |= dict.fromkeys(file.keys(), file)

    def of_parameter(self, name: str) -> Any:
        """Return the values of a parameter."""
        for known in (name, *self.aliases.get(name, [])):
            if known in self.composed:
                return self.made(self.composed[known])
            for stored in (known, known.removeprefix(self.prefix), self.prefix + known):
                if stored in self.files:
                    return self.files[stored].get_tensor(stored)
        raise KeyError(name)

    def made(self, how: dict[str, Any]) -> Any:
        """Return the values of a composition."""
        import torch

        ((kind, rest),) = how.items()
        if kind == "stored":
            return self.files[rest].get_tensor(rest)
        if kind == "concat":
            return torch.cat([self.made(one) for one in rest["of"]], rest["axis"])
        of = self.made(rest["of"])
        if kind == "reshape":
            return of.reshape(rest["shape"])
        if kind == "permute":
            return of.permute(rest["axes"])
        part = [slice(None)] * of.dim()
        part[rest["axis"]] = slice(rest["start"], rest["end"], rest["step"])
        return of[tuple(part)]


def largest(model: Any) -> int:
    """Return the bytes of the largest module's own parameters."""
    return max(
        sum(one.numel() * one.element_size() for one in module.parameters(recurse=False))
        for module in model.modules()
    )


def streamed(model: Any, folder: str, composed: dict[str, Any]) -> Any:
    """Let a model without weights read them while it runs; return it."""
    import torch

    stored = Stored(folder, model, composed)

    def hook(prefix: str, module: Any) -> None:
        empty = {name: one for name, one in module._parameters.items() if one is not None}
        if not empty:
            return

        def read(*_: Any) -> None:
            for name, one in empty.items():
                values = stored.of_parameter(f"{prefix}{name}").to(one.dtype)
                module._parameters[name] = torch.nn.Parameter(values, requires_grad=False)

        def drop(*_: Any) -> None:
            module._parameters.update(empty)

        module.register_forward_pre_hook(read)
        module.register_forward_hook(drop, always_call=True)

    for name, module in model.named_modules():
        hook(f"{name}." if name else "", module)
    return model
