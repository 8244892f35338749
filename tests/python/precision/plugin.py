"""The plugin of `examples/weights`."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

from tests.python.onnx_runtime import ROOT

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
NAMES = {"linux": "libbinary.so", "darwin": "libbinary.dylib", "win32": "binary.dll"}


@functools.cache
def weights_plugin() -> Path:
    """Build the plugin and return its library."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "build", "--quiet", "--locked", "--target-dir", TARGET]
    subprocess.run(command, cwd=ROOT / "examples" / "weights", check=True)
    return TARGET / "debug" / NAMES[sys.platform]
