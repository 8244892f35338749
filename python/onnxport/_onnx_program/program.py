"""`ONNXProgram`: a model in memory."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._export import places
from onnxport._onnx_program import html, irmodel, values
from onnxport._onnx_program.conversion import Source, public_errors
from onnxport._onnx_program.held import HeldModel
from onnxport._onnx_program.running import Runner
from onnxport._onnx_program.sessions import Loader, ReferenceSession

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.nn import Module

    from onnxport import _native
    from onnxport._commands import Result
    from onnxport._export.capture import Capture
    from onnxport._export.patches import Used
    from onnxport._onnx_program.ports import InPlace, Sizes
    from onnxport._operators.rules import Pass, Rule


class ONNXProgram(HeldModel):
    """A converted model, with the program that it comes from.

    Calling it runs it in ONNX Runtime, with the arguments of the module. `capture` describes how
    the module was captured, and `module` is that module, which `verify` compares with. Weights are
    read from it when the model is saved, so they must not change before.
    """

    def __init__(self, model: Any, exported_program: ExportedProgram | None = None) -> None:
        """Hold a model: one of `onnx_ir`, or one of the extension module."""
        super().__init__(model)
        self._program = exported_program
        self._path: Path | None = None
        self._options: dict[str, Any] = {}
        self._runner: Runner | None = None
        self._example: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.capture: Capture | None = None
        self.module: Module | None = None

    @classmethod
    def converted(
        cls,
        source: Source,
        options: Mapping[str, Any],
        *,
        exported_program: ExportedProgram | None = None,
        capture: Capture | None = None,
        example: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        path: Path | None = None,
        module: Module | None = None,
    ) -> ONNXProgram:
        """Convert the program of `source`."""
        program = cls(source.convert(options), exported_program)
        program._source, program._options, program._path = source, dict(options), path
        program.capture, program._example, program.module = capture, example, module
        # Findings of the capture have already been reported.
        for one in map(Diagnostic.read, program.report["diagnostics"]):
            if one.severity == "warning":
                places.warn(str(one))
        return program

    @property
    def exported_program(self) -> ExportedProgram | None:
        """The exported program behind the model; that of a file is loaded on first access."""
        if self._program is None and self._path is not None:
            import torch

            self._program = torch.export.load(self._path)
        return self._program

    @exported_program.setter
    def exported_program(self, program: ExportedProgram | None) -> None:
        self._program, self.module = program, None

    @cached_property
    def report(self) -> dict[str, Any]:
        """The output of `onnxport convert --json`: inputs, outputs, steps, times."""
        said: dict[str, Any] = {"diagnostics": []}
        if self._native is not None:
            with public_errors():
                said = json.loads(self._native.report)
        return {**said, **self.ports.report()}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of the conversion, including findings of draft export."""
        found = () if self.capture is None else self.capture.diagnostics
        return (*found, *(Diagnostic.read(record) for record in self.report["diagnostics"]))

    @property
    def patches(self) -> tuple[Used, ...]:
        """The patches that the capture used, with the reason for each."""
        return () if self.capture is None else self.capture.patches

    def leaves(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return those leaves of a call that are inputs of the model, in order."""
        if self._program is None:
            return [
                leaf for leaf in values.flatten((tuple(args), dict(kwargs))) if leaf is not None
            ]
        from onnxport._export import caches, inputs

        with caches.registered():
            found = inputs.leaves(self._program, args, kwargs)
        return [found[place] for place in inputs.taken(self._program)]

    def _running(self) -> Runner:
        if self._runner is None:
            self.initialize_inference_session()
        runner = self._runner
        assert runner is not None
        return runner

    def initialize_inference_session(self, initializer: Loader | None = None) -> None:
        """Load the model into ONNX Runtime, by `initializer` if that is given."""
        self.release()
        self._runner = Runner(self, initializer)

    def _changed(self) -> None:
        self.release()

    def release(self) -> None:
        """Let go of the session in ONNX Runtime, and of its files."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model on the arguments of the module, nested as they are, and return its outputs.

        Arguments that are PyTorch tensors yield PyTorch tensors; only NumPy arrays yield NumPy
        arrays. Inputs may also be given by their names in the model. State that the module keeps
        from call to call (`states`) is kept here too.
        """
        return self._running().call(args, kwargs)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs of a call, in order."""
        return list(self._running().inputs)

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs that a call returns, in order."""
        return list(self._running().outputs)

    @property
    def states(self) -> dict[str, Any]:
        """The states of the model between calls, by name."""
        return self._running().states

    @property
    def in_place(self) -> tuple[InPlace, ...]:
        """The inputs and outputs that may share memory: states, and caches that are updated."""
        return self.ports.in_place

    @property
    def sizes(self) -> Sizes:
        """The ranges and conditions of sizes, empty if the model takes every size from 2 on."""
        return self.ports.sizes

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model in the reference evaluator of the `onnx` package."""
        runner = Runner(self, ReferenceSession)
        try:
            return runner.call(args, kwargs)
        finally:
            runner.close()

    def compute_values(
        self, value_names: Sequence[str], args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> tuple[Any, ...]:
        """Run the model and return intermediate values, by their names.

        Raises:
            UsageError: The graph has no such value.
        """
        self.release()
        runner = Runner(self, None, value_names)
        try:
            return runner.call(tuple(args), dict(kwargs or {}))
        finally:
            runner.close()

    def optimize(self, *, rules: Sequence[Rule] = (), passes: Sequence[Pass] = ()) -> None:
        """Apply the standard rules and fold constants, if that has not been done.

        `rules` and `passes` join them, now and whenever the program is converted again.
        """
        if self._edited is not None or self._source is None:
            raise _errors.usage(
                "a model that was changed is not converted again", "`onnxport.optimize` takes it"
            )
        if self._options.get("optimize", True) and not (rules or passes):
            return
        self._options["optimize"] = True
        self._again(self._source.with_functions(rules, passes))

    def apply_weights(
        self, weights: Mapping[str, Any] | str | os.PathLike[str] | Iterable[Any]
    ) -> None:
        """Replace the weights of the model: by a state dict, or by files.

        Files are those that `onnxport weights bind` accepts. Names that the model does not have
        cause a warning.
        """
        strangers: list[str] = []
        edited = self._edited
        if edited is not None and isinstance(weights, Mapping):
            self.release()
            strangers = irmodel.apply_weights(edited, weights)
        elif edited is not None or self._source is None:
            message = "a model that was changed takes tensors, and no files"
            raise _errors.usage(message, "read them, and pass a dict")
        elif isinstance(weights, Mapping):
            source, strangers = self._source.reweighted(weights)
            self._again(source)
        else:
            paths = [weights] if isinstance(weights, (str, os.PathLike)) else weights
            self._again(self._source.with_files([os.fspath(path) for path in paths]))
        for name in strangers:
            _warn_of_exporter(f"the model has no weight `{name}`")

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Rename dynamic dimensions; keys are names or dimensions of `model`.

        A key may be an expression, such as `a + b`. The model then counts as changed.
        """
        names = {str(getattr(old, "value", old)): new for old, new in rename_mapping.items()}
        if self._edited is None and self._source is not None:
            known = {dim for port in self.ports.inputs for dim in port.dims}
            if all(old in known or old.isidentifier() for old in names):
                self._again(self._source.renamed(names, self.ports.axes))
                return
        self.release()
        irmodel.rename_axes(self.model, names)
        self.__dict__.pop("report", None)

    def _again(self, source: Source) -> None:
        """Convert again, from another source or with other options."""
        native = source.convert(self._options)
        self.release()
        self._source, self._native, self._by_name = source, native, None
        self._ir = self._mark = None
        self.__dict__.pop("report", None)

    @property
    def _apart(self) -> _native.Model:
        if self._source is None or self._options.get("optimize", True) is False:
            return self._made
        if self._by_name is None:
            self._by_name = self._source.convert({**self._options, "initializers_as_inputs": True})
        return self._by_name

    @property
    def path(self) -> Path | None:
        """The file of the program, if it comes from one."""
        return self._path

    def loads_itself(self, args: Any, kwargs: Mapping[str, Any] | None) -> bool:
        """Tell whether the command can load the program from its file, as PyTorch has not yet."""
        given = args is not None or kwargs is not None
        return self._path is not None and self._program is None and not given

    def verify(
        self,
        args: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        module: bool = True,
        **options: Any,
    ) -> Result:
        """Compare with the exported program, as `onnxport verify` does, and that with its module.

        Without a given call, the example is run, and calls with other sizes and values are drawn
        from it, as far as the program's guards allow. PyTorch computes their expected results, in
        this process. On each call that the program accepts, it is also compared with the module
        that was captured, so that a difference is either one of the capture (`OP714`) or one of
        the conversion (`OP701`). Calls that the module refuses are skipped.

        Args:
            args: Positional arguments of a call to compare instead.
            kwargs: Keyword arguments of that call.
            rtol: The relative tolerance of floating-point outputs; by default that of their type.
            atol: The absolute tolerance.
            module: Also compare the exported program with the module, if that is in memory.
            options: Those of `onnxport.verify`: `tolerance="auto"`, `executor=["ort",
                "reference"]`, `seed=1`, `draw=["x=normal(0,1)"]`, `taps=True`,
                `report="page.html"` and so on.

        Returns:
            The output of `onnxport verify --json`. `verification` has every case, output by output,
            `module` the comparison with the module.

        Raises:
            MismatchError: They differ by more than the tolerances; see its `report`.
            UnverifiedError: There is no program, no example, or no runtime for the model.
        """
        from onnxport._onnx_program import verifying

        given = {"rtol": rtol, "atol": atol, "module": module, **options}
        return verifying.verify(self, args, kwargs, given)

    def __repr__(self) -> str:
        ports = (f"{one['name']}: {one['type']}" for one in self.report.get("inputs", ()))
        outputs = (f"{one['name']}: {one['type']}" for one in self.report.get("outputs", ()))
        return f"ONNXProgram(({', '.join(ports)}) -> ({', '.join(outputs)}))"

    def _repr_html_(self) -> str:
        return html.page(self)


def _warn_of_exporter(message: str) -> None:
    """Warn by the class that code for PyTorch's exporter looks for."""
    import sys

    errors = sys.modules.get("torch.onnx.errors")
    warnings.warn(message, getattr(errors, "OnnxExporterWarning", UserWarning), stacklevel=3)
