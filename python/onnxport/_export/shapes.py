"""Dynamic shapes: those of `torch.export.export`, and strings for dimensions.

A string makes a dimension dynamic and names it. If a name is used for several axes of equal size,
they become one dimension if the program allows it; otherwise each is a separate one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from sympy import Symbol
from torch.export import AdditionalInputs, Dim, ExportedProgram, ShapesCollection

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._export import places, trees
from onnxport._program import dim_names, shape_env, user_inputs

Shapes = Mapping[str, Any] | Sequence[Any] | AdditionalInputs | ShapesCollection | None
_COLLECTIONS = (AdditionalInputs, ShapesCollection)


@dataclass(frozen=True)
class Axis:
    """An axis of an input that is to be dynamic: its leaf, and the name that it gets.

    `dim` is the name of the `torch.export.Dim` that the user gave.
    """

    path: str
    leaf: int
    axis: int
    size: int | None
    name: str | None
    dim: str | None = None


@dataclass(frozen=True)
class Wanted:
    """The dimensions that should be dynamic.

    `candidates` are the arguments to try for `torch.export.export`, in order. `fixed_ones` is used
    if none of them succeeds: axes of size 1, which may be broadcast, stay at 1 in it. `auto` tells
    whether PyTorch chooses for further axes.
    """

    candidates: tuple[Any, ...]
    axes: tuple[Axis, ...] = ()
    inputs: AdditionalInputs | None = None
    fixed_ones: Any = None
    auto: bool = False

    def verify(self, program: ExportedProgram) -> None:
        """Raise if the program does not accept the further inputs from which its shapes derive."""
        if self.inputs is not None:
            self.inputs.verify(program)

    def fixed(self, program: ExportedProgram) -> tuple[str, ...]:
        """Return the axes that have a fixed size in the program, as `x.shape[0]`."""
        inputs = list(user_inputs(program))
        return tuple(
            f"{axis.path}.shape[{axis.axis}]"
            for axis in self.axes
            if axis.leaf < len(inputs)
            and axis.axis < len(inputs[axis.leaf].shape)
            and inputs[axis.leaf].shape[axis.axis].is_Integer
        )

    @property
    def any(self) -> bool:
        """Whether a dimension is to be dynamic, or may be."""
        return bool(self.axes) or self.auto


def read(model: Any, args: trees.Args, kwargs: trees.Kwargs, shapes: Shapes) -> Wanted:
    """Return the dynamic dimensions of `shapes` for a call of `model`."""
    if shapes is None:
        return Wanted((None,))
    if isinstance(shapes, _COLLECTIONS):
        return _collected(model, args, kwargs, shapes)
    arguments = trees.bound(model, args, kwargs)
    if isinstance(shapes, Mapping):
        shapes = _with_extra(shapes, arguments, trees.extra_name(model))
    leaves = _leaves(arguments, shapes)
    places = trees.positions(model, args, kwargs)
    known = _identifiers(dim for _, _, spec in leaves for _, dim in _items(spec))
    axes = tuple(
        axis
        for place, leaf in zip(places, leaves, strict=True)
        for axis in _axes(place, *leaf, known)
    )
    items = [item for _, _, spec in leaves for item in _items(spec)]
    auto = any(_is(Dim.AUTO, dim) for _, dim in items)
    ones = None
    if any(axis.size == 1 for axis in axes):
        ones = _replaced(arguments, shapes, leaves, {}, fix_ones=True)
    if not any(isinstance(dim, str) or axis < 0 for axis, dim in items):
        return Wanted((shapes,), axes, fixed_ones=ones, auto=auto)
    shared = {given: dim for given, own in known.items() if (dim := _shared(axes).get(own))}
    candidates = [
        _replaced(arguments, shapes, leaves, names) for names in ([shared, {}] if shared else [{}])
    ]
    return Wanted(tuple(candidates), axes, fixed_ones=ones, auto=auto)


def _collected(
    model: Any, args: trees.Args, kwargs: trees.Kwargs, shapes: AdditionalInputs | ShapesCollection
) -> Wanted:
    """Return the dynamic dimensions of further inputs, or of shapes by tensor."""
    try:
        found = shapes.dynamic_shapes(model, args, kwargs)
    except Exception as error:
        raise _errors.usage(f"`dynamic_shapes` does not fit this call: {error}") from error
    wanted = read(model, args, kwargs, found)
    return replace(wanted, inputs=shapes if isinstance(shapes, AdditionalInputs) else None)


def names(
    program: ExportedProgram, wanted: Wanted, findings: Sequence[Diagnostic] = ()
) -> dict[str, str]:
    """Return the names of the program's symbols; warn about a name that cannot be kept.

    `findings` of draft export have the locations where sizes are decided.
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
        elif not size.is_Symbol:
            if (name := axis.name or axis.dim) is not None:
                symbols = {one: Symbol(named.get(str(one), str(one))) for one in size.free_symbols}
                found = f"{place} is {size.xreplace(symbols)}, and not called `{name}`"
                _warn(f"{found}: the module takes only such sizes")
        elif axis.name is None:
            continue
        elif named.setdefault(str(size), axis.name) != axis.name:
            other = named[str(size)]
            _warn(f"{place} is not called `{axis.name}`: it is the same dimension as `{other}`")
    return _distinct(named)


