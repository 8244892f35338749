"""Small programs, each with the calls to compare and the tests of PyTorch whose behaviour it has."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

SUBJECTS = (
    "branches",
    "loops",
    "nested",
    "shapes",
    "unbacked",
    "views",
    "state",
    "inputs",
    "modules",
    "operators",
)


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contract:
    """A program. It is captured with the first call, and compared with eager mode at all of them.

    `tests` are the names of PyTorch's tests without `test_`, by file.
    """

    name: str
    build: Callable[[], nn.Module]
    calls: tuple[Call, ...]
    dynamic: Any = None
    tests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    capture: Callable[[nn.Module, Call, Any], Any] | None = None
    tolerance: float = 1e-4

    def module(self) -> nn.Module:
        """Return the module, the same at each call."""
        torch.manual_seed(0)
        return self.build()


CONTRACTS: dict[str, Contract] = {}


def contract(
    *calls: Sequence[Any] | Call,
    dynamic: Any = None,
    capture: Callable[[nn.Module, Call, Any], Any] | None = None,
    tolerance: float = 1e-4,
    **tests: str,
) -> Callable[[Any], Any]:
    """Register a function, or a class of modules, with its calls.

    `capture` returns the program to convert; by default the module is converted. The other keywords
    are files of PyTorch's tests, with names that are separated by spaces.
    """
    given = tuple(one if isinstance(one, Call) else Call(tuple(one)) for one in calls)

    def register(body: Any) -> Any:
        subject = body.__module__.rpartition(".")[2]
        name = f"{subject}.{body.__name__}"
        assert name not in CONTRACTS, name
        CONTRACTS[name] = Contract(
            name,
            body if isinstance(body, type) else lambda: _module(body),
            given,
            dynamic,
            {file: tuple(names.split()) for file, names in tests.items()},
            capture,
            tolerance,
        )
        return body

    return register


def _module(body: Callable[..., Any]) -> nn.Module:
    """Return a module with a function as its `forward`, whose parameters keep their names."""
    return type(body.__name__, (nn.Module,), {"forward": staticmethod(body)})()


def load() -> dict[str, Contract]:
    """Return all contracts, by name."""
    for subject in SUBJECTS:
        importlib.import_module(f"{__package__}.{subject}")
    return CONTRACTS


_NUMBERS = torch.Generator().manual_seed(0)


def f(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return floating-point numbers from -2 to 2."""
    return (torch.rand(shape, generator=_NUMBERS) * 4 - 2).to(dtype)


def i(*values: Any) -> Tensor:
    """Return a vector of integers."""
    return torch.tensor(values)


def t(value: Any, dtype: torch.dtype | None = None) -> Tensor:
    """Return a tensor with a value."""
    return torch.tensor(value, dtype=dtype)
