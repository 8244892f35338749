# fmt: off
# ruff: noqa
"""The commands, with their options as keywords.

Generated from the command line: `UPDATE=1 cargo test -p onnxport --lib signatures` writes it.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from onnxport._commands import Command, Result

_Path: TypeAlias = str | os.PathLike[str]

_Free: TypeAlias = str | int | float | Sequence[Any] | Mapping[str, Any]
"""What the option reads from a text, or the same as data."""
