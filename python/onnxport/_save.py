"""Write an exported program together with the values that its ONNX form must reproduce.

The sidecar is a safetensors file beside the `.pt2`. Its `__metadata__` holds

- `format`: `onnxport-expected/1`;
- `cases`: a JSON list of `{"name", "inputs", "outputs", "states"}`. `inputs` are placeholder names,
  `outputs` has one entry for each flattened user output (its name in the program, empty for a
  constant number, null for what is no number), `states` are the names of what the call mutates;
- `complex`: a JSON list of the keys whose complex tensor is stored as real and imaginary parts in
  a trailing dimension of 2.

Keys are `<case>/input/<placeholder>` (values before the call), `<case>/output/<position>` and
`<case>/state/<buffer fqn or placeholder>` (values after the call). Python numbers are 0-d tensors:
int64, float64 or bool.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import sympy
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

SIDECAR_FORMAT = "onnxport-expected/1"
DRAWS_PER_CASE = 64


class SaveError(RuntimeError):
    """The program cannot be recorded: it has no example inputs, or no other size runs."""


@dataclass
class Case:
    """One recorded call; leaves are in the program's flattened order."""

    name: str
    inputs: dict[str, torch.Tensor]
    outputs: list[Any] = field(default_factory=list)
    states: dict[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class UserInput:
    """A user input of the program: its placeholder and, per dimension, an int or an expression."""

    name: str
    shape: tuple[sympy.Expr, ...]
    number: sympy.Expr | None

    def expressions(self) -> tuple[sympy.Expr, ...]:
        """Return every expression whose value a size assignment decides."""
        return self.shape if self.number is None else (*self.shape, self.number)


def sidecar_path(path: str | os.PathLike[str]) -> Path:
    """Return where the expected values of the archive at `path` lie."""
    return Path(path).with_suffix(".expected.safetensors")


def save(
    ep: ExportedProgram,
    path: str | os.PathLike[str],
    *,
    module: Callable[..., Any] | None = None,
    cases: int = 2,
    seed: int = 0,
    root: str | os.PathLike[str] | None = None,
) -> Path:
    """Save `ep` at `path` and record expected values beside it; return the sidecar's path.

    Args:
        ep: A program that carries its example inputs, as `torch.export.export` makes it.
        path: The `.pt2` file to write.
        module: What computes the expected values; by default the program itself. A module's mode
            (train or eval) is left as it is.
        cases: How many further sizes of the dynamic dimensions to record besides the traced one.
        seed: Decides sizes and values, also for random operators inside the program.
        root: Shorten the file names in the program's stack traces, so that the archive does not
            depend on where it was made: files under `root` become relative to it, files of
            installed packages begin with the package.

    Raises:
        SaveError: No example inputs, or no drawn size satisfies the program's guards.
    """
    recorder = _Recorder(ep, module, seed)
    recorded = list(recorder.record(cases))
    if root is not None:
        _shorten_stack_traces(ep, Path(root).resolve())
    torch.export.save(ep, path)
    target = sidecar_path(path)
    _write(recorded, recorder.output_names, target)
    return target


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
        self.leaves = _flatten_inputs(ep, *ep.example_inputs)
        self.inputs = list(_user_inputs(ep))
        self.output_names = _output_names(ep)
        self.traced = self._traced_sizes()
        self.initial = {
            name: buffer.detach().clone() for name, buffer in self.program.named_buffers()
        }
        self.mutated_buffers, self.mutated_inputs = self._mutated()

    def record(self, cases: int) -> Iterator[Case]:
        """Yield the traced case and `cases` further ones (none when nothing is dynamic)."""
        yield self._run("traced", self.leaves)
        seen = [self.traced]
        for number in range(1, cases + 1 if self.traced else 1):
            yield self._run_other_size(f"size-{number}", seen)

    def _run_other_size(self, name: str, seen: list[dict[sympy.Symbol, int | None]]) -> Case:
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
        raise SaveError(f"no size other than the traced one runs ({ranges}): {reason}")

    def _run(self, name: str, leaves: Sequence[Any]) -> Case:
        leaves = _copied(leaves)
        case = Case(name, dict(self._tensors(_copied(leaves))))
        self._check(leaves)
        result = self._call(self.module, leaves)
        case.outputs = _copied(pytree.tree_leaves(result))
        if len(case.outputs) != len(self.output_names):
            raise SaveError(
                f"{len(case.outputs)} outputs where the program has {len(self.output_names)}"
            )
        buffers = dict(self._buffers(self.module))
        for fqn in self.mutated_buffers:
            if fqn not in buffers:
                raise SaveError(f"the module has no buffer {fqn!r}, which the program mutates")
            case.states[fqn] = buffers[fqn].detach().clone()
        after = dict(self._tensors(leaves))
        for placeholder in self.mutated_inputs:
            case.states[placeholder] = after[placeholder].detach().clone()
        self._restore()
        return case

    def _call(self, module: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        self._restore()
        args, kwargs = pytree.tree_unflatten(list(leaves), self.ep.call_spec.in_spec)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            return module(*args, **kwargs)

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
                        sizes[symbol] = _solve(expression, symbol, value)
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


def _shorten_stack_traces(ep: ExportedProgram, root: Path) -> None:
    """Rewrite the file names in the stack traces of every node, also in subgraphs."""
    installed = re.compile(r'File "[^"]*/(?:site|dist)-packages/')
    library = re.compile(rf'File "{re.escape(str(Path(os.__file__).parent))}/')
    for graph_module in ep.graph_module.modules():
        if isinstance(graph_module, torch.fx.GraphModule):
            for node in graph_module.graph.nodes:
                if trace := node.meta.get("stack_trace"):
                    trace = installed.sub('File "', trace)
                    trace = trace.replace(f'File "{root}{os.sep}', 'File "')
                    node.meta["stack_trace"] = library.sub('File "', trace)


def _user_inputs(ep: ExportedProgram) -> Iterator[UserInput]:
    """Yield the program's user inputs in flattened order."""
    values = {node.name: node.meta.get("val") for node in ep.graph.find_nodes(op="placeholder")}
    for spec in ep.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            continue
        value = values.get(spec.arg.name)
        shape: tuple[sympy.Expr, ...] = ()
        number = None
        if isinstance(value, torch.Tensor):
            shape = tuple(_expression(size) for size in value.shape)
        elif isinstance(value, torch.SymInt):
            number = _expression(value)
        yield UserInput(spec.arg.name, shape, number)


def _output_names(ep: ExportedProgram) -> list[str | None]:
    """Return the name of each flattened user output, None for outputs that are no number."""
    names: list[str | None] = []
    for spec in ep.graph_signature.output_specs:
        if spec.kind is OutputKind.USER_OUTPUT:
            constant = getattr(spec.arg, "value", 0)
            numeric = isinstance(constant, (bool, int, float))
            names.append(spec.arg.name if numeric else None)
    return names


def _expression(size: int | torch.SymInt) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _solve(expression: sympy.Expr, symbol: sympy.Symbol, value: int) -> int | None:
    if expression == symbol:
        return value
    free = sympy.Symbol("n")
    solutions = sympy.solve(expression.subs(symbol, free) - value, free)
    return int(solutions[0]) if solutions and solutions[0].is_Integer else None


def _flatten_inputs(ep: ExportedProgram, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
    """Return the leaves of a call in the program's order, keyword arguments as it names them."""
    names = pytree.tree_unflatten([None] * ep.call_spec.in_spec.num_leaves, ep.call_spec.in_spec)[
        1
    ].keys()
    leaves, spec = pytree.tree_flatten((tuple(args), {name: kwargs[name] for name in names}))
    if spec.num_leaves != ep.call_spec.in_spec.num_leaves:
        raise SaveError("the example inputs do not have the structure of the program's inputs")
    return leaves


def _copied(leaves: Sequence[Any]) -> list[Any]:
    return [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _resize(tensor: torch.Tensor, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    """Return a tensor of `shape`: recorded integers tiled, floats drawn with their mean and std."""
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


def _write(cases: Sequence[Case], output_names: Sequence[str | None], path: Path) -> None:
    """Write the sidecar."""
    tensors: dict[str, torch.Tensor] = {}
    complex_keys: list[str] = []

    def put(key: str, value: torch.Tensor) -> None:
        value = value.detach().cpu()
        if value.is_complex():
            complex_keys.append(key)
            value = torch.view_as_real(value.resolve_conj())
        tensors[key] = value.contiguous().clone()

    described = []
    for case in cases:
        for name, value in case.inputs.items():
            put(f"{case.name}/input/{name}", value)
        for index, value in enumerate(case.outputs):
            if isinstance(value, torch.Tensor):
                put(f"{case.name}/output/{index}", value)
            elif isinstance(value, (bool, int, float)):
                dtype = torch.float64 if isinstance(value, float) else None
                put(f"{case.name}/output/{index}", torch.tensor(value, dtype=dtype))
        for name, value in case.states.items():
            put(f"{case.name}/state/{name}", value)
        described.append(
            {
                "name": case.name,
                "inputs": list(case.inputs),
                "outputs": list(output_names),
                "states": list(case.states),
            }
        )
    metadata = {
        "format": SIDECAR_FORMAT,
        "cases": json.dumps(described),
        "complex": json.dumps(complex_keys),
    }
    safetensors.torch.save_file(tensors, path, metadata)
