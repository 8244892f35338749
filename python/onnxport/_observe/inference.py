"""Inference from several calls: one argument list for all of them, and the parts that vary."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import Dim

from onnxport import _errors
from onnxport._export import caches, trees
from onnxport._observe.calls import POSITIONAL, SCALARS, Call, Kind


@dataclass(frozen=True)
class ObservedAxis:
    """An axis of an input: the sizes that it had, whether it is taken to be dynamic, and why."""

    path: str
    axis: int
    sizes: tuple[int, ...]
    dynamic: bool
    why: str

    def __str__(self) -> str:
        state = "dynamic" if self.dynamic else "static"
        return f"{self.path}, axis {self.axis}: {state}, {self.why}"


@dataclass(frozen=True)
class Leaf:
    """A value among the arguments: its value in each call, None if it was not given."""

    path: str
    values: tuple[Any, ...]
    axes: tuple[ObservedAxis, ...] = ()

    @property
    def spec(self) -> dict[int, Any] | None:
        """Its entry in `dynamic_shapes`: None unless it is a tensor."""
        if not self.is_tensor:
            return None
        return {axis.axis: Dim.DYNAMIC for axis in self.axes if axis.dynamic}

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return any(isinstance(value, torch.Tensor) for value in self.values)

    def value(self, call: int) -> Any:
        """Return the value in a call. A tensor that was not given is one without elements.

        It has the shape of the next call that gives it, which has the same batch in a generation,
        but for its last dynamic extent, which is 0; without any, it is zeros.
        """
        own = self.values[call]
        if own is not None:
            return own
        later_and_earlier = [*self.values[call:], *reversed(self.values[:call])]
        tensor = next(value for value in later_and_earlier if value is not None)
        if not isinstance(tensor, torch.Tensor):
            return tensor
        shape = list(tensor.shape)
        dynamic = [axis.axis for axis in self.axes if axis.dynamic]
        if tensor.numel() == 0:
            return tensor
        if dynamic:
            shape[max(dynamic)] = 0
        return torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)


class Inference:
    """The arguments of all calls, aligned."""

    def __init__(
        self,
        signature: inspect.Signature,
        calls: Sequence[Call],
        batch: Collection[str | int] | bool | None = None,
    ) -> None:
        self.signature = signature
        self.calls = calls
        parameters = list(signature.parameters.values())
        self.trees: dict[str, Any] = {}
        self.leaves: dict[str, list[Leaf]] = {}
        for place, parameter in enumerate(parameters):
            found = [call.leaves(parameter.name) for call in calls]
            if all(leaves is None for leaves in found):
                continue
            forced = batch is True or (
                not isinstance(batch, bool) and bool({place, parameter.name} & set(batch or ()))
            )
            name = parameter.name
            self.trees[name], self.leaves[name] = self._aligned(name, found, forced)
        unknown = (
            []
            if isinstance(batch, bool) or batch is None
            else [
                key
                for key in batch
                if key not in signature.parameters and key not in range(len(parameters))
            ]
        )
        if unknown:
            raise _errors.usage(
                f"there is no argument {unknown[0]!r} whose first dimension could be dynamic"
            )

    def _aligned(
        self, name: str, found: list[list[Any] | None], forced: bool
    ) -> tuple[Any, list[Leaf]]:
        counts = {len(leaves) for leaves in found if leaves is not None}
        if len(counts) > 1:
            said = " and ".join(map(str, sorted(counts)))
            raise _errors.usage(f"the argument `{name}` has {said} values in different calls")
        first = next(number for number, leaves in enumerate(found) if leaves is not None)
        tree = self.calls[first].arguments[name]
        paths = [path for path, _, _ in trees.specifications(tree, None, name)]
        columns = zip(*[leaves or [None] * len(paths) for leaves in found], strict=True)
        # The tensors of an empty cache have no positions.
        empty = caches.grows(tree) and any(leaves is None for leaves in found)
        return tree, [
            _leaf(path, column, forced, empty) for path, column in zip(paths, columns, strict=True)
        ]

    @property
    def axes(self) -> list[ObservedAxis]:
        """Every axis of every tensor."""
        return [axis for leaves in self.leaves.values() for leaf in leaves for axis in leaf.axes]

    @property
    def positional(self) -> tuple[str, ...]:
        """The parameters that some call gives by position."""
        given = max((call.positional for call in self.calls), key=len)
        gapless: list[str] = []
        for parameter in self.signature.parameters.values():
            if (
                parameter.kind not in POSITIONAL
                or parameter.name not in self.trees
                or parameter.name not in given
            ):
                break
            gapless.append(parameter.name)
        return tuple(gapless)

    def _further(self, kind: Any) -> str | None:
        """Return the name of `*args` or `**kwargs`, if something was given there."""
        names = (p.name for p in self.signature.parameters.values() if p.kind is kind)
        return next((name for name in names if name in self.trees), None)

    def shapes(self) -> tuple[Any, ...] | dict[str, Any]:
        """Return `dynamic_shapes`: a tuple if all arguments are positional, else a dict."""
        specs = {
            name: trees.rebuild(tree, iter([leaf.spec for leaf in self.leaves[name]]))
            for name, tree in self.trees.items()
        }
        if set(specs) == set(self.positional):
            return tuple(specs.values())
        return specs

    def flat(self, call: int) -> list[Any]:
        """Return the tensors of a call, in order, including those that it does not give."""
        return [
            leaf.value(call) for leaves in self.leaves.values() for leaf in leaves if leaf.is_tensor
        ]

    def arguments(self, call: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call, completed."""
        values = {}
        for name, tree in self.trees.items():
            _, spec = pytree.tree_flatten(tree)
            values[name] = pytree.tree_unflatten(
                [leaf.value(call) for leaf in self.leaves[name]], spec
            )
        further, named = self._further(Kind.VAR_POSITIONAL), self._further(Kind.VAR_KEYWORD)
        args = [values.pop(name) for name in self.positional]
        args += values.pop(further) if further is not None else ()
        extra = values.pop(named) if named is not None else {}
        return tuple(args), {**values, **extra}

    def best(self) -> int:
        """Return the call to export: the first with the most arguments.

        Of several, it is one in which the fewest dynamic axes have the size 1, at which PyTorch
        fixes them. A cache counts as one argument even if it is empty.
        """

        def rank(call: int) -> tuple[int, int]:
            values = [self.calls[call].arguments.get(name) for name in self.trees]
            given = pytree.tree_leaves(values, is_leaf=caches.is_cache)
            return -sum(value is not None for value in given), self._ones(call)

        return min(range(len(self.calls)), key=rank)

    def _ones(self, call: int) -> int:
        """Return how many dynamic axes have the size 1 in a call."""
        return sum(
            leaf.value(call).shape[axis.axis] == 1
            for leaves in self.leaves.values()
            for leaf in leaves
            for axis in leaf.axes
            if axis.dynamic
        )


