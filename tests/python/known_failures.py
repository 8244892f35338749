"""Lists of known failures: a TOML table from a name to the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def load(path: Path) -> dict[str, str]:
    """Return name -> reason."""
    return tomllib.loads(path.read_text())


def marks(known: dict[str, str], name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a test: a known failure must fail, so that a pass is noticed."""
    return [pytest.mark.xfail(reason=known[name], strict=True)] if name in known else []


def strays(known: dict[str, str], names: set[str]) -> set[str]:
    """Return the entries that name no test."""
    return known.keys() - names
