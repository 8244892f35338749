"""Lines of the user's own code."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

_OWN = os.path.dirname(os.path.dirname(__file__))
_PYTHON = os.path.dirname(os.__file__)


def of_error(error: BaseException | None) -> dict[str, Any]:
    """Return the deepest line of the user's code in the traceback of `error`."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    return _deepest((frame.filename, frame.lineno) for frame in frames)


def within_library(error: BaseException | None) -> tuple[str, ...]:
    """Return a note with the deepest line of a library that the line of `of_error` calls."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    own = [(frame.filename, frame.lineno or 1) for frame in frames if _is_own(frame.filename)]
    users = [index for index, (file, _) in enumerate(own) if "site-packages" not in file]
    if not users or users[-1] == len(own) - 1:
        return ()
    file, line = own[-1]
    return (f"in the library that it calls: {file}:{line}: {at(file, line)['source'] or ''}",)


def of_stack(stack: Iterable[tuple[str | None, int]]) -> dict[str, Any]:
    """Return the deepest line of the user's code in a stack of files and lines."""
    return _deepest((file, line) for file, line in stack if file is not None)


def of_trace(trace: str | None) -> dict[str, Any]:
    """Return the deepest line of the user's code in a trace as text, which PyTorch keeps."""
    found = re.findall(r'^ *File "(.+)", line (\d+)', trace or "", re.MULTILINE)
    return _deepest((file, int(line)) for file, line in found)


def of_caller() -> dict[str, Any]:
    """Return the line of the user's code that is being run."""
    frame = sys._getframe()
    stack = []
    while frame is not None:
        stack.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _deepest(reversed(stack))


def warn(message: str) -> None:
    """Warn at the line of the user's code that is being run."""
    frame, level = sys._getframe(1), 2
    while frame is not None and not _is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level if frame is not None else 2)


def at(file: str, line: int) -> dict[str, Any]:
    """Return the description of a line in a diagnostic."""
    return {"file": file, "line": line, "source": linecache.getline(file, line).strip() or None}


def _deepest(stack: Iterable[tuple[str, int | None]]) -> dict[str, Any]:
    own = [(file, line or 1) for file, line in stack if _is_own(file)]
    others = [place for place in own if "site-packages" not in place[0]]
    for file, line in (others or own)[-1:]:
        return at(file, line)
    return {}


def _is_own(file: str) -> bool:
    # PyTorch is not loaded for this.
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    libraries = (_OWN, os.path.dirname(torch)) if torch else (_OWN,)
    return not file.startswith(("<", *libraries)) and _PYTHON not in file
