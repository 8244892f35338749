"""`onnxport.export`, with the signature of `torch.onnx.export`."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from onnxport import _errors
from onnxport._export import functions as modules
from onnxport._export import refused
from onnxport._onnx_program import ONNXProgram
from onnxport._operators.functions import Custom

if TYPE_CHECKING:
    from onnxport._export.patches.registry import Choice
    from onnxport._operators.rules import Pass, Rule

Names = Sequence[str] | None


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | BinaryIO | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Names = None,
    output_names: Names = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Any, Callable[..., Any] | Sequence[Callable[..., Any]]]
    | None = None,
    report: bool | str | os.PathLike[str] = False,
    optimize: bool = True,
    verify: bool | Literal["program"] = False,
    profile: bool | str | os.PathLike[str] = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    training: Any = None,
    operator_export_type: Any = None,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
    options: Mapping[str, Any] | None = None,
    config: str | os.PathLike[str] | bool | None = None,
    preset: str | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
    rules: Sequence[Rule] = (),
    passes: Sequence[Pass] = (),
    patches: Choice = "auto",
    functions: str | Collection[str | type] | None = None,
    state: Literal["io", "refuse", "drop"] | None = None,
) -> ONNXProgram:
    """Convert a model to ONNX.

    A module is captured by non-strict, strict, patched or draft export, whichever succeeds first;
    `capture` of the result names it. Weights are read in place: nothing is copied, and they must
    not change until the result is saved.

    Args:
        model: A module or a function, an exported program, or the path of a `.pt2` file.
        args: Positional arguments of an example call. Values that are not tensors become part of
            the model. Without `kwargs`, a dict in the last position is used for it, unless the
            model takes the dict itself only.
        f: The output path. Leave it out to call `save` of the result instead.
        kwargs: Keyword arguments of the example call.
        verbose: Print progress.
        input_names: Names for the inputs, in order; the remaining ones keep theirs.
        output_names: Names for the outputs, in order.
        opset_version: The version of ONNX's operators; by default the recommended one.
        dynamo: Only True: there is no TorchScript exporter.
        external_data: Write the weights into a file beside the model. Without it they go into the
            model as long as they stay below 1.5 GB.
        dynamic_shapes: As `torch.export.export` takes them. A string instead of a dimension makes
            it dynamic and names it.
        custom_translation_table: Functions that lower operators, also instead of onnxport's own
            lowerings. `docs/python.md` describes them.
        report: Write a report in Markdown into `artifacts_dir`, also when the export fails. A path
            is that of the report: `.md`, `.html`, or `.sarif` for problems with code locations.
        optimize: Apply the standard rules within their error bounds, and fold constants.
        verify: Run the model before it is written, and compare it with the exported program, and
            that with the module; `"program"` leaves out the module. See `ONNXProgram.verify`.
        profile: Print how long each stage took; at a path, write a trace of the conversion.
        dump_exported_program: Write the exported program into `artifacts_dir`.
        artifacts_dir: The folder for the report and the exported program.
        export_params: When false, the model is written without the data of its weights.
        keep_initializers_as_inputs: Declare the weights as inputs, after the others.
        dynamic_axes: Deprecated: use `dynamic_shapes`.
        training: Deprecated: set the mode of the module.
        operator_export_type: Deprecated: only ONNX.
        do_constant_folding: Deprecated: see `optimize`.
        custom_opsets: Deprecated: plugins state the domains that they use.
        export_modules_as_functions: Deprecated: see `functions`.
        autograd_inlining: Deprecated: `torch.export` always inlines.
        options: Further options of `onnxport convert` by their names, such as `{"target": "onnx"}`.
        config: A file with further options in its table `[convert]`, like `onnxport.toml`. By
            default it is searched for as by the command (`docs/options.md`); `False` reads none.
        preset: The preset of that file to use.
        plugins: Paths of plugins to load.
        rules: Rules besides the standard ones, created with `@onnxport.rule`.
        passes: Passes over the graph, created with `@onnxport.graph_pass`.
        patches: Replacements, during the capture, for functions that PyTorch cannot trace
            (`docs/patches.md`). `"auto"` uses those that the module calls if the plain capture
            fails or fixes a size, `"none"` uses none. Patches in a list are always used.
        functions: The modules to write as local functions (`docs/functions.md`): `"auto"` for
            those that repeat, `"none"`, or those of the classes in a list.
        state: How to treat buffers, parameters and inputs that the module writes to
            (`docs/state.md`): `"io"` makes each an input and an output, and is the default,
            `"refuse"` fails, `"drop"` keeps the first value and warns.

    Returns:
        The program; call it, save it, inspect it.

    Raises:
        UsageError: An argument is wrong or not supported.
        CaptureError: PyTorch cannot export the module.
        UnsupportedError: The program contains something that cannot be converted.
        MismatchError: `verify` found different values; nothing was written.
        FileError: A file cannot be read or written.
    """
    from onnxport._export import job

    with _errors.arguments():
        refused.check_report(report)
        refused.check_patches(patches)
        refused.check_verify(verify)
        refused.check(
            dynamo=dynamo,
            training=training,
            operator_export_type=operator_export_type,
            do_constant_folding=do_constant_folding,
            custom_opsets=custom_opsets,
            autograd_inlining=autograd_inlining,
        )
        work = job.Job(
            Path(artifacts_dir),
            {
                "input_names": list(input_names) if input_names is not None else None,
                "output_names": list(output_names) if output_names is not None else None,
                "opset": opset_version,
                "profile": None if isinstance(profile, bool) else os.fspath(profile),
                # The default leaves it to the file.
                "optimize": None if optimize else False,
                "config": os.fspath(config) if isinstance(config, os.PathLike) else config,
                "preset": preset,
                "state": state,
                "functions": modules.selected(functions, export_modules_as_functions),
                **(options or {}),
            },
            plugins=tuple(map(os.fspath, plugins)),
            custom=Custom.of(custom_translation_table, rules, passes),
            patches=patches,
            verbose=bool(verbose),
            report=report,
            profile=profile is True,
            dump=dump_exported_program,
        )
    try:
        with _errors.known(), work.reported(), _errors.known():
            program = work.run(model, args, kwargs, dynamic_shapes, dynamic_axes)
            if verify:
                work.say("verifying")
                program.verify(module=verify != "program")
            if f is not None:
                work.say("writing")
                _write(program, f, export_params, keep_initializers_as_inputs, external_data)
    except _errors.InternalError:
        raise
    except _errors.Error as error:
        # The frames of this package say nothing about the user's program.
        raise error.with_traceback(None) from error.__cause__
    return program


def _write(
    program: ONNXProgram,
    f: Any,
    export_params: bool,
    keep_initializers_as_inputs: bool,
    external_data: bool,
) -> None:
    if isinstance(f, io.IOBase) or hasattr(f, "write"):
        message = (
            "writing to an open file is deprecated, since it keeps the whole model in memory: "
            "pass a path"
        )
        warnings.warn(message, DeprecationWarning, stacklevel=4)
        message = program.to_bytes(export_params, keep_initializers_as_inputs)
        try:
            f.write(message)
        except Exception as error:
            raise _errors.unwritten(getattr(f, "name", f), error) from error
        return
    if not isinstance(f, (str, os.PathLike)):
        raise _errors.usage(f"`f` is a {type(f).__name__}, neither a path nor an open file")
    program.save(
        f,
        include_initializers=export_params,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        external_data=external_data,
    )
