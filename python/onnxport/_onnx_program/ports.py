"""What a model declares: inputs, outputs, and the states that it keeps between calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from onnxport._onnx_program import message

STATES = "onnxport.state"


@dataclass(frozen=True)
class Port:
    """An input or output; its type as the command shows it, such as `f32[batch, 3]`."""

    name: str
    type: str
    dims: tuple[str | int | None, ...] = ()


@dataclass(frozen=True)
class State:
    """A value that an output hands to an input of the next call."""

    name: str
    kind: str
    input: str
    output: str


@dataclass(frozen=True)
class Ports:
    """The inputs and outputs of the main graph, and which of them are states."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[State, ...]

    @classmethod
    def of(cls, model: bytes) -> Ports:
        """Read the declarations of a model."""
        found = message.read(model)
        texts = json.loads(found.metadata.get(STATES, "[]"))
        return cls(
            tuple(_port(*one) for one in found.inputs),
            tuple(_port(*one) for one in found.outputs),
            tuple(State(one["name"], one["kind"], one["input"], one["output"]) for one in texts),
        )

    @property
    def given(self) -> tuple[Port, ...]:
        """The inputs that a call gives: all but the states with a first value of their own."""
        kept = {state.input for state in self.states if state.kind != "input"}
        return tuple(port for port in self.inputs if port.name not in kept)

    @property
    def axes(self) -> dict[str, tuple[str, int]]:
        """Return where each named dimension stands: the input and the axis."""
        places: dict[str, tuple[str, int]] = {}
        for port in self.given:
            for axis, dim in enumerate(port.dims):
                if isinstance(dim, str):
                    places.setdefault(dim, (port.name, axis))
        return places

    def report(self) -> dict[str, Any]:
        """Return this as the command reports it."""
        return {
            "inputs": [{"name": port.name, "type": port.type} for port in self.given],
            "outputs": [{"name": port.name, "type": port.type} for port in self.outputs],
            "states": [vars(state) for state in self.states],
        }


# By ONNX's numbers.
_TYPES = (
    *("?", "f32", "u8", "i8", "u16", "i16", "i32", "i64", "str", "bool", "f16", "f64"),
    *("u32", "u64", "c64", "c128", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"),
    *("u4", "i4", "f4e2m1", "f8e8m0", "u2", "i2"),
)


def _port(name: str, dtype: int, dims: tuple[str | int | None, ...]) -> Port:
    shape = ", ".join("?" if dim is None else str(dim) for dim in dims)
    element = _TYPES[dtype] if dtype < len(_TYPES) else "?"
    return Port(name, f"{element}[{shape}]", dims)
