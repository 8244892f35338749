"""Write an exported program together with the values that its ONNX form must reproduce.

The sidecar is a safetensors file beside the `.pt2`. Its `__metadata__` holds

- `format`: `onnxport-expected/1`;
- `cases`: a JSON list of `{"name", "inputs", "outputs", "states", "random"}`. `inputs` are
  placeholder names, `outputs` has one entry for each flattened user output (its name in the
  program, empty for a constant number, null for what is no number), `states` are the names of what
  the call mutates;
  `random` is true where the call drew random numbers, so that no other run gives its values;
- `complex`: a JSON list of the keys whose complex tensor is stored as real and imaginary parts in
  a trailing dimension of 2.

Keys are `<case>/input/<placeholder>` (values before the call), `<case>/output/<position>` and
`<case>/state/<buffer fqn or placeholder>` (values after the call). Python numbers are 0-d tensors:
int64, float64 or bool.

The names of `Dim`, which PyTorch does not save, go into the archive: its extra file
`onnxport.dims.json` is a JSON object of names by symbols.
"""

from __future__ import annotations

import json
import os
import random
import re
import warnings
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
DIM_NAMES = "onnxport.dims.json"
DRAWS_PER_CASE = 64


class SaveError(RuntimeError):
    """The program cannot be recorded: it has no example inputs, or does not run with given ones."""


class Inputs:
    """The inputs of one call, as it is written: `Inputs(x, mask, scale=2.0)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs


@dataclass
class Case:
    """One recorded call; leaves are in the program's flattened order."""

    name: str
    inputs: dict[str, torch.Tensor]
    outputs: list[Any] = field(default_factory=list)
    states: dict[str, torch.Tensor] = field(default_factory=dict)
    random: bool = False


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
    inputs: Sequence[Inputs | Sequence[Any] | Mapping[str, Any]] = (),
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
        inputs: Calls of your own to record: those that enter a branch, or that matter otherwise.
            Each is a tuple of positional arguments, a dict of arguments by name, or an
            `onnxport.Inputs`.
        cases: How many further sizes of the dynamic dimensions to record besides the traced one.
            Where fewer run, what runs is recorded, and a warning says so.
        seed: Decides sizes and values, also for random operators inside the program.
        root: Shorten the file names in the program's stack traces, so that the archive does not
            depend on where it was made: files under `root` become relative to it, files of
            installed packages begin with the package.

    Raises:
        SaveError: No example inputs, or the program does not run with `inputs`.
    """
    recorder = _Recorder(ep, module, seed)
    recorded = list(recorder.record(inputs, cases))
    if root is not None:
        _shorten_stack_traces(ep, Path(root).resolve())
    names = _dim_names(ep)
    extra_files = {DIM_NAMES: json.dumps(names, sort_keys=True)} if names else None
    torch.export.save(ep, path, extra_files=extra_files)
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
        return _flatten_inputs(self.ep, args, kwargs)

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
            f"no further size is recorded, as none runs ({ranges}): {reason}", stacklevel=5
        )
        return None

    def _run(self, name: str, leaves: Sequence[Any]) -> Case:
        leaves = _copied(leaves)
        case = Case(name, dict(self._tensors(_copied(leaves))))
        self._check(leaves)
        generator = torch.Generator().manual_seed(self.seed).get_state()
        result, after = self._call(self.module, leaves)
        case.random = not torch.equal(generator, after)
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
        inputs = dict(self._tensors(leaves))
        for placeholder in self.mutated_inputs:
            case.states[placeholder] = inputs[placeholder].detach().clone()
        self._restore()
        return case

    def _call(self, module: Callable[..., Any], leaves: Sequence[Any]) -> tuple[Any, torch.Tensor]:
        """Return what a call gives, and the state of the random numbers afterwards."""
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


def _dim_names(ep: ExportedProgram) -> dict[str, str]:
    """Return the names that the user gave to dimensions, by symbol; a loaded program has none."""
    values = (node.meta.get("val") for node in ep.graph.find_nodes(op="placeholder"))
    mode = next((value.fake_mode for value in values if hasattr(value, "fake_mode")), None)
    shape_env = getattr(mode, "shape_env", None)
    # PyTorch keeps them for its error messages, and not in a documented place.
    given = getattr(shape_env, "source_name_to_debug_name", {})
    symbols = getattr(shape_env, "source_to_var", {})
    names: dict[str, str] = {}
    for source, name in given.items():
        symbol = shape_env.replace(symbols[source]) if source in symbols else None
        if isinstance(symbol, sympy.Symbol) and name.isidentifier():
            names.setdefault(str(symbol), name)
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
                "random": case.random,
            }
        )
    metadata = {
        "format": SIDECAR_FORMAT,
        "cases": json.dumps(described),
        "complex": json.dumps(complex_keys),
    }
    safetensors.torch.save_file(tensors, path, metadata)
