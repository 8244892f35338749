"""Other weights for a model that was converted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from onnxport import _errors
from onnxport._onnx_program.conversion import public_errors

if TYPE_CHECKING:
    from onnxport import _native


def bind(
    model: _native.Model, weights: Mapping[str, Any] | str | os.PathLike[str] | Iterable[Any]
) -> list[str]:
    """Give `model` weights; return the names that it does not have."""
    from onnxport import _native

    if not isinstance(weights, Mapping):
        paths = [weights] if isinstance(weights, (str, os.PathLike)) else list(weights)
        with public_errors():
            model.bind([os.fspath(path) for path in paths])
        return []
    from onnxport._export import serialize

    known = {name for name, *_ in model.initializers()}
    storages: dict[int, Any] = {}
    given = {}
    for name, tensor in weights.items():
        reason = serialize.unreadable(tensor)
        one = serialize.buffer(tensor, storages) if reason is None else None
        if one is None:
            raise _errors.UnsupportedError(f"`{name}` cannot be read: {reason or 'it has no data'}")
        if name in known:
            given[name] = _native.Tensor(**vars(one))
    with public_errors():
        json.loads(model.bind(given))
    return [name for name in weights if name not in known]
