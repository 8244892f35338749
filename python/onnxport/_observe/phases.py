"""Phases of a generation: calls that one graph serves."""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch

from onnxport._export import caches
from onnxport._observe.calls import Call

NAMES = ("prefill", "decode")


def split(calls: Sequence[Call]) -> dict[str, list[Call]]:
    """Return the calls by phase, a single one without a name if one graph serves all of them.

    Calls belong to different phases if the structures of their caches differ, as those of
    recurrent states and of cross attention do after the first step, or if tensors such as pixels
    are only given to calls with empty caches. A cache that only grows has one structure.
    """
    first_only = _first_only(calls)
    phases: dict[str, list[Call]] = {}
    for call in calls:
        phases.setdefault(json.dumps(_structure(call, first_only)), []).append(call)
    if len(phases) == 1:
        return {"": list(calls)}
    names = [*NAMES, *(f"{NAMES[-1]}_{number}" for number in range(2, len(phases)))]
    return dict(zip(names, phases.values(), strict=True))


def adds(calls: Sequence[Call], new: Call) -> bool:
    """Tell whether a call is the first of its kind, or has a size that did not vary before."""
    before = [call for call in calls if _kind(call) == _kind(new)]
    if not before:
        return True
    for name in new.arguments:
        shapes = [_shapes(call, name) for call in before]
        own = _shapes(new, name)
        same = [known for known in shapes if [len(one) for one in known] == [len(o) for o in own]]
        for place, shape in enumerate(own):
            for axis, size in enumerate(shape):
                seen = {known[place][axis] for known in same}
                if len(seen) == 1 and size not in seen:
                    return True
    return False


def _kind(call: Call) -> list[object]:
    """Return the arguments and caches that the calls of one kind share."""
    given = sorted(name for name in call.arguments if call.leaves(name) is not None)
    return [given, _structure(call, set())]


def _shapes(call: Call, name: str) -> list[tuple[int, ...]]:
    leaves = call.leaves(name) or ()
    return [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _structure(call: Call, first_only: set[str]) -> list[object]:
    given = sorted(name for name in first_only if call.leaves(name) is not None)
    found = {name: caches.structure(value) for name, value in call.arguments.items()}
    return [given, sorted((name, part) for name, part in found.items() if part)]


def _first_only(calls: Sequence[Call]) -> set[str]:
    """Return the arguments that are given whenever a cache is empty, and never otherwise."""
    first, later = [], []
    for call in calls:
        held = [caches.is_filled(value) for value in call.arguments.values()]
        (later if any(held) else first).append(call)
    if not later or not first:
        return set()
    names = {name for call in calls for name, value in call.arguments.items() if _is_plain(value)}
    return {
        name
        for name in names
        if all(call.leaves(name) is not None for call in first)
        and all(call.leaves(name) is None for call in later)
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, torch.Tensor)
