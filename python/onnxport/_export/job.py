"""One export: capture, convert and report."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _diagnostics, _errors
from onnxport._diagnostics import Diagnostic
from onnxport._onnx_program import ONNXProgram, conversion
from onnxport._operators.functions import Custom

if TYPE_CHECKING:
    from onnxport._export.patches.registry import Choice


@dataclass
class Job:
    """The tasks besides the conversion, and the time of each stage."""

    folder: Path
    options: dict[str, Any]
    plugins: tuple[str, ...] = ()
    custom: Custom = field(default_factory=Custom)
    verbose: bool = False
    report: bool | str | os.PathLike[str] = False
    profile: bool = False
    dump: bool = False
    patches: Choice = "auto"
    seconds: dict[str, float] = field(default_factory=dict)
    program: ONNXProgram | None = None

    def __post_init__(self) -> None:
        self.stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")
        self.options = {name: value for name, value in self.options.items() if value is not None}

    def say(self, what: str) -> None:
        """Print a line if the user wants to hear."""
        if self.verbose:
            print(f"[onnxport] {what}", file=sys.stderr)

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Count the seconds of a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def run(self, model: Any, args: Any, kwargs: Any, shapes: Any, axes: Any) -> ONNXProgram:
        """Capture and convert `model`."""
        if isinstance(model, (str, os.PathLike)):
            self.program = self._of_file(Path(model), args, kwargs, shapes, axes)
        else:
            self.program = self._of_model(model, args, kwargs, shapes, axes)
        return self.program

    def _of_file(self, path: Path, args: Any, kwargs: Any, shapes: Any, axes: Any) -> ONNXProgram:
        if args or kwargs or shapes or axes:
            message = "a file has its inputs and dynamic dimensions in it; only names can be given"
            raise _errors.usage(message, "pass the module instead of the path")
        if path.suffix == ".onnx":
            raise _errors.usage(
                f"`{path}` is an ONNX model already", "`onnxport.optimize` takes one"
            )
        self.say(f"reading {path}")
        with self.timed("convert"):
            source = conversion.of_file(path, self.plugins, self.custom)
            return ONNXProgram.converted(source, self.options, path=path)

    def _of_model(self, model: Any, args: Any, kwargs: Any, shapes: Any, axes: Any) -> ONNXProgram:
        try:
            from torch.export import ExportedProgram
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise _errors.usage("`export` needs PyTorch", "pip install torch") from None

        from onnxport._export import axes as dynamic_axes
        from onnxport._export import (
            caches,
            composite,
            layers,
            lifted,
            places,
            rewritten,
            serialize,
            subclasses,
            windows,
            written,
        )
        from onnxport._export import capture as capturing
        from onnxport._export import shapes as dynamic
        from onnxport._export.exclusive import exclusive
        from onnxport._export.patches import registry

        args, kwargs = _arguments(model, args, kwargs)
        model = _with_signature(model)
        with exclusive(), caches.registered():
            if isinstance(model, ExportedProgram):
                if axes is not None:
                    message = (
                        "`dynamic_axes` means nothing for a program, whose dimensions are decided"
                    )
                    raise _errors.usage(message, "name them by `dynamic_shapes`")
                program, how = model, capturing.Capture()
                given = program.example_inputs or (args, kwargs)
                wanted = (
                    dynamic.read(program.module(), *given, shapes)
                    if shapes
                    else dynamic.Wanted((None,))
                )
            else:
                args, kwargs, shapes, names = _of_exportable(model, args, kwargs, shapes)
                for name, value in names.items():
                    self.options.setdefault(name, value)
                windows.check(model, args, kwargs, shapes)
                warn_of_training(model)
                if axes is not None and shapes is None:
                    ports = self.options.get("input_names"), self.options.get("output_names")
                    shapes = dynamic_axes.to_shapes(model, args, kwargs, axes, *ports)
                elif axes is not None:
                    message = "`dynamic_shapes` and `dynamic_axes` are both given"
                    raise _errors.usage(message, "leave out `dynamic_axes`, which is deprecated")
                wanted = dynamic.read(model, args, kwargs, shapes)
                counted = windows.counted(capturing.as_module(model))
                with self.timed("capture"), counted, layers.any_prompt():
                    program, how = capturing.capture(
                        model,
                        args,
                        kwargs,
                        wanted,
                        self.say,
                        capturing.order(self.patches),
                        self.verbose,
                        registry.chosen(self.patches),
                    )
            if how.strategy is None:
                written.check(program)
            else:
                written.as_buffers(program)
            program = lifted.lifted(rewritten.rewritten(subclasses.taken_apart(program)))
            for finding in how.diagnostics:
                # Dimensions that a line fixes are reported with the dimensions.
                if finding.code != "OP216":
                    places.warn(said(finding))
            if self.dump:
                self._dump(program)
            named = dynamic.names(program, wanted, how.diagnostics)
            self.say("converting")
            with self.timed("hand over"):
                parts = serialize.parts(program)
        options = _with_all_names(self.options, program)
        held = {
            "exported_program": program,
            "capture": how,
            "example": (args, kwargs),
            "module": None if how.strategy is None else capturing.as_module(model),
        }
        current, refused = program, None
        with caches.registered():
            while True:
                source = conversion.of_parts(parts, named, self.plugins, self.custom)
                try:
                    with self.timed("convert"):
                        return ONNXProgram.converted(source, options, **held)
                except _errors.UnsupportedError as error:
                    with exclusive():
                        further = composite.decomposed(current, error.diagnostics)
                    if any(one.code == composite.REFUSED for one in error.diagnostics):
                        # A lowering's reason for a refusal is more helpful than the gaps that
                        # remain without it.
                        refused = refused or error
                    if further is None:
                        shown = refused or error
                        raise shown from shown.__cause__
                current = further
                self.say("decomposing operators without a lowering")
                with self.timed("hand over"):
                    parts = serialize.parts(current)

    def _dump(self, program: Any) -> None:
        import torch

        from onnxport._export import flex, serialize

        path = self.folder / f"onnx_export_{self.stamp}.pt2"
        self.folder.mkdir(parents=True, exist_ok=True)
        dense = flex.dense(program)
        try:
            torch.export.save(dense, path)
        except OSError:
            raise
        except Exception as error:
            raise serialize.unwritten(error) from error
        self.say(f"the exported program is at {path}")

    @contextlib.contextmanager
    def reported(self) -> Iterator[None]:
        """Write the report and print the times, also when something fails."""
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            if self.report:
                self._report(error)
            if self.profile:
                for stage, seconds in self.seconds.items():
                    print(f"[onnxport] {stage}: {seconds:.3f} s")

    def _report(self, error: BaseException | None) -> None:
        from onnxport._export import markdown, pages

        if isinstance(self.report, bool):
            state = "success" if error is None else "failure"
            path = self.folder / f"onnx_export_{self.stamp}_{state}.md"
        else:
            path = Path(self.report)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".sarif":
            path.write_text(_diagnostics.sarif(self._found(error), os.getcwd()), encoding="utf-8")
        elif path.suffix == ".html":
            text = pages.page(path.stem, self.program, self._found(error))
            path.write_text(text, encoding="utf-8")
        else:
            text = markdown.report(self.program, self.seconds, error)
            path.write_text(text, encoding="utf-8")
        self.say(f"the report is at {path}")

    def _found(self, error: BaseException | None) -> list[Diagnostic]:
        found = list(getattr(error, "diagnostics", ()))
        return found if self.program is None else [*found, *self.program.diagnostics]


def said(finding: Diagnostic) -> str:
    """Return a finding as a warning shows it, with code to paste."""
    return _diagnostics.text([finding])


def _arguments(
    model: Any, args: Any, kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments, as `torch.onnx.export` reads them.

    A dict in the last position is an argument itself if the model takes it only so.
    """
    import torch

    positional = (args,) if isinstance(args, torch.Tensor) else args
    if isinstance(positional, Mapping) or not isinstance(positional, (tuple, list)):
        raise _errors.usage(
            f"`args` is a {type(args).__name__} and no tuple", "keyword arguments are `kwargs`"
        )
    positional = tuple(positional)
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise _errors.usage(f"`kwargs` is a {type(kwargs).__name__}, not a dict")
    if not kwargs and positional and isinstance(positional[-1], dict):
        named = positional[:-1], dict(positional[-1])
        if _takes(model, *named) or not _takes(model, positional, {}):
            return named
    return positional, dict(kwargs or {})


