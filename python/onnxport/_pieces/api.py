"""`onnxport.pieces`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnxport import _errors
from onnxport._pieces.tree import Pieces


def pieces(
    model: Any,
    inputs: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    all: bool = False,
    once: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    opset_version: int | None = None,
    optimize: bool = True,
    custom_translation_table: Mapping[Any, Callable[..., Any] | Sequence[Callable[..., Any]]]
    | None = None,
    plugins: Sequence[str | os.PathLike[str]] = (),
    options: Mapping[str, Any] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Pieces:
    """Convert the modules of a model in isolation, and find those that fail.

    The model runs once, and the inputs of each module are recorded. Then the model is converted
    and compared with the module in ONNX Runtime; if it fails or differs, the modules inside it are
    examined in the same way, and so on. Sibling modules are converted together, each on its own
    inputs, so that one bad layer of a thousand costs a few conversions. Every module begins with
    its current buffers, which do not change.

    Args:
        model: A module, an exported program, or the path of a `.pt2`.
        inputs: The arguments of the call; by default those of the program's example.
        kwargs: Keyword arguments of the call.
        all: Examine all modules, not only those inside failing ones.
        once: Examine only one of several layers with equal code, settings and shapes, whatever
            their weights.
        rtol: The relative tolerance, by default one for the type.
        atol: The absolute tolerance.
        opset_version: As `onnxport.export` has it.
        optimize: As `onnxport.export` has it.
        custom_translation_table: As `onnxport.export` has it.
        plugins: As `onnxport.export` has it.
        options: As `onnxport.export` has it.
        progress: Called with a line about each step, such as `converting layers.3`.

    Returns:
        The tree of the modules, each with a verdict, a reason and its error. `found` are those
        in which a problem originates.

    Raises:
        UnverifiedError: There is no ONNX Runtime.
    """
    import importlib.util

    from onnxport._export import caches, job
    from onnxport._pieces.calls import record
    from onnxport._pieces.group import Trials
    from onnxport._pieces.search import Search

    if importlib.util.find_spec("onnxruntime") is None:
        raise _errors.UnverifiedError("there is no ONNX Runtime: pip install onnxruntime")
    module, args, named = _module(model, inputs, kwargs)
    job.warn_of_training(module)
    given = {
        "opset_version": opset_version,
        "optimize": optimize,
        "custom_translation_table": custom_translation_table,
        "plugins": plugins,
        "options": options,
    }
    tell = progress or (lambda _: None)
    trials = Trials(given, rtol, atol, tell=tell)
    tell("recording calls")
    with caches.registered():
        found = record(module, args, named)
        root = Search(found, trials, all=all, once=once).run(module)
    return Pieces(root, trials.conversions)


def _module(
    model: Any, inputs: Any, kwargs: Mapping[str, Any] | None
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    import torch
    from torch.export import ExportedProgram

    from onnxport._onnx_program.reference import load

    if isinstance(model, (str, os.PathLike)):
        model = load(model)
    args = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    if isinstance(args, Mapping) or not isinstance(args, (tuple, list)):
        message = f"`inputs` is a {type(inputs).__name__} and no tuple"
        raise _errors.usage(message, "keyword arguments are `kwargs`")
    named = dict(kwargs or {})
    if isinstance(model, ExportedProgram):
        if not args and not named and model.example_inputs is not None:
            args, named = model.example_inputs
        # The traced module no longer depends on the mode.
        model = torch.export.unflatten(model).eval()
    if not isinstance(model, torch.nn.Module):
        raise _errors.usage(f"a {type(model).__name__} has no modules")
    return model, tuple(args), dict(named)
