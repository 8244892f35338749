"""Cases of single operators: `case("aten.add.Tensor", lambda x, y: x + y, f32(3, 4), f32(4))`.

A case is exported, saved with its expected values, converted by the binary and run in ONNX Runtime.
It fails as well when the exported graph does not hold the operator that it names, and when op sets
that are loaded make another model than those that are linked in (see `tests.python.loaded`).
"""

from __future__ import annotations

import inspect
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils._pytree as pytree
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

import onnxport
from tests.python import known_failures
from tests.python.loaded import convert_both
from tests.python.onnx_runtime import TOLERANCES, check_model, read_cases, run_cases, scratch

KNOWN_FAILURES = Path(__file__).with_name("known_failures.toml")
# A single operator differs by rounding alone, unlike a whole model.
OPERATOR_TOLERANCES = {**TOLERANCES, torch.float32: (1e-5, 1e-6)}
UNINITIALISED = ("aten.empty", "aten.new_empty")


@dataclass(frozen=True)
class Random:
    """A tensor to draw: uniform in `[low, high)`, integers likewise, bools fair."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    low: float
    high: float

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return the tensor."""
        if self.dtype is torch.bool:
            return torch.rand(self.shape, generator=generator) < 0.5
        if not (self.dtype.is_floating_point or self.dtype.is_complex):
            low, high = int(self.low), int(self.high)
            values = torch.randint(low, high, self.shape, generator=generator)
            return values.to(self.dtype)
        if self.dtype.is_complex:
            real, imaginary = torch.randn(2, *self.shape, generator=generator).unbind()
            return torch.complex(real, imaginary).to(self.dtype)
        values = torch.rand(self.shape, generator=generator, dtype=torch.float64)
        return (values * (self.high - self.low) + self.low).to(self.dtype)


def f32(*shape: int, low: float = -2.0, high: float = 2.0) -> Random:
    """Describe a float32 input."""
    return Random(torch.float32, shape, low, high)


def f64(*shape: int, low: float = -2.0, high: float = 2.0) -> Random:
    """Describe a float64 input."""
    return Random(torch.float64, shape, low, high)


def f16(*shape: int, low: float = -2.0, high: float = 2.0) -> Random:
    """Describe a float16 input."""
    return Random(torch.float16, shape, low, high)


def c64(*shape: int) -> Random:
    """Describe a complex64 input, normal in both parts."""
    return Random(torch.complex64, shape, 0, 0)


def c128(*shape: int) -> Random:
    """Describe a complex128 input, normal in both parts."""
    return Random(torch.complex128, shape, 0, 0)


def i64(*shape: int, low: int = -9, high: int = 10) -> Random:
    """Describe an int64 input."""
    return Random(torch.int64, shape, low, high)


def i32(*shape: int, low: int = -9, high: int = 10) -> Random:
    """Describe an int32 input."""
    return Random(torch.int32, shape, low, high)


def u8(*shape: int, low: int = 0, high: int = 256) -> Random:
    """Describe a uint8 input."""
    return Random(torch.uint8, shape, low, high)


def boolean(*shape: int) -> Random:
    """Describe a bool input."""
    return Random(torch.bool, shape, 0, 2)


@dataclass(frozen=True)
class OpCase:
    """One call of one operator."""

    op: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    dynamic: Any
    id: str
    tolerance: float
    options: tuple[str, ...]

    def run(self) -> None:
        """Export, convert and compare; raise on any difference."""
        generator = torch.Generator().manual_seed(zlib.crc32(self.id.encode()))
        inputs = pytree.tree_map(
            lambda leaf: leaf.draw(generator) if isinstance(leaf, Random) else leaf, self.inputs
        )
        shapes = self.dynamic
        if shapes is True:
            shapes = pytree.tree_map(every_dim, inputs)
        program = export(self.function, inputs, shapes)
        if self.op not in targets(program):
            held = ", ".join(sorted(targets(program)))
            pytest.fail(f"the program does not hold {self.op} but {held}")
        round_trip(program, self.tolerance, self.options)


