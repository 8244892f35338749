"""The command line of the scripts that write one file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def write(description: str | None, generate: Callable[[], str]) -> None:
    """Write the text that `generate` returns to the path given on the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("output", type=Path)
    parser.parse_args().output.write_text(generate())
