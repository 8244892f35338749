"""The inputs, outputs and dimensions of an exported program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind


class SaveError(RuntimeError):
    """The program cannot be recorded: it has no example inputs, or does not run with given ones."""


@dataclass(frozen=True)
class UserInput:
    """A user input of the program: its placeholder and, per dimension, an int or an expression."""

    name: str
    shape: tuple[sympy.Expr, ...]
    number: sympy.Expr | None

    def expressions(self) -> tuple[sympy.Expr, ...]:
        """Return every expression whose value a size assignment decides."""
        return self.shape if self.number is None else (*self.shape, self.number)


def shorten_stack_traces(ep: ExportedProgram, root: Path) -> None:
    """Rewrite the file names in the stack traces of every node, also in subgraphs."""
    for graph_module in ep.graph_module.modules():
        if isinstance(graph_module, torch.fx.GraphModule):
            for node in graph_module.graph.nodes:
                if trace := node.meta.get("stack_trace"):
                    node.meta["stack_trace"] = shortened(trace, root)


def shortened(trace: str, root: Path) -> str:
    """Return a stack trace whose files under `root` and in installed packages are relative."""
    trace = re.sub(r'File "[^"]*/(?:site|dist)-packages/', 'File "', trace)
    trace = trace.replace(f'File "{root}{os.sep}', 'File "')
    return trace.replace(f'File "{Path(os.__file__).parent}/', 'File "')


def user_inputs(ep: ExportedProgram) -> Iterator[UserInput]:
    """Yield the program's user inputs in flattened order."""
    values = {node.name: node.meta.get("val") for node in ep.graph.find_nodes(op="placeholder")}
    for spec in ep.graph_signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT:
            continue
        value = values.get(spec.arg.name)
        shape: tuple[sympy.Expr, ...] = ()
        number = None
        if isinstance(value, torch.Tensor):
            shape = tuple(expression(size) for size in value.shape)
        elif isinstance(value, torch.SymInt):
            number = expression(value)
        yield UserInput(spec.arg.name, shape, number)


def output_names(ep: ExportedProgram) -> list[str | None]:
    """Return the name of each flattened user output, None for outputs that are not numbers."""
    names: list[str | None] = []
    for spec in ep.graph_signature.output_specs:
        if spec.kind is OutputKind.USER_OUTPUT:
            constant = getattr(spec.arg, "value", 0)
            numeric = isinstance(constant, (bool, int, float))
            names.append(spec.arg.name if numeric else None)
    return names


def shape_env(ep: ExportedProgram) -> Any:
    """Return the environment of the symbols in a program; None for one without symbols."""
    values = (node.meta.get("val") for node in ep.graph.find_nodes(op="placeholder"))
    mode = next((value.fake_mode for value in values if hasattr(value, "fake_mode")), None)
    return getattr(mode, "shape_env", None)


def dim_names(ep: ExportedProgram) -> dict[str, str]:
    """Return the names that the user gave to dimensions, by symbol; a loaded program has none."""
    env = shape_env(ep)
    # PyTorch keeps them for its error messages, in an undocumented place.
    given = getattr(env, "source_name_to_debug_name", {})
    symbols = getattr(env, "source_to_var", {})
    names: dict[str, str] = {}
    for source, name in given.items():
        symbol = env.replace(symbols[source]) if source in symbols else None
        if isinstance(symbol, sympy.Symbol) and name.isidentifier():
            names.setdefault(str(symbol), name)
    return names


def expression(size: int | torch.SymInt) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def solve(expression: sympy.Expr, symbol: sympy.Symbol, value: int) -> int | None:
    if expression == symbol:
        return value
    free = sympy.Symbol("n")
    solutions = sympy.solve(expression.subs(symbol, free) - value, free)
    return int(solutions[0]) if solutions and solutions[0].is_Integer else None


def flatten_inputs(ep: ExportedProgram, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
    """Return the leaves of a call in the program's order, keyword arguments as it names them."""
    names = pytree.tree_unflatten([None] * ep.call_spec.in_spec.num_leaves, ep.call_spec.in_spec)[
        1
    ].keys()
    leaves, spec = pytree.tree_flatten((tuple(args), {name: kwargs[name] for name in names}))
    if spec.num_leaves != ep.call_spec.in_spec.num_leaves:
        raise SaveError("the example inputs do not have the structure of the program's inputs")
    return leaves
