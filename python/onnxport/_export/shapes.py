"""Dynamic shapes: what `torch.export.export` takes, and strings in the places of dimensions.

A string is a dimension that is dynamic and has this name. Where a name stands at several axes of
equal size, they are asked to be one dimension; where the program does not allow that, each is one
of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._export import places, trees
from onnxport._program import dim_names, user_inputs

Shapes = Mapping[str, Any] | Sequence[Any] | None


@dataclass(frozen=True)
class Axis:
    """An axis of an input that is to be dynamic: its leaf, and the name that it gets."""

    path: str
    leaf: int
    axis: int
    size: int | None
    name: str | None


@dataclass(frozen=True)
class Wanted:
    """What the user wants to be dynamic.

    `candidates` are what `torch.export.export` is to be given, one after the other.
    """

    candidates: tuple[Any, ...]
    axes: tuple[Axis, ...] = ()

    @property
    def any(self) -> bool:
        """Whether a dimension is to be dynamic."""
        return bool(self.axes)


def read(model: Any, args: trees.Args, kwargs: trees.Kwargs, shapes: Shapes) -> Wanted:
    """Return what `shapes` asks for, for a call of `model`."""
    if shapes is None:
        return Wanted((None,))
    arguments = trees.bound(model, args, kwargs)
    leaves = _leaves(arguments, shapes)
    places = trees.positions(model, args, kwargs)
    axes = tuple(a for place, leaf in zip(places, leaves, strict=True) for a in _axes(place, *leaf))
    if not any(isinstance(dim, str) for _, _, spec in leaves for _, dim in _items(spec)):
        return Wanted((shapes,), axes)
    shared = _shared(axes)
    candidates = [
        _replaced(arguments, shapes, leaves, names) for names in ([shared, {}] if shared else [{}])
    ]
    return Wanted(tuple(candidates), axes)


def names(
    program: ExportedProgram, wanted: Wanted, findings: Sequence[Diagnostic] = ()
) -> dict[str, str]:
    """Return the names of the program's symbols; a name that cannot be kept is warned about.

    `findings` of draft export say where sizes are decided.
    """
    named = {**_roots(program), **dim_names(program)}
    inputs = list(user_inputs(program))
    for axis in wanted.axes:
        if axis.leaf >= len(inputs) or axis.axis >= len(inputs[axis.leaf].shape):
            continue
        size = inputs[axis.leaf].shape[axis.axis]
        place = f"axis {axis.axis} of `{axis.path}`"
        if size.is_Integer:
            _warn(str(fixed(axis, size, findings)))
        elif axis.name is None or not size.is_Symbol:
            if axis.name is not None:
                _warn(f"{place} is {size}, and not called `{axis.name}`")
        elif named.setdefault(str(size), axis.name) != axis.name:
            other = named[str(size)]
            _warn(f"{place} is not called `{axis.name}`: it is the same dimension as `{other}`")
    return _distinct(named)


def fixed(axis: Axis, size: Any, findings: Sequence[Diagnostic] = ()) -> Diagnostic:
    """Return the warning for an axis that is not dynamic, though it was to be."""
    own = f"{axis.path}.shape[{axis.axis}]"
    line = next((one for one in findings if one.code == "OP216" and own in one.message), None)
    asked = f"`dynamic_shapes` without axis {axis.axis} of `{axis.path}`"
    return Diagnostic(
        "warning",
        "OP216",
        f"axis {axis.axis} of `{axis.path}` is not dynamic: the program fixes it at {size}",
        file=line.file if line else None,
        line=line.line if line else None,
        source=line.source if line else None,
        notes=(line.message,) if line else (),
        help=f"write `{own}` where the module means this size, and not {size}; if {size} is meant, "
        f"give {asked}",
    )


def _roots(program: ExportedProgram) -> dict[str, str]:
    """Return the names of dimensions of which axes are expressions."""
    values = (node.meta.get("val") for node in program.graph.find_nodes(op="placeholder"))
    mode = next((value.fake_mode for value in values if hasattr(value, "fake_mode")), None)
    shape_env = getattr(mode, "shape_env", None)
    roots = getattr(shape_env, "source_to_var", {}).items()
    return {str(symbol): name for name, symbol in roots if name.isidentifier()}


def _distinct(named: Mapping[str, str]) -> dict[str, str]:
    """Give each symbol a name of its own."""
    taken: set[str] = set()
    distinct = {}
    for symbol, name in named.items():
        own, number = name, 1
        while own in taken:
            own, number = f"{name}_{number}", number + 1
        if own != name:
            _warn(f"the program does not make all dimensions called `{name}` equal: one is `{own}`")
        taken.add(own)
        distinct[symbol] = own
    return distinct


def _leaves(arguments: Mapping[str, Any], shapes: Any) -> list[tuple[str, Any, Any]]:
    """Return the path, the value and the specification of every leaf of the arguments."""
    if not isinstance(shapes, Mapping):
        if len(shapes) != len(arguments):
            message = f"`dynamic_shapes` has {len(shapes)} entries for {len(arguments)} arguments"
            raise _errors.usage(message)
        shapes = dict(zip(arguments, shapes, strict=True))
    found = []
    for name, value in arguments.items():
        found += trees.specifications(value, shapes.get(name), name)
    if strangers := [name for name in shapes if name not in arguments]:
        given = ", ".join(f"`{name}`" for name in strangers)
        raise _errors.usage(f"`dynamic_shapes` names {given}, which the call does not give")
    return found


def _items(spec: Any) -> list[tuple[int, Any]]:
    if isinstance(spec, Mapping):
        return list(spec.items())
    return list(enumerate(spec)) if isinstance(spec, (list, tuple)) else []


def _axes(leaf: int, path: str, value: Any, spec: Any) -> list[Axis]:
    found = []
    for axis, dim in _items(spec):
        if not isinstance(axis, int):
            raise _errors.usage(f"the shape of `{path}` has the key {axis!r}, which is no axis")
        if dim is None or isinstance(dim, int) or _is(Dim.STATIC, dim):
            continue
        if isinstance(dim, str) and not dim.isidentifier():
            help = "use letters, digits and `_`, and start with no digit"
            raise _errors.usage(f"{dim!r} cannot be the name of a dimension", help)
        size = None
        if isinstance(value, torch.Tensor):
            if not -value.ndim <= axis < value.ndim:
                raise _errors.usage(f"`{path}` has {value.ndim} axes, and no axis {axis}")
            axis %= value.ndim
            size = int(value.shape[axis])
        # Whether such an axis is dynamic is PyTorch's choice.
        if not _is(Dim.AUTO, dim):
            found.append(Axis(path, leaf, axis, size, dim if isinstance(dim, str) else None))
    return found


def _is(hint: Any, dim: Any) -> bool:
    """Tell whether `dim` is a hint of the kind of `hint`, which may have bounds of its own."""
    return isinstance(dim, type(hint)) and dim.type is hint.type


def _shared(axes: Sequence[Axis]) -> dict[str, Any]:
    """Return a dimension for each name that stands at several axes of one size."""
    sizes = defaultdict(list)
    for axis in axes:
        if axis.name is not None:
            sizes[axis.name].append(axis.size)
    alike = [name for name, given in sizes.items() if len(given) > 1 and len(set(given)) == 1]
    return {name: Dim(name) for name in alike}


def _replaced(
    arguments: Mapping[str, Any],
    shapes: Any,
    leaves: Sequence[tuple[str, Any, Any]],
    dims: Mapping[str, Any],
) -> Any:
    """Return shapes in which strings are `dims`, or dimensions of their own."""

    def dim(given: Any) -> Any:
        return dims.get(given, Dim.DYNAMIC) if isinstance(given, str) else given

    def spec(given: Any) -> Any:
        if isinstance(given, Mapping):
            return {axis: dim(one) for axis, one in given.items()}
        if isinstance(given, (list, tuple)):
            return type(given)(dim(one) for one in given)
        return given

    rest = iter([spec(given) for _, _, given in leaves])
    rebuilt = {name: trees.rebuild(value, rest) for name, value in arguments.items()}
    return rebuilt if isinstance(shapes, Mapping) else tuple(rebuilt.values())


def _warn(message: str) -> None:
    places.warn(message)
