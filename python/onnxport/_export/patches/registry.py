"""The patches that exist: onnxport's own, and those that others register."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from onnxport import _errors
from onnxport._export.patches.patch import Patch

Choice: TypeAlias = Literal["auto", "none"] | Sequence[str]
"""`auto`: those that a failed capture calls; `none`; or names."""

# Each module has a `patch`.
_OWN = (
    "batched_nms",
    "causal_mask",
    "flex_gradient",
    "linspace",
    "mpt",
    "norm_sizes",
    "one_hot",
    "packed",
    "packed_images",
    "recurrent",
    "selective_scan",
)

_OTHERS: dict[str, Patch] = {}


def register_patch(patch: Patch) -> Patch:
    """Let `export` use `patch`; another one of its name is replaced.

    Raises:
        UsageError: It replaces nothing, or has the name of one of onnxport's own.
    """
    if not isinstance(patch, Patch):
        raise _errors.usage(f"a {type(patch).__name__} is not an `onnxport.Patch`")
    if not patch.functions:
        raise _errors.usage(f"the patch `{patch.name}` replaces nothing", "decorate a function")
    if patch.name in _own():
        raise _errors.usage(f"the patch `{patch.name}` is one of onnxport's own")
    _OTHERS[patch.name] = patch
    return patch


def known() -> dict[str, Patch]:
    """Return every patch by its name. Patches of others come first."""
    return {**_OTHERS, **_own()}


def chosen(choice: Choice) -> tuple[Patch, ...]:
    """Return the patches that `choice` allows.

    Raises:
        UsageError: A name is not that of a patch.
    """
    if choice == "none":
        return ()
    patches = known()
    if choice == "auto":
        return tuple(patches.values())
    help = f'the patches are {", ".join(sorted(patches))}; or pass "auto" or "none"'
    for name in choice:
        if name not in patches:
            raise _errors.usage(f"there is no patch {name!r}", help)
    return tuple(patches[name] for name in choice)


def _own() -> Mapping[str, Patch]:
    modules = (importlib.import_module(f"onnxport._export.patches.{name}") for name in _OWN)
    return {module.patch.name: module.patch for module in modules}
