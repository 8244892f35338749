"""Several models in one folder, with one copy of their weights."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxport import _errors
from onnxport._onnx_program.conversion import public_errors

if TYPE_CHECKING:
    from onnxport._onnx_program.program import ONNXProgram


def save_package(
    programs: Mapping[str, ONNXProgram], folder: str | os.PathLike[str], **options: Any
) -> dict[str, Any]:
    """Write models into a new folder, as `onnxport package` does with programs in files.

    A model of the name `encoder` becomes `encoder.onnx`. Weights that are equal in several models
    are stored once.

    Args:
        programs: The models by name.
        folder: The folder, which must not exist.
        options: Those of `onnxport package` about its files, such as `shard_size="2GB"`.

    Returns:
        The output of `onnxport package --json` about the files.

    Raises:
        UsageError: A model has been changed, or a name is not that of a file.
        FileError: The folder exists or cannot be written; nothing has changed.
    """
    from onnxport import _native

    models = []
    for name, program in programs.items():
        model = program.unchanged
        if model is None:
            help = "save it separately"
            raise _errors.usage(f"`{name}` has been changed since its conversion", help)
        models.append((name, model))
    with public_errors():
        text = _native.save_package(models, os.fspath(folder), json.dumps(options))
    written: dict[str, Any] = json.loads(text)
    return written
