"""Descriptions of exceptions in lowerings."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

_OWN = str(Path(__file__).parent)


def described(error: BaseException) -> str:
    """Return the exception and its traceback, without the lines of this package."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = "".join(traceback.format_tb(_outside(error.__traceback__))).rstrip()
    return f"{text}\n{frames}" if frames else text


def _outside(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN):
        trace = trace.tb_next
    return trace