def case(
    op: str,
    function: Callable[..., Any],
    *inputs: Any,
    dynamic: Any = None,
    id: str = "",
    tolerance: float = 1.0,
    options: Sequence[str] = (),
) -> OpCase:
    """Describe one call of `op` (as `aten.add.Tensor`).

    Args:
        op: The overload that the exported graph must hold.
        function: A function or a module; its parameters name the inputs.
        inputs: Tensors, descriptions such as `f32(3, 4)`, and lists or dicts of them.
        dynamic: `dynamic_shapes` of `torch.export.export`, or True for every dimension above 1.
        id: Tells cases of one operator apart; a number by default.
        tolerance: Multiplies the tolerances of the comparison.
        options: More arguments of `onnxport convert`, such as `("--opset", "18")`.
    """
    return OpCase(op, function, inputs, dynamic, id, tolerance, tuple(options))


def suite(file: str, cases: Sequence[OpCase]) -> Callable[..., None]:
    """Return the test function of a file, which names it `test_ops`."""
    stem = Path(file).stem.removeprefix("test_")
    known = known_failures.load(KNOWN_FAILURES)["cases"]
    known = {name: known[name] for name in known if name.startswith(f"{stem}/")}
    seen: Counter[str] = Counter()
    names = []
    for entry in cases:
        seen[entry.op] += 1
        suffix = entry.id or (str(seen[entry.op]) if seen[entry.op] > 1 else "")
        names.append(f"{entry.op}-{suffix}" if suffix else entry.op)
    if strays := known_failures.strays(known, {f"{stem}/{name}" for name in names}):
        raise ValueError(f"known failures that name no case: {', '.join(sorted(strays))}")
    parameters = [
        pytest.param(entry, id=name, marks=known_failures.marks(known, f"{stem}/{name}"))
        for entry, name in zip(cases, names, strict=True)
    ]

    @pytest.mark.parametrize("op_case", parameters)
    def test_ops(op_case: OpCase) -> None:
        op_case.run()

    return test_ops


def every_dim(leaf: Any) -> Any:
    """Return a spec that makes every dimension above 1 dynamic where the operator permits."""
    if isinstance(leaf, Tensor):
        return {dim: Dim.AUTO for dim, size in enumerate(leaf.shape) if size > 1}
    return None


def export(function: Callable[..., Any], inputs: Any, shapes: Any = None) -> ExportedProgram:
    """Return the program of one call; a plain function becomes the forward of a module."""
    module = function
    if not isinstance(function, nn.Module):
        module = nn.Module()
        module.forward = with_signature(function, len(inputs))
    return torch.export.export(module.eval(), inputs, dynamic_shapes=shapes, strict=False)


def with_signature(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function whose parameters have names, also for a built-in function."""
    try:
        inspect.signature(function)
    except ValueError:
        parameters = [
            inspect.Parameter(f"x{index}", inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for index in range(count)
        ]

        def forward(*args: Any) -> Any:
            return function(*args)

        forward.__signature__ = inspect.Signature(parameters)
        return forward
    return function


def overloads(program: ExportedProgram) -> Iterator[Any]:
    """Yield the target of every call, also inside subgraphs."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from (node.target for node in module.graph.nodes if node.op == "call_function")


def targets(program: ExportedProgram) -> set[str]:
    """Return the names of a program's operators, spelled as `aten.add.Tensor`."""
    names = set()
    for target in overloads(program):
        if isinstance(target, torch._ops.HigherOrderOperator):
            names.add(f"higher_order.{target.name()}")
        elif isinstance(target, torch._ops.OpOverload):
            names.add(str(target))
        else:
            names.add(f"{target.__module__}.{target.__name__}")
    return names


def has_fixed_values(program: ExportedProgram) -> bool:
    """Tell whether two runs give equal values: nothing random and no uninitialised memory."""
    return not any(
        torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())
        or str(target).startswith(UNINITIALISED)
        for target in overloads(program)
    )


def round_trip(
    program: ExportedProgram, tolerance: float = 1.0, options: Sequence[str] = ()
) -> None:
    """Save, convert, check and run a program; compare with PyTorch's results.

    Random and uninitialised values are compared in dtype and shape only.
    """
    with scratch() as folder:
        archive = Path(folder, "op.pt2")
        model = archive.with_suffix(".onnx")
        onnxport.save(program, archive)
        convert_both(archive, model, *options)
        check_model(model)
        scale = tolerance if has_fixed_values(program) else float("inf")
        run_cases(model, list(read_cases(archive)), scale, OPERATOR_TOLERANCES)
