"""`dynamic_axes`, as `torch.onnx.export` took it before there were dynamic shapes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import Dim

from onnxport import _errors
from onnxport._export import trees

Axes = Mapping[str, Mapping[int, str] | Sequence[int] | None]


def to_shapes(
    model: Any,
    args: trees.Args,
    kwargs: trees.Kwargs,
    axes: Axes,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
) -> dict[str, Any]:
    """Return dynamic shapes for `axes`, whose keys are names of inputs and outputs.

    Inputs are called by `input_names`, in the order of the flattened tensors, or else by the names
    of the parameters. Axes of outputs follow from the inputs.
    """
    message = (
        "`dynamic_axes` is deprecated: give `dynamic_shapes`, which also takes names of dimensions"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=4)
    if not isinstance(axes, Mapping):
        raise _errors.usage(f"`dynamic_axes` is a {type(axes).__name__}, not a dict")
    arguments = trees.bound(model, args, kwargs)
    leaves = [
        leaf
        for name, value in arguments.items()
        for leaf in trees.specifications(value, None, name)
    ]
    given = dict(axes)
    names = iter(input_names or ())
    specs: list[Any] = []
    for path, value, _ in leaves:
        name = next(names, path) if isinstance(value, torch.Tensor) else path
        specs.append(_spec(name, given.pop(name, None)))
    strangers = [name for name in given if name not in set(output_names or ())]
    if strangers:
        known = ", ".join(
            f"`{path}`" for path, value, _ in leaves if isinstance(value, torch.Tensor)
        )
        message = f"`dynamic_axes` names {', '.join(map(repr, strangers))}, no input and no output"
        raise _errors.usage(
            message, f"the inputs are {known}; outputs are called by `output_names`"
        )
    rest = iter(specs)
    return {name: trees.rebuild(value, rest) for name, value in arguments.items()}


def _spec(name: str, axes: Any) -> dict[int, Any] | None:
    if axes is None:
        return None
    if isinstance(axes, Mapping):
        spec = dict(axes)
    elif isinstance(axes, Sequence) and not isinstance(axes, str):
        spec = dict.fromkeys(axes, Dim.DYNAMIC)
    else:
        raise _errors.usage(f"`dynamic_axes` of {name!r} is neither a dict nor a list of axes")
    if not all(isinstance(axis, int) for axis in spec):
        raise _errors.usage(f"`dynamic_axes` of {name!r} has keys that are not axes")
    return spec