def _takes(model: Any, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> bool:
    """Return whether the signature of a model allows a call."""
    import inspect

    try:
        inspect.signature(getattr(model, "forward", model)).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return False
    return True


def _with_signature(model: Any) -> Any:
    """Return a Python function instead of one without parameters to inspect."""
    import torch

    if isinstance(model, torch.nn.Module) or not callable(model):
        return model
    try:
        inspect.signature(model)
    except ValueError:
        return lambda *args, **kwargs: model(*args, **kwargs)
    except TypeError:
        pass
    return model


def _of_exportable(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any
) -> tuple[tuple[Any, ...], dict[str, Any], Any, dict[str, Any]]:
    """Ask a `torch.onnx.ExportableModule` for missing arguments."""
    import torch.onnx

    kind = getattr(torch.onnx, "ExportableModule", None)
    if args or kwargs or kind is None or not isinstance(model, kind):
        return args, kwargs, shapes, {}
    args, named = model.example_arguments()
    names = {"input_names": model.input_names(), "output_names": model.output_names()}
    shapes = model.dynamic_shapes() if shapes is None else shapes
    return (
        tuple(args),
        dict(named or {}),
        shapes,
        {k: list(v) for k, v in names.items() if v is not None},
    )


def _with_all_names(options: Mapping[str, Any], program: Any) -> dict[str, Any]:
    """Fill up names that were given for the first inputs only."""
    from onnxport._export import inputs

    given: Sequence[str] | None = options.get("input_names")
    if given is None:
        return dict(options)
    names = inputs.names(program)
    if len(given) > len(names):
        raise _errors.usage(f"`input_names` has {len(given)} names for {len(names)} tensors")
    return {**options, "input_names": [*given, *names[len(given) :]]}


def warn_of_training(model: Any) -> None:
    """Warn if a module is in training mode."""
    from onnxport._export import places

    if getattr(model, "training", False) and hasattr(model, "eval"):
        message = "the model is in training mode: call `model.eval()` unless that is meant"
        places.warn(message)
