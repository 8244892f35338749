"""Convert with onnxport's op sets as shared libraries as well, and compare the results.

`ONNXPORT_LOADED` names the libraries, separated as in `PATH`; without it only the linked-in op sets
are used. `cargo xtask test` builds the libraries and sets it.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

from tests.python.onnx_runtime import ConvertError, MismatchError, binary, convert

OP_SETS = {"aten", "torchvision"}


@functools.cache
def arguments() -> tuple[str, ...]:
    """Return the arguments that load the libraries, each in the place of a linked one."""
    paths = [path for path in os.environ.get("ONNXPORT_LOADED", "").split(os.pathsep) if path]
    if not paths:
        return ()
    plugins = tuple(argument for path in paths for argument in ("--plugin", path))
    command = [binary(), "plugin", "list", "--json", *plugins]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["plugins"]
    loaded = {plugin["id"] for plugin in listed if plugin["source"] != "linked"}
    if loaded != OP_SETS:
        raise RuntimeError(f"ONNXPORT_LOADED gives {sorted(loaded)}, not {sorted(OP_SETS)}")
    return plugins


def convert_both(source: Path, target: Path, *options: str) -> None:
    """Convert as `convert` does; with loaded op sets the bytes and refusals are the same."""
    expected = attempt(source, target, *options)
    if plugins := arguments():
        folder = target.parent / "loaded"
        folder.mkdir()
        got = attempt(source, folder / target.name, *options, *plugins)
        if str(got).replace(str(folder), str(target.parent)) != str(expected):
            raise MismatchError(f"the loaded op sets say: {got}; the linked ones: {expected}")
        if files(folder, target.name) != files(target.parent, target.name):
            raise MismatchError("the loaded op sets make another model than the linked ones")
    if expected:
        raise expected


def attempt(source: Path, target: Path, *options: str) -> ConvertError | None:
    """Convert and return the refusal, if any."""
    try:
        convert(source, target, *options)
    except ConvertError as error:
        return error
    return None


def files(folder: Path, name: str) -> dict[str, bytes]:
    """Return the contents of a model and of its data file, where there are any."""
    paths = [folder / name, folder / f"{name}.data"]
    return {path.name: path.read_bytes() for path in paths if path.exists()}
