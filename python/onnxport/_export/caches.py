"""The caches of transformers as inputs and outputs, without the user registering anything.

PyTorch must know how to flatten a class into tensors. A cache is a dict of lists, one tensor for
each layer: `key_cache`, `value_cache`, and further tensors of its layers. That is how transformers
itself describes a `DynamicCache`, so that names of inputs are the same both ways. Other attributes
belong to the structure. The number of tokens that a sliding window has seen is not: see `windows`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree

from onnxport._export import layers, windows

_LOCK = threading.RLock()
_USES: dict[type, int] = {}

_NAMES = {"keys": "key_cache", "values": "value_cache"}
# Layers for which an empty cache is a cache of length 0.
_GROWING = ("DynamicLayer", "DynamicSlidingWindowLayer", "DummyLayer")
# The axes of keys and values, and the one of positions.
AXES, POSITIONS = 4, 2
_ATTRIBUTES = {name: attribute for attribute, name in _NAMES.items()}


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Let PyTorch see into the caches of transformers, as long as this lasts.

    Caches that are registered otherwise stay as they are.
    """
    kinds = _classes() if "transformers.cache_utils" in sys.modules else []
    with _LOCK:
        mine = [kind for kind in kinds if _USES.get(kind) or kind not in pytree.SUPPORTED_NODES]
        for kind in mine:
            if not _USES.get(kind):
                _register(kind)
            _USES[kind] = _USES.get(kind, 0) + 1
    try:
        yield
    finally:
        with _LOCK:
            for kind in mine:
                _USES[kind] -= 1
                if not _USES[kind]:
                    pytree._deregister_pytree_node(kind)


def _classes() -> list[type]:
    module = sys.modules["transformers.cache_utils"]

    def below(kind: type) -> Iterator[type]:
        yield kind
        for child in kind.__subclasses__():
            yield from below(child)

    return sorted(set(below(module.Cache)), key=lambda kind: (kind.__module__, kind.__qualname__))


def _register(kind: type) -> None:
    pytree.register_pytree_node(
        kind,
        _flatten,
        _unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__qualname__}",
        flatten_with_keys_fn=_flatten_with_keys,
    )


def _flatten(cache: Any) -> tuple[list[Any], list[Any]]:
    names, values, rest = _parts(cache)
    return values, [names, rest]


def _flatten_with_keys(cache: Any) -> tuple[list[Any], list[Any]]:
    names, values, rest = _parts(cache)
    return [(pytree.MappingKey(name), value) for name, value in zip(names, values, strict=True)], [
        names,
        rest,
    ]


def _parts(cache: Any) -> tuple[list[str], list[Any], list[Any]]:
    """Return the names of the children, the children, and the other parts of the cache."""
    kind = _path(type(cache))
    if hasattr(cache, "self_attention_cache"):
        names = ["self_attention_cache", "cross_attention_cache"]
        updated = sorted([int(layer), bool(is_so)] for layer, is_so in cache.is_updated.items())
        return names, [getattr(cache, name) for name in names], [kind, updated]
    columns: dict[str, list[Any]] = {"key_cache": [], "value_cache": []}
    parts = []
    for layer in cache.layers:
        plain: dict[str, Any] = {}
        for name, value in vars(layer).items():
            column = columns.setdefault(_NAMES.get(name, name), [])
            if isinstance(value, torch.Tensor) and name.startswith("_"):
                continue
            if name == "cumulative_length" and not isinstance(value, torch.Tensor):
                plain[name] = windows.source(cache, layer, value)
            elif isinstance(value, dict):
                entries = [[key, _part(layer, name, one, column)] for key, one in value.items()]
                plain[name] = {"entries": entries}
            elif not isinstance(value, (torch.dtype, torch.device)):
                plain[name] = _part(layer, name, value, column)
        parts.append([_path(type(layer)), plain])
    grows = getattr(cache, "layer_class_to_replicate", None)
    columns = {name: column for name, column in columns.items() if column or name in _ATTRIBUTES}
    return list(columns), list(columns.values()), [kind, _path(grows) if grows else None, parts]


