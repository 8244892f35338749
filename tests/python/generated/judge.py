"""Exports a program and compares it with eager at the sizes that it states, over three steps."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
import onnxruntime
import torch
from torch import Tensor

import onnxport
from tests.python.generated.control import CAPTURED, EAGER
from tests.python.generated.graphs.judge import evaluated
from tests.python.generated.program import Program, Sizes, flat
from tests.python.generated.stated import Stated

STEPS = 3
_TOLERANCES = {
    torch.float64: (1e-5, 1e-6),
    torch.float32: (1e-3, 1e-4),
    torch.float16: (1e-2, 1e-2),
}


class Outcome(Enum):
    """How a program ended."""

    AGREES = "agrees"
    REFUSED = "is refused"
    FAILED = "fails"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a program: a code of a refusal or a class of failures, and details."""

    outcome: Outcome
    kind: str = ""
    detail: str = ""
    tried: int = 0

    def replace(self, **changed: Any) -> Verdict:
        """Return a copy with some changes."""
        return dataclasses.replace(self, **changed)

    @property
    def same(self) -> tuple[Outcome, str]:
        """The outcome and its kind, which are equal for programs with the same defect."""
        return self.outcome, self.kind


def judge(program: Program, sizes: int = 8) -> Verdict:
    """Return whether the program agrees with eager."""
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = onnxport.export(
                program.module(CAPTURED),
                program.args(program.sizes),
                dynamic_shapes=program.dynamic_shapes(),
            )
    except onnxport.InternalError as error:
        return _failed("internal error", error)
    except onnxport.Error as error:
        return _refused(error)
    except Exception as error:
        return _failed(f"raises {type(error).__name__}", error)
    # Before calls change its state.
    message = model.to_bytes()
    try:
        session = _session(message)
    except Exception as error:
        return _failed("does not load", error)
    tried = 0
    stated = Stated(model, program)
    for at in stated.drawn(sizes):
        found = _Steps(stated, session, at).run()
        if isinstance(found, Verdict):
            return found
        tried += found
    if program.is_of_calls:
        # The evaluator is slow: once, at the last size.
        found = _Steps(stated, Evaluator(message), at).run(steps=1)
        if isinstance(found, Verdict):
            return found.replace(kind=f"in the evaluator: {found.kind}")
    return Verdict(Outcome.AGREES, "" if tried else "at no size", tried=tried)


def _refused(error: onnxport.Error) -> Verdict:
    codes = [one.code for one in error.diagnostics if one.severity == "error"]
    if not codes:
        return _failed("refusal without a code", error)
    return Verdict(Outcome.REFUSED, codes[0], str(error))


def _failed(kind: str, error: BaseException | str) -> Verdict:
    return Verdict(Outcome.FAILED, kind, f"{type(error).__name__}: {error}"[:3000])


