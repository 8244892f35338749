"""The inputs of a call as a tree, and specifications of shapes that follow it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch.utils._pytree as pytree

from onnxport import _errors

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def forward(model: Any) -> Callable[..., Any]:
    """Return the function that a call of `model` runs."""
    return getattr(model, "forward", model)


def bound(model: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """Return the arguments of a call by the names of the parameters, in order.

    Extra arguments for `*args` and `**kwargs` are a tuple and a dict, as in `torch.export.export`.
    """
    try:
        return dict(inspect.signature(forward(model)).bind(*args, **kwargs).arguments)
    except TypeError as error:
        help = "give `args` and `kwargs` as a call of the model takes them"
        raise _errors.usage(f"the model does not take these arguments: {error}", help) from error


def extra_name(model: Any) -> str | None:
    """Return the name of the parameter for extra keyword arguments, None if there is none."""
    for name, parameter in inspect.signature(forward(model)).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            return name
    return None


def positions(model: Any, args: Args, kwargs: Kwargs) -> list[int]:
    """Return the position of each leaf of the bound arguments among the leaves of the call.

    A call has its positional arguments first and then its keyword arguments, in the given order;
    this is also the order of a program's inputs.
    """
    parameters = list(inspect.signature(forward(model)).parameters.values())
    starts: dict[str, int] = {}
    end = 0
    for number, value in enumerate(args):
        starts.setdefault(parameters[min(number, len(parameters) - 1)].name, end)
        end += len(pytree.tree_leaves(value))
    for name, value in kwargs.items():
        starts[name] = end
        end += len(pytree.tree_leaves(value))
    kinds = {parameter.name: parameter.kind for parameter in parameters}
    places: list[int] = []
    for name, value in bound(model, args, kwargs).items():
        further = value if kinds[name] is inspect.Parameter.VAR_KEYWORD else {name: value}
        for key, part in further.items():
            start = starts[key]
            places += range(start, start + len(pytree.tree_leaves(part)))
    return places


def children(value: Any) -> list[Any] | None:
    """Return the children of a node of a tree, None for a leaf."""
    node = pytree.SUPPORTED_NODES.get(pytree._get_node_type(value))
    return None if node is None else list(node.flatten_fn(value)[0])


def rebuild(value: Any, leaves: Iterator[Any]) -> Any:
    """Return the tree of `value` with other leaves.

    Instances of classes that PyTorch knows become lists of their children. That is how
    `torch.export.export` takes the shapes of a node of another class.
    """
    below = children(value)
    if below is None:
        return next(leaves)
    if isinstance(value, dict) and pytree._get_node_type(value) in pytree.BUILTIN_TYPES:
        return {key: rebuild(child, leaves) for key, child in zip(value, below, strict=True)}
    rebuilt = [rebuild(child, leaves) for child in below]
    if pytree.is_namedtuple_instance(value):
        return type(value)(*rebuilt)
    return tuple(rebuilt) if type(value) is tuple else rebuilt


def specifications(value: Any, spec: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, the value and the specification of each leaf below `value`.

    None represents a whole tree without dynamic dimensions.
    """
    below = children(value)
    if below is None:
        yield path, value, spec
        return
    keys: Sequence[Any] = list(value) if isinstance(value, dict) else range(len(below))
    if spec is None:
        specs: Sequence[Any] = [None] * len(below)
    elif isinstance(spec, Mapping) and isinstance(value, dict):
        strangers = [repr(key) for key in spec if key not in value]
        if strangers:
            raise _errors.usage(
                f"the shapes of `{path}` name {', '.join(strangers)}, which it does not have"
            )
        specs = [spec.get(key) for key in keys]
    else:
        specs = list(spec.values()) if isinstance(spec, Mapping) else spec
        if not isinstance(specs, (list, tuple)) or len(specs) != len(below):
            message = f"the shapes of `{path}` do not have its structure: {len(below)} entries"
            raise _errors.usage(message)
    for key, child, inner in zip(keys, below, specs, strict=True):
        yield from specifications(
            child, inner, f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]"
        )
