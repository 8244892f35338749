"""The command `onnxport`, as the wheel installs it."""

import sys

from onnxport import _native


def main() -> int:
    """Run the command line of the process; the exit code comes back."""
    return _native.main(["onnxport", *sys.argv[1:]])