def fixed(axis: Axis, size: Any, findings: Sequence[Diagnostic] = ()) -> Diagnostic:
    """Return the warning for an axis that is not dynamic, though it was to be."""
    own = f"{axis.path}.shape[{axis.axis}]"
    line = next((one for one in findings if one.code == "OP216" and own in one.message), None)
    asked = f"`dynamic_shapes` without axis {axis.axis} of `{axis.path}`"
    help = f"write `{own}` where the module means this size, and not {size}; if {size} is meant, "
    if axis.size == 1:
        help = "give an example whose size is not 1 there; if it is always broadcast, "
    return Diagnostic(
        "warning",
        "OP216",
        f"axis {axis.axis} of `{axis.path}` is not dynamic: the program fixes it at {size}",
        file=line.file if line else None,
        line=line.line if line else None,
        source=line.source if line else None,
        notes=(line.message,) if line else (),
        help=f"{help}give {asked}",
    )


def _roots(program: ExportedProgram) -> dict[str, str]:
    """Return the names of dimensions of which axes are expressions."""
    roots = getattr(shape_env(program), "source_to_var", {}).items()
    return {str(symbol): name for name, symbol in roots if name.isidentifier()}


def _distinct(named: Mapping[str, str]) -> dict[str, str]:
    """Give each symbol a unique name."""
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


def _with_extra(
    shapes: Mapping[str, Any], arguments: Mapping[str, Any], extra: str | None
) -> Mapping[str, Any]:
    """Return `shapes` with those of arguments for `**kwargs` in a dict of their own.

    Like PyTorch, a caller may name these arguments beside the others.
    """
    given = arguments.get(extra, {}) if extra is not None else {}
    named = {name: spec for name, spec in shapes.items() if name in given and name not in arguments}
    if not named:
        return shapes
    others = {name: spec for name, spec in shapes.items() if name not in named}
    return {**others, extra: {**dict.fromkeys(given), **(shapes.get(extra) or {}), **named}}


def _leaves(arguments: Mapping[str, Any], shapes: Any) -> list[tuple[str, Any, Any]]:
    """Return the path, the value and the specification of every leaf of the arguments."""
    if not isinstance(shapes, (Mapping, tuple, list)):
        raise _errors.usage(f"`dynamic_shapes` is a {type(shapes).__name__}, not a dict or a tuple")
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


def _axes(leaf: int, path: str, value: Any, spec: Any, known: Mapping[str, str]) -> list[Axis]:
    found = []
    for axis, dim in _items(spec):
        if not isinstance(axis, int):
            raise _errors.usage(f"the shape of `{path}` has the key {axis!r}, which is not an axis")
        if dim is None or isinstance(dim, int) or _is(Dim.STATIC, dim):
            continue
        size = None
        if isinstance(value, torch.Tensor):
            if not -value.ndim <= axis < value.ndim:
                raise _errors.usage(f"`{path}` has {value.ndim} axes, and no axis {axis}")
            axis %= value.ndim
            size = int(value.shape[axis])
        # Whether such an axis is dynamic is PyTorch's choice.
        if not _is(Dim.AUTO, dim):
            name = known[dim] if isinstance(dim, str) else None
            # A derived dimension such as `2 * Dim("b")` is an expression by intention.
            stated = dim.__name__ if type(dim) is Dim else None
            found.append(Axis(path, leaf, axis, size, name, stated))
    return found


def _identifiers(dims: Iterable[Any]) -> dict[str, str]:
    """Return an identifier for each string that names dimensions, all of them different."""
    given = list(dict.fromkeys(dim for dim in dims if isinstance(dim, str)))
    found = {name: name for name in given if name.isidentifier()}
    for name in given:
        if name in found:
            continue
        base = re.sub(r"[^0-9A-Za-z_]", "_", name)
        own = base = base if base.isidentifier() else f"_{base}"
        number = 1
        while own in found.values():
            own, number = f"{base}_{number}", number + 1
        found[name] = own
        _warn(f"the dimension {name!r} is called `{own}`: names have letters, digits and `_`")
    return found


def _is(hint: Any, dim: Any) -> bool:
    """Tell whether `dim` is a hint of the kind of `hint`, which may have other bounds."""
    return isinstance(dim, type(hint)) and dim.type is hint.type


def _shared(axes: Sequence[Axis]) -> dict[str, Any]:
    """Return a dimension for each name of several axes of one size."""
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
    *,
    fix_ones: bool = False,
) -> Any:
    """Return shapes in which strings are `dims` or dimensions of their own.

    No axis of them is negative.
    """

    def dim(given: Any) -> Any:
        return dims.get(given, Dim.DYNAMIC) if isinstance(given, str) else given

    def spec(value: Any, given: Any) -> Any:
        shape = value.shape if isinstance(value, torch.Tensor) else ()

        def one(axis: int, given: Any) -> Any:
            return None if fix_ones and shape[axis : axis + 1] == (1,) else dim(given)

        if isinstance(given, Mapping):
            axes = {axis + len(shape) if axis < 0 else axis: dim for axis, dim in given.items()}
            return {axis: one(axis, dim) for axis, dim in axes.items()}
        if isinstance(given, (list, tuple)):
            return type(given)(one(axis, dim) for axis, dim in enumerate(given))
        return given

    rest = iter([spec(value, given) for _, value, given in leaves])
    rebuilt = {name: trees.rebuild(value, rest) for name, value in arguments.items()}
    return rebuilt if isinstance(shapes, Mapping) else tuple(rebuilt.values())


def _warn(message: str) -> None:
    places.warn(message)
