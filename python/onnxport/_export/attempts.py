"""The attempts of a capture: strategy, reason of the failure, source line and next step."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from onnxport._export import branches, places
from onnxport._export.patches import Used

Strategy = Literal["non-strict", "strict", "patched", "transformers", "draft"]

BY_DATA = re.compile(r"data-dependent (expression|branching)|Data-dependent", re.IGNORECASE)
# Hints of Dynamo that mean nothing for an export.
_ABOUT_COMPILE = re.compile(r"compile|Dynamo|dynamo|graph break")
_NO_PATCH = "no patch replaces a function that the model calls"


@dataclass(frozen=True)
class Attempt:
    """One strategy, its time, its error, the patches that it used, and the axes that it fixed."""

    strategy: Strategy
    seconds: float
    error: Exception | None = None
    patches: tuple[Used, ...] = ()
    fixed: tuple[str, ...] = ()

    @property
    def _no_patch(self) -> bool:
        return self.strategy == "patched" and self.error is not None and not self.patches

    @property
    def reason(self) -> str | None:
        """Why it failed, in one line; None if it succeeded."""
        if self.error is None:
            return None
        return _NO_PATCH if self._no_patch else of_error(self.error)

    @cached_property
    def _place(self) -> dict[str, Any]:
        if self._no_patch:
            return {}
        return places.of_error(self.error) or _of_dynamo(self.error)

    @property
    def file(self) -> str | None:
        """The file of the user's line where it failed."""
        return self._place.get("file")

    @property
    def line(self) -> int | None:
        """The number of the user's line where it failed."""
        return self._place.get("line")

    @property
    def source(self) -> str | None:
        """The text of the user's line where it failed."""
        return self._place.get("source")

    @property
    def next_step(self) -> str | None:
        """A way to make this strategy succeed, None where the error does not show one."""
        if self.error is None:
            return None
        if self._no_patch:
            return "add one for a function of a library with `onnxport.register_patch`"
        said = str(self.error)
        if BY_DATA.search(said):
            return branches.help(self.source)
        if "Constraints violated" in said:
            return (
                "use sizes of tensors, such as `x.shape[0]`, instead of numbers and of Python "
                "loops over an axis; or leave the dimension out of `dynamic_shapes`"
            )
        hints = re.findall(r"^\s*Hint: (.+)$", said, re.MULTILINE)
        return next((one.strip() for one in hints if not _ABOUT_COMPILE.search(one)), None)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.strategy}: {self.reason}"
        said = [f"{self.strategy}: succeeded in {self.seconds:.1f} s", *map(str, self.patches)]
        if self.fixed:
            said.append(f"but fixed the size of {', '.join(self.fixed)}")
        return "; ".join(said)


def _of_dynamo(error: BaseException | None) -> dict[str, Any]:
    """Return the line of the user's code that Dynamo was at."""
    stack = getattr(error, "real_stack", None) or ()
    return places.of_stack((frame.filename, frame.lineno or 1) for frame in stack)


def of_error(error: BaseException | None) -> str:
    """Return the type of an error and the first line of its message, with Dynamo's explanation."""
    found = re.search(r"^\s*Explanation: (.+)$", str(error), re.MULTILINE)
    explained = f": {found[1].strip()}" if found else ""
    return f"{type(error).__name__}: {first_line(error)}{explained}"


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().split("\n", 1)[0]


def table(attempts: Sequence[Attempt], stated: str | None = None) -> str:
    """Return the failed attempts as a table in text: strategy, line, reason, next step.

    Equal reasons are written once; `stated` is a next step that is shown elsewhere.
    """
    rows = [("attempt", "line", "error")]
    steps: list[str | None] = [None]
    seen: dict[str, str] = {}
    for one in attempts:
        if one.reason is None:
            continue
        place = "" if one.file is None else f"{os.path.basename(one.file)}:{one.line}"
        first = seen.setdefault(one.reason, one.strategy)
        reason = one.reason if first == one.strategy else f"the error of {first}"
        rows.append((one.strategy, place, reason))
        shown = first == one.strategy and one.next_step != stated
        steps.append(one.next_step if shown else None)
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = []
    for row, step in zip(rows, steps, strict=True):
        start = f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  "
        lines.append(f"{start}{row[2]}")
        if step is not None:
            lines.append(f"{' ' * len(start)}next: {step}")
    return "\n".join(lines)
