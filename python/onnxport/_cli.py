"""The command `onnxport`, as the wheel installs it."""

import sys

from onnxport import _native


def main() -> int:
    """Run the command line of the process and return the exit code."""
    return _native.main(["onnxport", *sys.argv[1:]])
