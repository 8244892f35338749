"""The calls of each module of a model in one run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

# The number of recorded calls of a module; they represent the later ones.
MOST_CALLS = 4


@dataclass(frozen=True, eq=False)
class Call:
    """One call: copies of its tensors, and its other arguments unchanged.

    `others` has None at the positions of the tensors.
    """

    tensors: tuple[torch.Tensor, ...]
    places: tuple[int, ...]
    others: tuple[Any, ...]
    structure: pytree.TreeSpec

    def arguments(self, tensors: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with its tensors replaced by others."""
        leaves = list(self.others)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        return args, kwargs

    @property
    def signature(self) -> tuple[Any, ...]:
        """The common properties of calls that one model can accept."""
        kinds = [(tuple(one.shape), one.dtype, one.device) for one in self.tensors]
        return tuple(kinds), self.places, repr(self.others), repr(self.structure)


@dataclass(eq=False)
class Piece:
    """A module, by the first of its paths, and the calls that it gets. `count` counts all calls."""

    path: str
    module: nn.Module
    count: int = 0
    calls: list[Call] = field(default_factory=list)

    def groups(self) -> list[list[Call]]:
        """Return the calls, those that one model can take together."""
        found: dict[Any, list[Call]] = {}
        for call in self.calls:
            found.setdefault(call.signature, []).append(call)
        return list(found.values())


def record(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[nn.Module, Piece]:
    """Run `model` once, and return the calls of each module. Its buffers do not change."""
    from onnxport._export import inputs

    found = {module: Piece(path, module) for path, module in model.named_modules()}
    copies = WeakIdKeyDictionary()

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:
        piece = found[module]
        piece.count += 1
        if len(piece.calls) < MOST_CALLS:
            piece.calls.append(_call(args, kwargs, copies))

    hooks = [
        module.register_forward_pre_hook(before, with_kwargs=True, prepend=True) for module in found
    ]
    try:
        with unchanged(model), torch.no_grad():
            model(*inputs.copied(args), **inputs.copied(kwargs))
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _call(args: Any, kwargs: Any, copies: Any) -> Call:
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    places = tuple(n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor))
    tensors = tuple(_copy(leaves[place], copies) for place in places)
    others = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    return Call(tensors, places, tuple(others), structure)


def _copy(tensor: torch.Tensor, copies: Any) -> torch.Tensor:
    """Return a copy; modules within each other get the same tensor, which is copied once."""
    version = tensor._version if not tensor.is_inference() else None
    known = copies.get(tensor)
    if known is None or version is None or known[0] != version:
        known = copies[tensor] = (version, tensor.detach().clone())
    copy: torch.Tensor = known[1]
    return copy


@contextlib.contextmanager
def unchanged(*modules: nn.Module) -> Iterator[list[str]]:
    """Restore the buffers afterwards: a call may write to them, or replace them.

    The yielded list then has the names of those that were restored.
    """
    before = {
        (inner, name): (buffer, buffer.detach().clone())
        for module in modules
        for inner in module.modules()
        for name, buffer in inner._buffers.items()
        if buffer is not None
    }
    written: list[str] = []
    try:
        yield written
    finally:
        for (inner, name), (buffer, values) in before.items():
            is_kept = inner._buffers.get(name) is buffer and torch.equal(buffer, values)
            if not is_kept:
                written.append(name)
                inner._buffers[name] = buffer
                with torch.no_grad():
                    buffer.copy_(values)
