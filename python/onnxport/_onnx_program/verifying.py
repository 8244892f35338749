"""`onnxport verify` for a model and its exported program in memory."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _commands, _errors
from onnxport._commands import Result
from onnxport._onnx_program import running
from onnxport._onnx_program.conversion import public_errors

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from onnxport._onnx_program.eager import Eager
    from onnxport._onnx_program.program import ONNXProgram

# Options that request further calls beside the given one.
_DRAWS = ("seed", "draw", "max_memory")


def verify(
    program: ONNXProgram,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Result:
    """Verify a model that is in no file yet; see `ONNXProgram.verify`."""
    if program.waits:
        raise _errors.usage("the model waits for its weights", "give them with `apply_weights`")
    given = {name: value for name, value in (options or {}).items() if value is not None}
    try:
        return _verified(program, args, kwargs, given)
    except _errors.UnverifiedError as error:
        said = [one.message for one in error.diagnostics if one.code == "OP702"]
        # The conversion may have reported the reason.
        if said and any(one.code == "OP409" for one in program.diagnostics):
            raise running.refused(program, said[0]) from error
        raise


def _verified(
    program: ONNXProgram, args: Any, kwargs: Mapping[str, Any] | None, given: dict[str, Any]
) -> Result:
    # Executors read models from files, and an isolated one is another process.
    with tempfile.TemporaryDirectory(prefix="onnxport-", ignore_cleanup_errors=True) as folder:
        model = Path(folder, "model.onnx")
        if program.loads_itself(args, kwargs):
            given.pop("module", None)
            program.save(model)
            return _judged(_commands.verify(model, against=program.path, **given), given)
        exported = program.exported_program
        if exported is None:
            raise _errors.UnverifiedError("there is no exported program to compare with")
        eager = _eager(program, exported, given)
        held = _Held(exported, args, kwargs, eager)
        program.save(model)
        try:
            report = held.verify({**given, "model": str(model)})
        except _errors.MismatchError as error:
            raise _sided(error, eager) from error.__cause__
        if eager is not None:
            report = report.with_module(eager.report())
            if (problem := eager.diagnostic()) is not None:
                error = _errors.MismatchError(diagnostics=[problem])
                error.report = report
                raise error
        return _judged(report, given)


def _eager(program: ONNXProgram, exported: ExportedProgram, given: dict[str, Any]) -> Eager | None:
    """Return the comparison with the module, None where it is not in memory or not requested."""
    wanted = given.pop("module", True)
    if program.module is None or not wanted or given.get("reference") not in (None, "torch"):
        return None
    from onnxport._onnx_program.eager import Eager

    return Eager(program.module, exported, given.get("rtol"), given.get("atol"))


def _sided(error: _errors.MismatchError, eager: Eager | None) -> _errors.MismatchError:
    """Return the error of a wrong conversion, with the verdict on the capture."""
    if eager is None or not (eager.compared or eager.differences):
        return error
    problem = eager.diagnostic()
    if problem is not None:
        found = (problem, *error.diagnostics)
    else:
        note = "the captured program agrees with the module: the conversion or the runtime is wrong"
        found = tuple(
            dataclasses.replace(one, notes=(*one.notes, note)) if one.code == "OP701" else one
            for one in error.diagnostics
        )
    sided = _errors.MismatchError(diagnostics=found)
    if error.report is not None:
        sided.report = error.report.with_module(eager.report())
    return sided


class _Held:
    """A program in memory, and the call that verification begins with."""

    def __init__(
        self, program: ExportedProgram, args: Any, kwargs: Any, eager: Eager | None = None
    ) -> None:
        from onnxport import _native
        from onnxport._export import caches, serialize
        from onnxport._onnx_program import reference

        self.example = args is None and kwargs is None
        self.reference = reference.Reference(program, checked=self.example, eager=eager)
        with caches.registered(), public_errors():
            self.conversion = _native.Conversion.from_parts(
                program=serialize.to_json(program),
                # The weights are in the model; their values here are known to PyTorch only.
                weights=dict.fromkeys(program.state_dict),
                constants=dict.fromkeys(program.constants),
                recorded=reference.recording(program, args, kwargs),
            )

    def verify(self, options: Mapping[str, Any]) -> Result:
        draws = self.example or any(name in options for name in _DRAWS)
        said = json.dumps(options, default=_commands.text)
        with public_errors():
            return Result(json.loads(self.conversion.verify(said, self.reference, draws=draws)))


def _judged(report: Result, options: Mapping[str, Any]) -> Result:
    """Return the report; a model that was compared with nothing is not called verified.

    Raises:
        UnverifiedError: There are no expected values, and a run without them was not requested.
    """
    cases = report["verification"]["cases"]
    if options.get("reference") != "none" and all(one["expected"] == "nothing" for one in cases):
        raise _errors.UnverifiedError("there are no expected values: checked only types and shapes")
    return report
