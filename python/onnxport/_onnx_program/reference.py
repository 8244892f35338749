"""The exported program as the reference of a model, in this process.

It is run by the script that the command passes to a Python process, so that both give the same
results. The module that it runs is a copy: neither a call's writes nor a wider type affects the
user's.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import types
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from onnxport import _errors, _native
from onnxport._export import caches, inputs
from onnxport._onnx_program.eager import Eager

CALL = "traced"
GIVEN = "given"


def recording(program: ExportedProgram, args: Any, kwargs: Mapping[str, Any] | None) -> bytes:
    """Return the call to begin with: the one that is given, or that of the example.

    Raises:
        UnverifiedError: There is none.
    """
    if args is None and kwargs is None:
        if program.example_inputs is None:
            message = "there is no example to compare: give `args` or `kwargs`"
            raise _errors.UnverifiedError(message)
        (given, named), name = program.example_inputs, CALL
    else:
        given, named, name = tuple(args or ()), dict(kwargs or {}), GIVEN
    with caches.registered():
        found = inputs.leaves(program, given, named)
    leaves = [found[place] for place in inputs.taken(program)]
    values = dict(zip(inputs.names(program), map(_tensor, leaves), strict=True))
    if any(isinstance(value, FakeTensor) for value in values.values()):
        message = "the example has no values to compare with: give `args` or `kwargs`"
        raise _errors.UnverifiedError(message)
    script, written = _script()
    case = {"name": name, "inputs": list(values)}
    script.send(
        {"format": script.FORMAT, "cases": json.dumps([case])},
        [(f"{name}/input/{key}", script.dense(value)) for key, value in values.items()],
    )
    return bytes(written[8:])


def _tensor(value: Any) -> Any:
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(value)


class Reference:
    """Answers requests with the program's results.

    The caller decides whether the program's guards are `checked`: tracing also guards against sizes
    of 1, which a user's call may have. Where `eager` has the module, it compares the results.
    """

    def __init__(
        self, program: ExportedProgram, *, checked: bool, eager: Eager | None = None
    ) -> None:
        self.program = program
        self.checked = checked
        self.eager = eager

    def __call__(self, request: bytearray) -> list[bytes]:
        """Return the answers to a request, message by message."""
        script, written = _script()

        def load() -> Any:
            module = _own(self.program, script.may_write, self.checked)
            if self.eager is None:
                return script.Program(self.program, module)
            return _compared(script, self.eager)(self.program, module)

        with caches.registered(), _as_it_was():
            script.answer(request, load)
        return list(_messages(memoryview(written)))


def _compared(script: Any, eager: Eager) -> Any:
    """Return a class of programs whose results are compared with those of the module."""

    class Compared(script.Program):
        def __init__(self, exported: Any, module: Any) -> None:
            super().__init__(exported, module)
            before = module.register_forward_pre_hook(eager.before, with_kwargs=True)
            after = module.register_forward_hook(eager.after, with_kwargs=True)
            self.hooks = [before, after]

        def answer(self, case: str, given: Any, continues: bool) -> None:
            eager.begin(case, continues)
            super().answer(case, given, continues)

        def widen(self) -> None:
            # The module computes in its own types.
            for hook in self.hooks:
                hook.remove()
            super().widen()

    return Compared


def selections(module: Any, outputs: int) -> Any:
    """Return an object that knows the tensors that index outputs selected from in the last call.

    The module is changed: it also keeps these tensors.
    """
    script, _ = _script()
    return script.Selections(module, outputs)


def load(archive: str | os.PathLike[str]) -> ExportedProgram:
    """Load an archive that the user trusts, and the installed libraries of its operators."""
    script, _ = _script()
    script.import_operators(os.fspath(archive))
    return torch.export.load(archive)


def _script() -> tuple[Any, bytearray]:
    """Return the script, and its output."""
    module = types.ModuleType("onnxport._reference")
    written = bytearray()
    module.__dict__.update(
        write=lambda data: written.extend(memoryview(data).cast("B")),
        reason=_reason,
    )
    exec(compile(_native.REFERENCE, "<onnxport's reference>", "exec"), module.__dict__)
    return module, written


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _messages(written: memoryview) -> Iterator[bytes]:
    while written:
        (length,) = struct.unpack("<Q", written[:8])
        yield bytes(written[8 : 8 + length])
        written = written[8 + length :]


def _own(program: ExportedProgram, may_write: Any, checked: bool) -> Any:
    """Return the module of a program, with separate tensors.

    Buffers are copies, and so are parameters that a call may write to. Other parameters share the
    memory of the user's.
    """
    module = program.module(check_guards=checked)
    writes = may_write(module)
    known: dict[int, torch.Tensor] = {}

    def own(tensor: torch.Tensor) -> torch.Tensor:
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        plain = tensor.detach()
        if writes or not is_parameter:
            plain = plain.clone()
        return torch.nn.Parameter(plain, requires_grad=False) if is_parameter else plain

    for part in module.modules():
        for table in (part._parameters, part._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    if id(tensor) not in known:
                        known[id(tensor)] = own(tensor)
                    table[name] = known[id(tensor)]
    return module


@contextlib.contextmanager
def _as_it_was() -> Iterator[None]:
    """Put back random numbers, and the type that PyTorch computes in where nothing states one."""
    default = torch.get_default_dtype()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=list(devices)):
            yield
    finally:
        torch.set_default_dtype(default)
