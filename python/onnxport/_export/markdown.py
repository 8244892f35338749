"""The report that `export(report=True)` writes."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any


def report(program: Any, seconds: Mapping[str, float], error: BaseException | None) -> str:
    """Return the report in Markdown: steps, times and findings."""
    lines = ["# Export to ONNX", ""]
    lines += ["Succeeded." if error is None else f"Failed: {type(error).__name__}.", ""]
    attempts = getattr(error, "attempts", None) or getattr(
        getattr(program, "capture", None), "attempts", ()
    )
    if attempts:
        lines += ["## Capture", "", *(f"- {attempt}" for attempt in attempts), ""]
    diagnostics = list(getattr(error, "diagnostics", ()))
    if program is not None:
        said = program.report
        for title in ("inputs", "outputs"):
            ports = said.get(title, ())
            lines += [
                f"## {title.capitalize()}",
                "",
                *(f"- `{one['name']}`: {one['type']}" for one in ports),
                "",
            ]
        diagnostics += program.diagnostics
    if diagnostics:
        lines += ["## Diagnostics", "", "```text", *map(str, diagnostics), "```", ""]
    if seconds:
        times = (f"- {stage}: {spent:.3f} s" for stage, spent in seconds.items())
        lines += ["## Time", "", *times, ""]
    exported = None if program is None else program._program
    if exported is not None:
        lines += ["## Exported program", "", "```python", str(exported), "```", ""]
    if error is not None:
        lines += [
            "## Traceback",
            "",
            "```text",
            "".join(traceback.format_exception(error)),
            "```",
            "",
        ]
    return "\n".join(lines)
