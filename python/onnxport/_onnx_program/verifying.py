"""`onnxport verify` for a model and its exported program in memory."""

from __future__ import annotations

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
    with tempfile.TemporaryDirectory(prefix="onnxport-", ignore_cleanup_errors=True) as folder:
        model = Path(folder, "model.onnx")
        if program.loads_itself(args, kwargs):
            program.save(model)
            return _judged(_commands.verify(model, against=program.path, **given), given)
        exported = program.exported_program
        if exported is None:
            raise _errors.UnverifiedError("there is no exported program to compare with")
        held = _Held(exported, args, kwargs)
        program.save(model)
        return _judged(held.verify({**given, "model": str(model)}), given)


class _Held:
    """A program in memory, and the call that verification begins with."""

    def __init__(self, program: ExportedProgram, args: Any, kwargs: Any) -> None:
        from onnxport import _native
        from onnxport._export import caches, serialize
        from onnxport._onnx_program import reference

        self.example = args is None and kwargs is None
        self.reference = reference.Reference(program, checked=self.example)
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
