"""A generated program: statements in Python, and how they become a module, arguments and sizes."""

from __future__ import annotations

import dataclasses
import linecache
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

Sizes = Mapping[str, int]

# The variables of a program: inputs, buffers and those that statements set.
_NAME = re.compile(r"self\.b\d+\b|\b[vx]\d+\b")
_TARGET = re.compile(r"(v\d+) = ")


@dataclass(frozen=True)
class Variable:
    """An input or a buffer. `dims` are sizes or their names; that of an `int` names its value."""

    name: str
    dims: tuple[str | int, ...]
    dtype: torch.dtype | type[int]

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape at some sizes."""
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)

    def value(self, sizes: Sizes, generator: torch.Generator) -> Tensor | int:
        """Draw a value that sums represent exactly.

        Floating-point numbers are eighths from -2 to 2, integers from -2 to 1.
        """
        shape = self.shape(sizes)
        if self.dtype is int:
            return shape[0]
        if self.dtype is torch.bool:
            return torch.randint(0, 2, shape, generator=generator).bool()
        if self.dtype.is_floating_point:
            return torch.randint(-16, 17, shape, generator=generator).to(self.dtype) / 8
        return torch.randint(-2, 2, shape, generator=generator).to(self.dtype)


@dataclass(frozen=True)
class Program:
    """A module as data. `lines` are statements, each of one or several lines of Python."""

    seed: int
    sizes: Sizes
    named: bool
    inputs: tuple[Variable, ...]
    buffers: tuple[Variable, ...] = ()
    lines: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    is_of_calls: bool = False

    def replace(self, **changed: Any) -> Program:
        """Return a copy with some changes."""
        return dataclasses.replace(self, **changed)

    def source(self, returned: str | None = None) -> str:
        """Return the module as Python, also with another result."""
        body = [*self.lines, f"return {returned or ''.join(f'{one}, ' for one in self.returned)}"]
        lines = ["class Generated(nn.Module):"]
        if self.buffers:
            lines += ["    def __init__(self):", "        super().__init__()"]
            for one in self.buffers:
                made = f"torch.zeros({one.dims}, dtype={one.dtype})"
                lines.append(f'        self.register_buffer("{one.name[5:]}", {made})')
            lines.append("")
        names = "".join(f", {one.name}" for one in self.inputs)
        lines.append(f"    def forward(self{names}):")
        lines += [textwrap.indent(line, " " * 8) for line in body]
        return "\n".join(lines) + "\n"

    def module(self, control: Mapping[str, Any], returned: str | None = None) -> nn.Module:
        """Return the module, whose source Python can show, with its operators of control flow."""
        source = self.source(returned)
        file = f"<generated {self.seed}>"
        scope = {"F": torch.nn.functional, "nn": nn, "torch": torch, **control}
        exec(compile(source, file, "exec"), scope)
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        return scope["Generated"]().eval()

    def args(self, sizes: Sizes, step: int = 0) -> tuple[Any, ...]:
        """Return the arguments of a call."""
        generator = torch.Generator().manual_seed(self.seed * 31 + step)
        return tuple(one.value(sizes, generator) for one in self.inputs)

    def dynamic_shapes(self) -> tuple[Any, ...]:
        """Return the dynamic dimensions: with names, or as PyTorch finds them."""
        return tuple(
            Dim.AUTO
            if one.dtype is int
            else {
                axis: dim if self.named else Dim.AUTO
                for axis, dim in enumerate(one.dims)
                if isinstance(dim, str)
            }
            for one in self.inputs
        )

    def reproduced(self) -> str:
        """Return the program with everything needed to run it."""
        at = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        of = "; ".join(f"{one.name}: {_dtype(one.dtype)}{list(one.dims)}" for one in self.inputs)
        kind = "names" if self.named else "Dim.AUTO"
        flag = " --calls" if self.is_of_calls else ""
        again = f"python -m tests.python.generated {self.seed}{flag}"
        return f"{self.source()}\n# {of}; traced at {at}; dynamic by {kind}\n# {again}\n"


def names(text: str) -> list[str]:
    """Return the variables that a statement names, in order."""
    return list(dict.fromkeys(_NAME.findall(text)))


def target(line: str) -> str | None:
    """Return the variable that a statement sets."""
    found = _TARGET.match(line)
    return found and found[1]


def renamed(text: str, old: str, new: str) -> str:
    """Return a statement with another variable."""
    return _NAME.sub(lambda found: new if found[0] == old else found[0], text)


def used(program: Program) -> set[str]:
    """Return the variables that statements read or write, and results."""
    read: set[str] = set(program.returned)
    for line in program.lines:
        own = target(line)
        read |= {name for name in names(line) if name != own}
    return read


def without_unused(program: Program) -> Program:
    """Drop inputs and buffers that nothing names, but not the last input."""
    read = used(program)
    inputs = _kept(program.inputs, read) or program.inputs[:1]
    return program.replace(inputs=inputs, buffers=_kept(program.buffers, read))


def _kept(variables: Iterable[Variable], read: set[str]) -> tuple[Variable, ...]:
    return tuple(one for one in variables if one.name in read)


def _dtype(dtype: Any) -> str:
    return dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")


def flat(values: Sequence[Any]) -> list[Any]:
    """Return values as tensors where they are numbers, as a model returns them."""
    return [one if isinstance(one, Tensor) else torch.tensor(one) for one in values]
