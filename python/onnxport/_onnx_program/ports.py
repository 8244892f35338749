"""The declarations of a model: inputs, outputs, and states kept between calls."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from onnxport._onnx_program.conversion import public_errors

STATES = "onnxport.state"
GUARDS = "onnxport.guards"


@dataclass(frozen=True)
class Port:
    """An input or output; its type as the command shows it, such as `f32[batch, 3]`.

    An input that is not `given` in a call is a state with a first value.
    """

    name: str
    type: str
    dims: tuple[str | int | None, ...] = ()
    given: bool = True


@dataclass(frozen=True)
class State:
    """A value that an output hands to an input of the next call."""

    name: str
    kind: str
    input: str
    output: str


@dataclass(frozen=True)
class InPlace:
    """An input and an output that a runtime may keep in the same memory."""

    input: str
    output: str


@dataclass(frozen=True)
class SizeRange:
    """The sizes that a dimension may have: `min`, `min + step` and so on up to `max`.

    A bound that is `None` does not exist. `axes` are those that have this size, such as `x:0`, or a
    size computed from it, such as `y:1 = 2*s0`.
    """

    name: str
    min: int | None
    max: int | None
    step: int
    axes: tuple[str, ...]


@dataclass(frozen=True)
class SizeCondition:
    """A condition on sizes that ranges do not express, and the line of code it comes from."""

    expression: str
    line: str | None


@dataclass(frozen=True)
class Sizes:
    """The sizes that a model takes."""

    dims: tuple[SizeRange, ...] = ()
    conditions: tuple[SizeCondition, ...] = ()

    @classmethod
    def of(cls, found: dict[str, Any]) -> Sizes:
        """Read the declarations of the model."""
        dims = (SizeRange(**{**dim, "axes": tuple(dim["axes"])}) for dim in found["dims"])
        return cls(tuple(dims), tuple(SizeCondition(**one) for one in found["conditions"]))


@dataclass(frozen=True)
class Ports:
    """The inputs and outputs of the main graph, and which of them are states."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[State, ...]
    sizes: Sizes = Sizes()
    in_place: tuple[InPlace, ...] = ()

    @classmethod
    def of(cls, model: bytes) -> Ports:
        """Read the declarations of a model."""
        from onnxport import _native

        with public_errors():
            found = json.loads(_native.signature(model))
        return cls(
            tuple(_port(**one) for one in found["inputs"]),
            tuple(_port(**one) for one in found["outputs"]),
            tuple(State(**one) for one in found["states"]),
            Sizes.of(found["sizes"]),
            tuple(InPlace(**one) for one in found["in_place"]),
        )

    @property
    def given(self) -> tuple[Port, ...]:
        """The inputs of a call: all but the states with an initial value."""
        return tuple(port for port in self.inputs if port.given)

    @property
    def axes(self) -> dict[str, tuple[str, int]]:
        """Return the positions of each named dimension: the input and the axis."""
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
            "sizes": dataclasses.asdict(self.sizes),
        }


def _port(name: str, type: str, dims: list[str | int | None], given: bool = True) -> Port:
    return Port(name, type, tuple(dims), given)
