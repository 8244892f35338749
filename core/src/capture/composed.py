"""Parameters composed of the tensors of a checkpoint, as transformers loads them.

transformers renames, merges and splits the tensors of some checkpoints. Its own conversions run
here on tensors without memory, while a composition records the operators that they call. So there
are few operators, however many conversions there are; others are refused. The script of the decoder
stands behind this one.
"""

import copy
import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decoder import Refused
    from process import reason

# Operators that keep elements, and those that also change the shape.
KEPT = ("alias", "clone", "contiguous", "detach", "lift_fresh", "_to_copy")
SHAPED = ("_reshape_alias", "_unsafe_view", "squeeze", "unsqueeze", "view")


class Unknown(Exception):  # noqa: N818
    """An operator that changes tensors in another way."""


def counted(axis: int, rank: int) -> int:
    """Return an axis, counted from the first one."""
    return axis + rank if axis < 0 else axis


def reshaped(of: Any, shape: Any) -> dict[str, Any]:
    """Return the composition of another shape."""
    return {"reshape": {"of": of, "shape": list(shape)}}


def sliced(of: Any, axis: int, start: int, end: int, step: int = 1) -> dict[str, Any]:
    """Return the composition of a slice."""
    return {"slice": {"of": of, "axis": axis, "start": start, "end": end, "step": step}}


def joined(name: str, parts: list[Any], axis: int, result: Any) -> dict[str, Any]:
    """Return the composition of tensors that are concatenated or stacked."""
    axis = counted(axis, result.dim())
    if name == "stack":
        shape = [1 if at == axis else size for at, size in enumerate(result.shape)]
        parts = [reshaped(part, shape) for part in parts]
    return {"concat": {"of": parts, "axis": axis}}


def permuted(name: str, of: Any, rank: int, rest: list[Any]) -> dict[str, Any]:
    """Return the composition of axes in another order."""
    order = list(range(rank))
    if name == "permute":
        order = [counted(axis, rank) for axis in rest[0]]
    elif rank > 1:
        one, other = [counted(axis, rank) for axis in rest] or (0, 1)
        order[one], order[other] = order[other], order[one]
    return {"permute": {"of": of, "axes": order}}


def selected(of: Any, tensor: Any, axis: int, at: int) -> dict[str, Any]:
    """Return the composition of one index of an axis."""
    shape = [*tensor.shape[:axis], *tensor.shape[axis + 1 :]]
    return reshaped(sliced(of, axis, at, at + 1), shape)


def cut(name: str, of: Any, tensor: Any, rest: list[Any], result: Any) -> Any:
    """Return the composition of a part of a tensor, or of all parts that an operator returns."""
    # The axis comes behind the sizes.
    given = rest[1:] if name.startswith("split") else rest
    axis, *where = [counted(given[0] if given else 0, tensor.dim()), *given[1:]]
    size = tensor.shape[axis]
    if name == "unbind":
        return [selected(of, tensor, axis, at) for at in range(size)]
    if name == "select":
        return selected(of, tensor, axis, where[0] % size)
    if name == "slice":
        start, end, step = slice(*[*where, None, None, None][:3]).indices(size)
        return sliced(of, axis, start, max(start, end), step)
    ends = [0, *itertools.accumulate(part.shape[axis] for part in result)]
    return [sliced(of, axis, start, end) for start, end in itertools.pairwise(ends)]


def composed(name: str, args: list[Any], result: Any, of: Any) -> Any:
    """Return the composition of an operator's results; `of` returns that of a tensor."""
    if name in ("cat", "stack"):
        axis = args[1] if len(args) > 1 else 0
        return joined(name, [of(one) for one in args[0]], axis, result)
    tensor, *rest = args
    if name in KEPT and result.dtype == tensor.dtype:
        return of(tensor)
    if name in SHAPED:
        return reshaped(of(tensor), result.shape)
    if name in ("t", "transpose", "permute"):
        return permuted(name, of(tensor), tensor.dim(), rest)
    if name in ("select", "slice", "split", "split_with_sizes", "unbind"):
        return cut(name, of(tensor), tensor, rest, result)
    raise Unknown(name)


def recorder() -> Any:
    """Return a mode that gives each tensor its composition, as the attribute `composition`."""
    from torch.utils._python_dispatch import TorchDispatchMode

    def of(tensor: Any) -> Any:
        return tensor.composition

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        """Computes shapes, and composes."""

        def __torch_dispatch__(
            self, function: Any, _: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            named = list((kwargs or {}).values())
            name = function.overloadpacket.__name__
            made = composed(name, [*args, *named], result, of)
            several = isinstance(result, (list, tuple))
            for one, how in zip(result, made, strict=True) if several else [(result, made)]:
                one.composition = how
            return result

    return Recorder()


def conversions(model: Any) -> tuple[list[Any], list[Any]]:
    """Return the conversions of names and those of tensors that transformers has for a model."""
    try:
        from transformers import conversion_mapping
        from transformers.core_model_loading import WeightConverter, WeightRenaming
    except ImportError:
        # Older releases load each tensor under its own name.
        return [], []
    found = conversion_mapping.get_model_conversion_mapping(model)
    names = [one for one in found if isinstance(one, WeightRenaming)]
    return names, [one for one in found if isinstance(one, WeightConverter)]


def loaded_as(model: Any, stored: dict[str, list[int]]) -> dict[str, Any]:
    """Return the conversions that transformers calls, with their tensors, by the first result."""
    import torch
    from transformers import core_model_loading as loading

    names, tensors = conversions(model)
    wanted = model.state_dict()
    prefix = model.base_model_prefix
    by_pattern = {pattern: one for one in tensors for pattern in one.source_patterns}
    found: dict[str, Any] = {}
    # Experts are in the order of their numbers.
    for key in sorted(stored, key=loading.dot_natural_key):
        name, pattern = loading.rename_source_key(key, names, tensors, prefix, wanted)
        if name not in wanted and key in wanted:
            name, pattern = loading.rename_source_key(key, [], [], prefix, wanted)
        if name not in wanted:
            continue
        if name not in found:
            known = pattern is not None
            found[name] = (
                copy.deepcopy(by_pattern[pattern]) if known else loading.WeightRenaming(key, name)
            )
        tensor = torch.empty(stored[key], device="meta")
        tensor.composition = {"stored": key}
        found[name].add_tensor(name, key, pattern or key, tensor)
    return found


def compositions(model: Any, stored: dict[str, list[int]]) -> dict[str, Any]:
    """Return the compositions of the tensors that the checkpoint stores in another form.

    `stored` are the shapes of the tensors of the checkpoint.
    """
    import torch

    if not any(conversions(model)):
        return {}
    made: dict[str, Any] = {}
    for name, conversion in loaded_as(model, stored).items():
        called = [type(one).__name__ for one in getattr(conversion, "operations", [])]
        try:
            with recorder(), torch.no_grad():
                results = conversion.convert(name, model=model, config=model.config)
            for key, one in results.items():
                made[key] = (one[0] if isinstance(one, list) else one).composition
        except Exception as error:
            about = f"`{name}` is converted by `{', '.join(called)}` of transformers"
            unknown = isinstance(error, Unknown)
            why = (
                f"which uses the operator `{error}`" if unknown else f"which fails: {reason(error)}"
            )
            raise Refused("conversion", f"{about}, {why}") from error
    return {name: made[name] for name in sorted(made) if made[name] != {"stored": name}}
