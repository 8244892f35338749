"""The caches of transformers as inputs and outputs, without the user registering anything.

PyTorch has to be told how a class is made of tensors. A cache is a dict of lists, one tensor for
each layer: `key_cache`, `value_cache`, and what further tensors its layers have. That is how
transformers itself describes a `DynamicCache`, so that names of inputs are the same both ways. What
is no tensor belongs to the structure.
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

_LOCK = threading.RLock()
_USES: dict[type, int] = {}

_NAMES = {"keys": "key_cache", "values": "value_cache"}
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
    """Return the names of the children, the children, and what else the cache is made of."""
    kind = _path(type(cache))
    if hasattr(cache, "self_attention_cache"):
        names = ["self_attention_cache", "cross_attention_cache"]
        updated = sorted([int(layer), bool(is_so)] for layer, is_so in cache.is_updated.items())
        return names, [getattr(cache, name) for name in names], [kind, updated]
    columns: dict[str, list[Any]] = {"key_cache": [], "value_cache": []}
    layers = []
    for layer in cache.layers:
        plain = {}
        for name, value in vars(layer).items():
            if isinstance(value, torch.Tensor):
                if not name.startswith("_"):
                    columns.setdefault(_NAMES.get(name, name), []).append(value)
                    plain[name] = "tensor"
            elif value is None or isinstance(value, (bool, int, float, str)):
                plain[name] = [value]
            elif not isinstance(value, (torch.dtype, torch.device)):
                message = (
                    f"a {type(layer).__name__} has the attribute `{name}`, a {type(value).__name__}"
                )
                raise TypeError(f"{message}, which cannot be handed to an exported program")
        layers.append([_path(type(layer)), plain])
    grows = getattr(cache, "layer_class_to_replicate", None)
    return list(columns), list(columns.values()), [kind, _path(grows) if grows else None, layers]


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
    cache.layer_class_to_replicate = _class(rest[1]) if rest[1] else None
    cache.offloading = False
    return cache


def _layer(kind: type, plain: dict[str, Any], columns: dict[str, Iterator[Any]]) -> Any:
    parameters = inspect.signature(kind).parameters
    given = {
        name: value[0] for name, value in plain.items() if name in parameters and value != "tensor"
    }
    layer = kind(**given)
    for name, value in plain.items():
        tensor = value == "tensor"
        setattr(layer, name, next(columns[_NAMES.get(name, name)]) if tensor else value[0])
    if isinstance(layer.keys, torch.Tensor):
        layer.dtype, layer.device = layer.keys.dtype, layer.keys.device
    return layer


def _path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(path: str) -> Any:
    module, name = path.split(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