def _session(message: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(message, options)


class Session(Protocol):
    """A model that can be run."""

    def run(self, names: Sequence[str], feeds: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        """Return the outputs of these names."""


@dataclass(frozen=True)
class Evaluator:
    """A model in onnxport's evaluator."""

    message: bytes

    def run(self, names: Sequence[str], feeds: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        """Return the outputs of these names."""
        found = evaluated(self.message, feeds)
        return [found[name] for name in names]


class _Steps:
    """Three calls of the module, of the captured program and of the model, each with its state."""

    def __init__(self, stated: Stated, session: Session, sizes: Sizes) -> None:
        self.stated, self.session, self.sizes = stated, session, sizes
        self.program, self.model = stated.program, stated.model
        self.eager = self.program.module(EAGER)
        self.captured = self.model.exported_program.module()
        self.states: dict[str, Any] = {}

    def run(self, steps: int = STEPS) -> Verdict | bool:
        """Return the failure, or whether there was something to compare."""
        for step in range(steps):
            args = self.program.args(self.sizes, step)
            expected = _called(self.eager, self.program, args)
            captured = _called(self.captured, self.program, args)
            if isinstance(captured, Exception) and "Guard failed" in str(captured):
                # Conditions that the model only quotes are not evaluated here.
                is_excluded = step > 0 or not self.stated.is_read
                return is_excluded or self._verdict("the stated range is too wide", step, captured)
            if isinstance(expected, Exception) or isinstance(captured, Exception):
                # The values are refused, such as an index that is out of range.
                return step > 0
            try:
                found = self._call(args)
            except Exception as error:
                return self._verdict("runtime error", step, error)
            if problem := expected.problem(found):
                if not expected.problem(captured):
                    return self._verdict("differs", step, problem)
                if captured.problem(found):
                    return self._verdict("differs, as does the capture", step, problem)
                # A number that depends on values and that the capture fixed is stated.
                return self.stated.has_frozen or self._verdict("the capture differs", step, problem)
        return True

    def _call(self, args: tuple[Any, ...]) -> _Results:
        """Run the model. Buffers and inputs that it does not return as states are unchanged."""
        ports = self.model.ports
        named = dict(zip((one.name for one in ports.given), flat(args), strict=True))
        feeds = {name: value.numpy() for name, value in named.items()}
        kept = [state for state in ports.states if state.kind != "input"]
        feeds |= {one.input: self.states[one.name] for one in kept if one.name in self.states}
        names = [port.name for port in ports.outputs]
        found = dict(zip(names, self.session.run(names, feeds), strict=True))
        self.states |= {one.name: found[one.output] for one in kept}
        written = {**dict(self.program.module(EAGER).named_buffers()), **named}
        written |= {one.name: torch.from_numpy(found[one.output]) for one in ports.states}
        hidden = {state.output for state in ports.states}
        results = [torch.from_numpy(found[name]) for name in names if name not in hidden]
        return _Results(results, written)

    def _verdict(self, kind: str, step: int, detail: Exception | str) -> Verdict:
        at = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        least = min(self.sizes.values())
        small = f" at a size of {least}" if least < 2 else ""
        return Verdict(Outcome.FAILED, f"{kind}{small}", f"at {at}, step {step}: {detail}")


@dataclass(frozen=True)
class _Results:
    """The results of a call, and the tensors that it may have written, by their names."""

    outputs: list[Tensor]
    written: dict[str, Tensor]

    def problem(self, found: _Results) -> str | None:
        """Return how others differ from these."""
        if len(found.outputs) != len(self.outputs):
            return f"{len(found.outputs)} outputs, not {len(self.outputs)}"
        for index, (one, wanted) in enumerate(zip(found.outputs, self.outputs, strict=True)):
            if problem := _difference(one, wanted):
                return f"output {index} is {problem}"
        for name, wanted in self.written.items():
            if problem := _difference(found.written[name], wanted):
                return f"state {name} is {problem}"
        return None


def _called(module: torch.nn.Module, program: Program, args: tuple[Any, ...]) -> Any:
    """Return the results of a module that keeps its state, or the exception that it raises."""
    given = copy.deepcopy(args)
    # Other views of the same memory, since `t_` and the like change how an input shows it.
    memory = [one.detach() for one in flat(given)]
    try:
        with torch.no_grad():
            outputs = flat(module(*given))
    except Exception as error:
        return error
    inputs = zip((one.name for one in program.inputs), memory, strict=True)
    return _Results(outputs, copy.deepcopy({**dict(inputs), **dict(module.named_buffers())}))


def _difference(found: Tensor, wanted: Tensor) -> str | None:
    if found.shape != wanted.shape:
        return f"of shape {list(found.shape)}, not {list(wanted.shape)}"
    if found.dtype != wanted.dtype:
        return f"of type {found.dtype}, not {wanted.dtype}"
    rtol, atol = _TOLERANCES.get(wanted.dtype, (0, 0))
    if wanted.dtype in (torch.int32, torch.int64):
        # The integer of a number that is not one depends on the processor.
        undefined = wanted == torch.iinfo(wanted.dtype).min
        found, wanted = found.masked_fill(undefined, 0), wanted.masked_fill(undefined, 0)
    if torch.allclose(found, wanted, rtol, atol, equal_nan=True):
        return None
    return f"{found.reshape(-1)[:12].tolist()}, not {wanted.reshape(-1)[:12].tolist()}"
