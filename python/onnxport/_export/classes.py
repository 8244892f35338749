"""Arguments of classes that PyTorch does not look into."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree

from onnxport._diagnostics import Diagnostic, Suggestion
from onnxport._export import places, trees

_PLAIN = (
    torch.Tensor,
    torch.ScriptObject,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.SymInt,
    torch.SymFloat,
    torch.SymBool,
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    slice,
    type(None),
)


def problem(model: Any, args: trees.Args, kwargs: trees.Kwargs) -> Diagnostic | None:
    """Return the diagnostic for the first argument of an unknown class, if there is one."""
    for path, value in _leaves(model, args, kwargs):
        kind = type(value)
        if isinstance(value, _PLAIN) or kind in pytree.SUPPORTED_NODES:
            continue
        suggestion = _registration(value)
        return Diagnostic(
            "error",
            "OP213",
            f"`{path}` is a `{kind.__name__}`, which PyTorch cannot flatten into tensors",
            **places.of_caller(),
            notes=_defined(kind),
            help=f"register `{kind.__name__}` once, before the export, or pass its tensors instead"
            + (f":\n{suggestion.text}" if suggestion and "\n" not in suggestion.text else ""),
            suggestions=(suggestion,) if suggestion else (),
        )
    return None


def _leaves(model: Any, args: trees.Args, kwargs: trees.Kwargs) -> Iterator[tuple[str, Any]]:
    for name, value in trees.bound(model, args, kwargs).items():
        for path, leaf, _ in trees.specifications(value, None, name):
            yield path, leaf


def _source(kind: type) -> tuple[str, int, int] | None:
    """Return the file of a class, its first line and the line below it."""
    try:
        lines, first = inspect.getsourcelines(kind)
        file = inspect.getsourcefile(kind)
    except (TypeError, OSError):
        return None
    return None if file is None else (file, first, first + len(lines))


def _defined(kind: type) -> tuple[str, ...]:
    found = _source(kind)
    return (f"`{kind.__name__}` is defined at {found[0]}:{found[1]}",) if found else ()


def _registration(value: Any) -> Suggestion | None:
    """Return the registration of a class; its constructor must accept its instances' contents."""
    kind = type(value)
    name = kind.__name__
    full = f"{kind.__module__}.{name}"
    if dataclasses.is_dataclass(value):
        text = f'torch.export.register_dataclass({name}, serialized_type_name="{full}")'
    else:
        fields = _fields(value)
        if fields is None:
            return None
        held = ", ".join(f"value.{field}" for field in fields)
        names = ", ".join(f'"{field}"' for field in fields) + ("," if len(fields) == 1 else "")
        text = "\n".join(
            (
                "torch.utils._pytree.register_pytree_node(",
                f"    {name},",
                f"    lambda value: ([{held}], None),",
                f"    lambda fields, _: {name}(*fields),",
                f'    serialized_type_name="{full}",',
                "    flatten_with_keys_fn=lambda value: (",
                "        [",
                "            (torch.utils._pytree.GetAttrKey(name), getattr(value, name))",
                f"            for name in ({names})",
                "        ],",
                "        None,",
                "    ),",
                ")",
            )
        )
    found = _source(kind) if name.isidentifier() else None
    file, line = (found[0], found[2]) if found else (None, None)
    return Suggestion(
        "class", f"registration of `{name}` with PyTorch, for after the class", text, file, line
    )


def _fields(value: Any) -> list[str] | None:
    """Return the attributes that the constructor takes in order, None where it takes others."""
    try:
        parameters = list(inspect.signature(type(value)).parameters.values())
    except (TypeError, ValueError):
        return None
    held = getattr(value, "__dict__", {})
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in parameters if one.kind in places]
    same = len(names) == len(parameters) and set(names) == set(held)
    return names if same and names else None
