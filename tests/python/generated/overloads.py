"""Draws calls of overloads from the list of ATen's schemas, with arguments by types and names."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.python.generated.scope import Kind, NothingFits, Scope

SCHEMAS = Path(__file__).parents[3] / "plugins" / "aten" / "schemas.txt"
# Overloads that no program calls on a CPU, that read memory without a check, or that draw numbers.
_LEFT_OUT = re.compile(
    r"^_|cudnn|miopen|mkldnn|mps|quant|sparse|nested|empty|resize|^set_|^as_strided|rand|bernoulli"
    r"|dropout|multinomial|normal_?$|poisson|^cauchy|^exponential|^geometric|^log_normal|^uniform"
    r"|^rrelu|to_|^sym_|^storage|^data|pin_memory|record|^is_|names|backward|grad|^copy$|^lift"
    r"|^result_type|^can_cast|^promote|^size$|^stride$|^equal$|^item$|fft|^special_|^alias|ctc"
)
_AXIS = re.compile(r"^(dim\d?|axis\d?|start_dim|end_dim|source|destination|axis)$")


@functools.cache
def overloads() -> tuple[Any, ...]:
    """Return the overloads of the list that programs can call, in its order."""
    found = []
    for line in SCHEMAS.read_text().splitlines():
        match = re.match(r"aten::(\w+)\.(\w+)\(", line)
        if not match or _LEFT_OUT.search(match[1]):
            continue
        packet = getattr(torch.ops.aten, match[1], None)
        overload = getattr(packet, match[2], None) if packet else None
        if overload is None or torch.Tag.nondeterministic_seeded in overload.tags:
            continue
        if not any(one.is_out for one in overload._schema.arguments):
            found.append(overload)
    return tuple(found)


def call(s: Scope) -> str:
    """Return a statement that calls a random overload."""
    overload = s.rng.choice(overloads())
    schema = overload._schema
    operands: list[str] = []
    given = []
    for one in schema.arguments:
        if one.has_default_value() and s.rng.random() < 0.4:
            continue
        text = _argument(s, str(one.type), one.name, operands)
        if text is None:
            if one.has_default_value():
                continue
            raise NothingFits
        given.append(f"{one.name}={text}" if one.kwarg_only else (one.name, text))
    text = f"torch.ops.aten.{overload._schema.name[6:]}.{overload._overloadname}"
    return f"{s.new} = {text}({', '.join(_written(given))}){_part(s, schema.returns)}"


CALLS = [Kind(1, call)]


def _written(given: list[Any]) -> list[str]:
    """Return arguments by their names, except for the first one."""
    found = []
    for index, one in enumerate(given):
        if isinstance(one, str):
            found.append(one)
        else:
            name, text = one
            # `self` and the like cannot be keywords of every call.
            found.append(text if index == 0 or name in ("self", "from") else f"{name}={text}")
    return found


def _part(s: Scope, returns: Any) -> str:
    """Return an index into the results."""
    if not returns:
        raise NothingFits
    if len(returns) > 1:
        return f"[{s.rng.randrange(len(returns))}]"
    kind = str(returns[0].type)
    return f"[{s.pick('0', '-1')}]" if kind.startswith("List") else ""


def _argument(s: Scope, kind: str, name: str, operands: list[str]) -> str | None:
    """Return an argument of a type, `None` for one that is left out."""
    kind = re.sub(r"^Optional\[(.*)\]$", r"\1", kind)
    if name in ("layout", "device", "memory_format", "pin_memory", "generator"):
        return None
    if name.endswith("dtype"):
        return f"torch.{s.pick('float32', 'int64', 'float64', 'bool', 'int32')}"
    if kind == "Tensor":
        operands.append(_tensor(s, name, operands))
        return operands[-1]
    if kind == "List[Tensor]":
        count = s.number(1, 3)
        return f"[{', '.join(_tensor(s, name, operands) for _ in range(count))}]"
    if kind == "List[Optional[Tensor]]":
        return s.pick("[torch.tensor([0, -1])]", "[None, torch.tensor([0, 1])]")
    if kind in ("int", "SymInt"):
        return _int(s, name, operands)
    if kind in ("List[int]", "List[SymInt]"):
        return _ints(s, name, operands)
    if kind in ("float", "number", "Scalar"):
        if "eps" in name:
            return s.pick("1e-5", "0.01")
        return s.pick("0", "1", "2", "0.5", "-1", "1.5", "3")
    if kind == "bool":
        return s.pick("True", "False")
    if kind == "List[float]":
        return s.pick("[2.0, 2.0]", "[2.0]", "[1.5]")
    if kind == "str":
        return s.pick("'floor'", "'trunc'", "'sum'", "'mean'", "'amax'", "'none'", "'tanh'", "'ij'")
    return None


def _tensor(s: Scope, name: str, operands: list[str]) -> str:
    """Return a tensor: an index, a weight, one like the first, or any."""
    if "ind" in name or name in ("target", "offsets", "boundaries"):
        other = operands[0] if operands and s.rng.random() < 0.4 else None
        if other:
            return f"torch.zeros_like({other}, dtype=torch.int64)"
        return s.pick("torch.tensor([0, 1])", "torch.tensor([1])", "torch.tensor(0)")
    if name in ("mask", "condition") and operands:
        return f"({operands[0]} > 0.3)"
    if operands and s.rng.random() < 0.5:
        first = operands[0]
        return s.like(first) if first in s.values[0] else first
    roll = s.rng.random()
    if roll < 0.12:
        shape = s.pick("2", "3", "1", "2, 3", "3, 2", "1, 1, 2", "2, 1, 2, 2")
        return f"torch.ones({shape})"
    if roll < 0.3:
        # With the axes of images.
        x = s.floats(1, 3)
        return f"{x}.reshape(1, 1, -1)" if s.rng.random() < 0.5 else f"{x}.reshape(1, -1, 1, 1)"
    return s.floats() if s.rng.random() < 0.6 else s.tensor()


def _rank(s: Scope, operands: list[str]) -> int:
    if operands and operands[0] in s.values[0]:
        value = s.values[0][operands[0]]
        return value.dim() if isinstance(value, Tensor) else 1
    return 2


def _int(s: Scope, name: str, operands: list[str]) -> str:
    if _AXIS.match(name):
        rank = max(_rank(s, operands), 1)
        return str(s.number(-rank, rank - 1))
    if name == "groups":
        return "1"
    if operands and operands[0] in s.values[0] and s.rng.random() < 0.2 and _rank(s, operands):
        return f"{operands[0]}.shape[{s.axis(operands[0])}]"
    return str(s.rng.choice((0, 1, 1, 2, 2, 3, -1)))


def _ints(s: Scope, name: str, operands: list[str]) -> str:
    rank = max(_rank(s, operands), 1)
    if ("dim" in name and "size" not in name) or name == "axis":
        axes = s.rng.sample(range(rank), s.number(1, rank))
        return str(axes)
    if name in ("size", "shape", "repeats", "sizes") and operands:
        x = operands[0]
        if x in s.values[0] and s.rng.random() < 0.6 and _rank(s, operands):
            return s.pick(
                f"[2, *{x}.shape]",
                f"list({x}.shape)",
                f"[{x}.numel()]",
                f"[-1, {x}.shape[-1]]",
                f"[{x}.shape[0], -1]",
                "[-1]",
            )
    count = s.rng.choice((1, 1, 2, 2, rank))
    if name.startswith(("pad", "output_padding")):
        return str([s.number(0, 1) for _ in range(count)])
    return str([s.rng.choice((1, 1, 2, 2, 3)) for _ in range(count)])
