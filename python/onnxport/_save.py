"""Write an exported program together with the values that its ONNX form must reproduce.

The values go into a sidecar (`_sidecar.py`). The archive gets two extra files for facts that
PyTorch does not save: `onnxport.dims.json` is a JSON object of the names of `Dim` by symbols,
`onnxport.guards.json` of stack traces by the guards that the code asked for.
Intermediate values go into a separate file on request (`_intermediates.py`).
"""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram

from onnxport import _guards
from onnxport._export import flex
from onnxport._intermediates import intermediates_path, record
from onnxport._onnx_program import reference
from onnxport._program import (
    SaveError,
    dim_names,
    flatten_inputs,
    output_names,
    shorten_stack_traces,
    shortened,
    solve,
    user_inputs,
)
from onnxport._sidecar import Case, sidecar_path, write

if TYPE_CHECKING:
    from onnxport import ONNXProgram

DIM_NAMES = "onnxport.dims.json"
GUARDS = "onnxport.guards.json"
DRAWS_PER_CASE = 64


class Inputs:
    """The inputs of one call, as it is written: `Inputs(x, mask, scale=2.0)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs


def save(
    ep: ExportedProgram | ONNXProgram,
    path: str | os.PathLike[str],
    *,
    module: Callable[..., Any] | None = None,
    inputs: Sequence[Inputs | Sequence[Any] | Mapping[str, Any]] = (),
    cases: int = 2,
    seed: int = 0,
    root: str | os.PathLike[str] | None = None,
    intermediates: bool = False,
) -> Path:
    """Save `ep` at `path` and record expected values beside it; return the sidecar's path.

    Args:
        ep: A program with its example inputs, as `torch.export.export` returns it, or the result
            of `onnxport.export`, whose exported program is saved.
        path: The `.pt2` file to write.
        module: The module that computes the expected values; by default the program itself. Its
            mode (train or eval) is not changed.
        inputs: Further calls to record: those that enter a branch, or that matter otherwise.
            Each is a tuple of positional arguments, a dict of arguments by name, or an
            `onnxport.Inputs`.
        cases: The number of further sizes of the dynamic dimensions to record besides the traced
            one. If fewer of them run, only those are recorded, with a warning.
        seed: The seed for sizes, values, and random operators inside the program.
        root: Shorten the file names in the program's stack traces, so that the archive does not
            depend on its origin: files under `root` become relative to it, files of
            installed packages begin with the package.
        intermediates: Also write the result of every node of the program in the traced call, to
            `model.intermediates.safetensors`. With it `onnxport bisect model.onnx --against
            model.pt2` finds the first node that diverges from PyTorch.

    Raises:
        SaveError: No example inputs, or the program does not run with `inputs`.
    """
    ep = _exported(ep)
    recorder = _Recorder(ep, module, seed)
    recorded = list(recorder.record(inputs, cases))
    if root is not None:
        shorten_stack_traces(ep, Path(root).resolve())
    guards = _guards.traces(ep)
    if root is not None:
        guards = {text: shortened(trace, Path(root).resolve()) for text, trace in guards.items()}
    ep = flex.dense(ep)
    added = {DIM_NAMES: dim_names(ep), GUARDS: guards}
    files = {name: json.dumps(kept, sort_keys=True) for name, kept in added.items() if kept}
    torch.export.save(ep, path, extra_files=files or None)
    target = sidecar_path(path)
    write(recorded, recorder.output_names, target)
    if intermediates:
        record(ep, recorder.leaves, intermediates_path(path), seed)
    return target


def _exported(program: ExportedProgram | ONNXProgram) -> ExportedProgram:
    """Return the program itself, or that of an `ONNXProgram`."""
    found = getattr(program, "exported_program", program)
    if not isinstance(found, ExportedProgram):
        raise SaveError(f"{type(program).__name__} has no exported program")
    return found


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Tell whether two tensors of one shape hold equal values; NaN equals NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


class _Recorder:
    """Runs a program at the traced size and at other sizes."""

    def __init__(self, ep: ExportedProgram, module: Callable[..., Any] | None, seed: int) -> None:
        if ep.example_inputs is None:
            raise SaveError("the exported program carries no example inputs")
        self.ep = ep
        self.seed = seed
        self.random = random.Random(seed)
        self.program = ep.module()
        self.module = self.program if module is None else module
        self.leaves = flatten_inputs(ep, *ep.example_inputs)
        self.inputs = list(user_inputs(ep))
        self.output_names = output_names(ep)
        self.selections = reference.selections(self.program, len(self.output_names))
        self.traced = self._traced_sizes()
        self.initial = {
            name: buffer.detach().clone() for name, buffer in self.program.named_buffers()
        }
        self.mutated_buffers, self.mutated_inputs = self._mutated()

    def record(self, given: Sequence[Any], cases: int) -> Iterator[Case]:
        """Yield the traced case, the given ones, and `cases` of other sizes."""
        yield self._run("traced", self.leaves)
        for number, call in enumerate(given, 1):
            try:
                yield self._run(f"given-{number}", self._given(call))
            except Exception as error:
                place = f"inputs[{number - 1}]"
                raise SaveError(f"the program does not run with {place}: {error}") from error
        seen = [self.traced]
        for number in range(1, cases + 1 if self.traced else 1):
            case = self._run_other_size(f"size-{number}", seen)
            if case is None:
                return
            yield case

    def _given(self, call: Any) -> list[Any]:
        """Return the leaves of a call of the user's."""
        args, kwargs = (), {}
        if isinstance(call, Inputs):
            args, kwargs = call.args, dict(call.kwargs)
        elif isinstance(call, Mapping):
            kwargs = dict(call)
        elif isinstance(call, Sequence):
            args = tuple(call)
        else:
            args = (call,)
        positional, named = pytree.tree_unflatten(self.leaves, self.ep.call_spec.in_spec)
        for name in (self._argument_names() or ())[len(args) : len(positional)]:
            if name in kwargs:
                args = (*args, kwargs.pop(name))
        if len(args) != len(positional) or kwargs.keys() != named.keys():
            expected = ", ".join([f"{len(positional)} positional", *named])
            raise SaveError(f"the program takes other arguments: {expected}")
        return flatten_inputs(self.ep, args, kwargs)

    def _argument_names(self) -> list[str] | None:
        signature = self.ep.module_call_graph[0].signature
        return None if signature is None else signature.forward_arg_names

    def _run_other_size(self, name: str, seen: list[dict[sympy.Symbol, int | None]]) -> Case | None:
        failure: Exception | None = None
        for _ in range(DRAWS_PER_CASE):
            sizes = self._draw()
            if sizes in seen:
                continue
            seen.append(sizes)
            try:
                return self._run(name, self._resized(sizes))
            except Exception as error:
                failure = error
        ranges = ", ".join(f"{symbol} in {self._bounds(symbol)}" for symbol in self.traced)
        reason = failure or "the ranges hold no other size"
        warnings.warn(
            f"no further size is recorded, as none runs ({ranges}): {reason}", stacklevel=4
        )
        return None

    def _run(self, name: str, leaves: Sequence[Any]) -> Case:
        leaves = _copied(leaves)
        case = Case(name, dict(self._tensors(_copied(leaves))))
        self._check(leaves)
        generator = torch.Generator().manual_seed(self.seed).get_state()
        result, after = self._call(self.module, leaves)
        case.indices, case.kept = self.selections.take()
        case.random = not torch.equal(generator, after)
        case.outputs = _copied(pytree.tree_leaves(result))
        if len(case.outputs) != len(self.output_names):
            raise SaveError(
                f"{len(case.outputs)} outputs, but the program has {len(self.output_names)}"
            )
        buffers = dict(self._buffers(self.module))
        for fqn in self.mutated_buffers:
            if fqn not in buffers:
                raise SaveError(f"the module has no buffer {fqn!r}, which the program mutates")
            case.states[fqn] = buffers[fqn].detach().clone()
        inputs = dict(self._tensors(leaves))
        for placeholder in self.mutated_inputs:
            case.states[placeholder] = inputs[placeholder].detach().clone()
        self._restore()
        return case

    def _call(self, module: Callable[..., Any], leaves: Sequence[Any]) -> tuple[Any, torch.Tensor]:
        """Return the results of a call, and the state of the random numbers afterwards."""
        self._restore()
        args, kwargs = pytree.tree_unflatten(list(leaves), self.ep.call_spec.in_spec)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            return module(*args, **kwargs), torch.get_rng_state()

    def _check(self, leaves: Sequence[Any]) -> None:
        """Raise when sizes violate the program's guards, also where `module` would not."""
        if self.module is not self.program:
            self._call(self.program, _copied(leaves))

    def _mutated(self) -> tuple[list[str], list[str]]:
        """Return the fqns of buffers and the placeholders of inputs that a call writes to."""
        leaves = _copied(self.leaves)
        buffers = dict(self.program.named_buffers())
        inputs = dict(self._tensors(leaves))
        self._restore()
        tensors = (*buffers.values(), *inputs.values())
        before = {id(tensor): (tensor._version, tensor.detach().clone()) for tensor in tensors}
        self._call(self.program, leaves)
        written = set()
        for tensor in tensors:
            version, value = before[id(tensor)]
            # Batch norms update their statistics without counting a version.
            if tensor._version != version or not _same(tensor, value):
                written.add(id(tensor))
        self._restore()
        return (
            [name for name, buffer in buffers.items() if id(buffer) in written],
            [name for name, tensor in inputs.items() if id(tensor) in written],
        )

    def _restore(self) -> None:
        """Put the program's recorded state back into both modules."""
        for module in {id(m): m for m in (self.program, self.module)}.values():
            for name, buffer in self._buffers(module):
                if name in self.initial and not torch.equal(buffer, self.initial[name]):
                    with torch.no_grad():
                        buffer.copy_(self.initial[name])

    @staticmethod
    def _buffers(module: Callable[..., Any]) -> Iterator[tuple[str, torch.Tensor]]:
        if isinstance(module, torch.nn.Module):
            yield from module.named_buffers()

    def _tensors(self, leaves: Sequence[Any]) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield placeholder and value of the inputs that the ONNX model will have."""
        for spec, leaf in zip(self.inputs, leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                yield spec.name, leaf
            elif spec.number is not None:
                yield spec.name, torch.tensor(leaf)

    def _traced_sizes(self) -> dict[sympy.Symbol, int | None]:
        """Return the traced value of every symbol in the inputs."""
        sizes: dict[sympy.Symbol, int | None] = {}
        for spec, leaf in zip(self.inputs, self.leaves, strict=True):
            values = (*leaf.shape,) if isinstance(leaf, torch.Tensor) else (leaf,)
            for expression, value in zip(spec.expressions(), values, strict=False):
                for symbol in expression.free_symbols:
                    sizes.setdefault(symbol, None)
                if len(expression.free_symbols) == 1:
                    (symbol,) = expression.free_symbols
                    if sizes[symbol] is None:
                        sizes[symbol] = solve(expression, symbol, value)
        return sizes

    def _bounds(self, symbol: sympy.Symbol) -> tuple[int, int]:
        """Return the inclusive range to draw from: the program's own, kept small."""
        span = self.ep.range_constraints[symbol]
        low = max(1, int(span.lower))
        high = max(2 * (self.traced[symbol] or 1), low) + 3
        return low, int(span.upper) if span.upper < high else high

    def _draw(self) -> dict[sympy.Symbol, int | None]:
        """Return a value for every symbol, different ones where the ranges allow."""
        sizes: dict[sympy.Symbol, int | None] = {}
        for symbol, traced in self.traced.items():
            low, high = self._bounds(symbol)
            values = range(low, high + 1)
            fresh = [n for n in values if n != traced and n not in sizes.values()]
            sizes[symbol] = self.random.choice(fresh or list(values))
        return sizes

    def _resized(self, sizes: Mapping[sympy.Symbol, int | None]) -> list[Any]:
        """Return the example inputs at other sizes."""
        generator = torch.Generator().manual_seed(self.random.getrandbits(32))
        leaves: list[Any] = []
        for spec, leaf in zip(self.inputs, self.leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                shape = [int(expression.subs(sizes)) for expression in spec.shape]
                leaves.append(_resize(leaf, shape, generator))
            elif spec.number is not None:
                leaves.append(int(spec.number.subs(sizes)))
            else:
                leaves.append(leaf)
        return leaves


def _copied(leaves: Sequence[Any]) -> list[Any]:
    return [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _resize(tensor: torch.Tensor, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    """Return a tensor of `shape`: tiled integers, or random floats of the same distribution."""
    if list(tensor.shape) == shape:
        return tensor
    if not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel():
        for dim, size in enumerate(shape):
            old = tensor.shape[dim]
            if old != size:
                tensor = (
                    tensor.index_select(dim, torch.arange(size) % old)
                    if old
                    else tensor.new_zeros([*tensor.shape[:dim], size, *tensor.shape[dim + 1 :]])
                )
        return tensor
    if tensor.is_complex():
        parts = torch.view_as_real(tensor)
        return torch.view_as_complex(_resize(parts, [*shape, 2], generator))
    values = tensor.double()
    values = values[values.isfinite()]
    mean = values.mean() if values.numel() else 0.0
    std = values.std(correction=0) if values.numel() else 1.0
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (drawn * std + mean).to(tensor.dtype)