def _leaf(path: str, values: tuple[Any, ...], forced: bool, empty: bool = False) -> Leaf:
    known = [value for value in values if value is not None]
    if all(isinstance(value, torch.Tensor) for value in known):
        shapes = [tuple(value.shape) for value in known]
        if len({len(shape) for shape in shapes}) > 1:
            said = ", ".join(sorted({str(len(shape)) for shape in shapes}))
            raise _errors.usage(
                f"`{path}` has different numbers of axes in different calls: {said}"
            )
        if empty and len(shapes[0]) == caches.AXES:
            before, after = shapes[0][: caches.POSITIONS], shapes[0][caches.POSITIONS + 1 :]
            shapes.append((*before, 0, *after))
        columns = enumerate(zip(*shapes, strict=True))
        return Leaf(
            path,
            values,
            tuple(_axis(path, axis, sizes, forced and axis == 0) for axis, sizes in columns),
        )
    if any(value != known[0] or type(value) is not type(known[0]) for value in known):
        said = " and ".join(dict.fromkeys(repr(value) for value in known))
        help = "values that are not tensors become part of the model: export it once for each value"
        raise _errors.usage(f"`{path}` is {said} in different calls", help)
    if not isinstance(known[0], SCALARS):
        raise _errors.usage(
            f"`{path}` is a {type(known[0]).__name__}, which an exported model cannot take"
        )
    return Leaf(path, values)


def _axis(path: str, axis: int, sizes: tuple[int, ...], forced: bool) -> ObservedAxis:
    seen = tuple(sorted(set(sizes)))
    if len(seen) > 1:
        return ObservedAxis(
            path, axis, sizes, True, f"as its size was {' and '.join(map(str, seen))}"
        )
    if forced:
        return ObservedAxis(path, axis, sizes, True, "as the requested batch dimension")
    if len(sizes) == 1:
        why = f"as only one call gives it, with {seen[0]}"
    else:
        why = f"as its size was {seen[0]} in all {len(sizes)} calls"
    return ObservedAxis(path, axis, sizes, False, why)
