"""Runs a model on the arguments of the original module."""

from __future__ import annotations

import dataclasses
import gc
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._onnx_program import values
from onnxport._onnx_program.ports import GUARDS, STATES, Ports
from onnxport._onnx_program.sessions import (
    Loader,
    ReferenceSession,
    RuntimeSession,
    Session,
    in_runtime,
)

if TYPE_CHECKING:
    from onnxport._onnx_program.program import ONNXProgram

LARGEST_MESSAGE = 1536 << 20


class Runner:
    """A model that is loaded, and the values that it keeps between calls.

    `states` are these values by name, from the first call on.
    """

    def __init__(
        self,
        program: ONNXProgram,
        loader: Loader | None = None,
        wanted: Sequence[str] | None = None,
    ) -> None:
        self.program = program
        self.wanted = wanted
        self.states: dict[str, Any] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        model = self._model(wanted or ())
        try:
            self.session: Session = self._load(loader or in_runtime, model)
        except Exception as error:
            self.close()
            unknown = [name for name in wanted or () if f"({name})" in str(error)]
            if unknown:
                raise _errors.usage(f"the graph has no value `{unknown[0]}`") from error
            if type(error).__module__.partition(".")[0] == "onnxruntime":
                raise refused(program, str(error)) from error
            raise
        kept = json.loads(self.session.metadata.get(STATES, "[]"))
        self.kept = [state for state in kept if state["kind"] != "input"]
        inner = {state["input"] for state in self.kept}
        hidden = {state["output"] for state in kept} | set(self._further)
        guards = json.loads(self.session.metadata.get(GUARDS, "null"))
        self.guard: str | None = guards and guards["output"]
        hidden.add(self.guard or "")
        self.inputs = [name for name in self.session.required if name not in inner]
        self.outputs = [name for name in self.session.outputs if name not in hidden]

    @staticmethod
    def _load(loader: Loader, model: str | bytes) -> Session:
        session = loader(model)
        return session if isinstance(session, ReferenceSession) else RuntimeSession(session)

    def _model(self, wanted: Sequence[str]) -> str | bytes:
        self._further: list[str] = []
        if self.program.waits:
            raise _errors.usage("the model waits for its weights", "give them with `apply_weights`")
        if self.program.most_bytes <= LARGEST_MESSAGE:
            model = self.program.to_bytes()
            return self._with_outputs(model, wanted) if wanted else model
        # ONNX Runtime takes no message of more than 2 GiB, and reads external data from files only.
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        path = Path(self._folder.name) / "model.onnx"
        self.program.save(path, external_data=True)
        if wanted:
            path.write_bytes(self._with_outputs(path.read_bytes(), wanted))
        return str(path)

    def _with_outputs(self, model: bytes, wanted: Sequence[str]) -> bytes:
        from onnxport import _native

        found = Ports.of(model)
        declared = {port.name for port in (*found.inputs, *found.outputs)}
        self._further = [name for name in dict.fromkeys(wanted) if name not in declared]
        return _native.with_outputs(model, self._further)

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Run the model on the arguments of the module, or on its inputs by name."""
        feeds = self._feeds(args, kwargs)
        only_numpy = any(values.is_numpy(value) for value in feeds.values())
        as_torch = any(values.is_torch(value) for value in feeds.values()) or not only_numpy
        for state in self.kept:
            if state["name"] in self.states:
                feeds[state["input"]] = self.states[state["name"]]
        names = list(self.outputs if self.wanted is None else self.wanted)
        outputs = set(self.session.outputs)
        asked = [name for name in names if name in outputs]
        asked += [state["output"] for state in self.kept if state["output"] not in asked]
        if self.guard and self.guard not in asked:
            asked.append(self.guard)
        found = dict(zip(asked, self.session.run(asked, feeds, as_torch), strict=True))
        if self.guard and self.guard not in names and not found[self.guard]:
            raise _errors.usage(
                "the sizes of these inputs are not ones that the program takes",
                "`sizes` of the program has the ranges and conditions",
            )
        for state in self.kept:
            self.states[state["name"]] = found[state["output"]]
        return tuple(found[name] if name in found else feeds[name] for name in names)

    def _feeds(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if not args and kwargs and set(kwargs) == set(self.inputs):
            return {name: kwargs[name] for name in self.inputs}
        leaves = self.program.leaves(args, kwargs)
        if len(leaves) != len(self.inputs):
            names = ", ".join(self.inputs)
            problem = f"the model has {len(self.inputs)} inputs, and the call gives {len(leaves)}"
            raise _errors.usage(problem, f"the inputs are {names}")
        return dict(zip(self.inputs, leaves, strict=True))

    def close(self) -> None:
        """Let go of the session and of its files."""
        self.__dict__.pop("session", None)
        gc.collect()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def refused(program: ONNXProgram, said: str) -> _errors.UnverifiedError:
    """Return the error for a model that ONNX Runtime does not load."""
    said = said.strip().split("\n", 1)[0]
    lacking = [one for one in program.diagnostics if one.code == "OP409"]
    if not lacking:
        help = "try another `opset_version`, or a newer version of ONNX Runtime"
        problem = Diagnostic("error", "OP703", f"ONNX Runtime does not load it: {said}", help=help)
        return _errors.UnverifiedError(diagnostics=[problem])
    problems = [
        dataclasses.replace(one, severity="error", notes=(*one.notes, said)) for one in lacking
    ]
    return _errors.UnverifiedError(diagnostics=problems)