def _part(layer: Any, name: str, value: Any, column: list[Any]) -> Any:
    """Return the structure's description of a value, whose tensor goes into `column`."""
    if isinstance(value, torch.Tensor):
        column.append(value)
        return "tensor"
    if isinstance(value, torch.SymInt):
        return "unknown"
    if value is None or isinstance(value, (bool, int, float, str)):
        return [value]
    message = f"a {type(layer).__name__} has the attribute `{name}`, a {type(value).__name__}"
    raise TypeError(f"{message}, which cannot be handed to an exported program")


def structure(value: Any) -> list[Any]:
    """Describe the caches in a value as far as a graph depends on them, which excludes lengths.

    The description of a cache that only grows is empty: a graph for it also serves an empty one.
    """
    return [found for cache in _caches(value) if (found := _structure(cache))]


def is_filled(value: Any) -> bool:
    """Tell whether a value has a cache with tensors."""
    return any(
        isinstance(leaf, torch.Tensor)
        for cache in _caches(value)
        for leaf in pytree.tree_leaves(cache)
    )


def is_cache(value: Any) -> bool:
    """Tell whether a value is a cache of transformers."""
    module = sys.modules.get("transformers.cache_utils")
    return module is not None and isinstance(value, module.Cache)


def grows(value: Any) -> bool:
    """Tell whether a value is a cache whose keys and values only become longer."""
    return is_cache(value) and not _structure(value)


def _caches(value: Any) -> list[Any]:
    return [one for one in pytree.tree_leaves(value, is_leaf=is_cache) if is_cache(one)]


def _structure(cache: Any) -> list[Any]:
    names, values, rest = _parts(cache)
    if "self_attention_cache" in names:
        return [part for part in (rest[1], *map(_structure, values)) if part]
    if all(type(layer).__name__ in _GROWING for layer in cache.layers):
        return []
    return [[path, _flags(plain)] for path, plain in rest[2]]


def _flags(part: Any) -> Any:
    """Return a description of a layer without its numbers."""
    if isinstance(part, dict):
        return {name: _flags(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_flags(value) for value in part if isinstance(value, (bool, str, list, dict))]
    return part if isinstance(part, (bool, str)) else None


def _unflatten(values: Any, context: Any) -> Any:
    names, rest = context
    children = dict(zip(names, values, strict=True))
    kind = _class(rest[0])
    cache = kind.__new__(kind)
    if "self_attention_cache" in children:
        cache.__dict__.update(children)
        cache.is_updated = dict(rest[1])
        return cache
    columns = {name: iter(column) for name, column in children.items()}
    cache.layers = [_layer(_class(path), plain, columns) for path, plain in rest[2]]
    for layer, (_, plain) in zip(cache.layers, rest[2], strict=True):
        known = plain.get("cumulative_length", "tensor")
        if known != "tensor":
            windows.restore(cache, layer, known)
    cache.layer_class_to_replicate = _class(rest[1]) if rest[1] else None
    cache.offloading = False
    return cache


def _layer(kind: type, plain: dict[str, Any], columns: dict[str, Iterator[Any]]) -> Any:
    parameters = inspect.signature(kind).parameters
    given = {
        name: value[0]
        for name, value in plain.items()
        if name in parameters and isinstance(value, list)
    }
    layer = kind(**given)
    for name, value in plain.items():
        column = columns.get(_NAMES.get(name, name), iter(()))
        if value == "tensor":
            setattr(layer, name, next(column))
        elif isinstance(value, list):
            setattr(layer, name, value[0])
        elif isinstance(value, dict) and "entries" in value:
            setattr(
                layer,
                name,
                {key: next(column) if one == "tensor" else one[0] for key, one in value["entries"]},
            )
    kept = [getattr(layer, "keys", None), *getattr(layer, "conv_states", {}).values()]
    for tensor in kept:
        if isinstance(tensor, torch.Tensor):
            layer.dtype, layer.device = tensor.dtype, tensor.device
            break
    return layer


def _path(kind: type) -> str:
    kind = layers.original(kind)
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(path: str) -> Any:
    module, name = path.split(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
