"""What onnxport reports: a code, a message, where it is, and what helps."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Diagnostic:
    """A problem, or a note.

    `code` is stable: `onnxport explain CODE` teaches about it. `file` and `line` are the deepest
    line of the user's own code, `module` the path of the module there, `target` the operator.
    """

    severity: Severity
    code: str
    message: str
    file: str | None = None
    line: int | None = None
    module: str | None = None
    node: str | None = None
    target: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    provider: str | None = None

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Diagnostic:
        """Return the diagnostic of a JSON record; keys that are not known are passed over."""
        known = {field.name for field in dataclasses.fields(cls)}
        values = {key: value for key, value in record.items() if key in known}
        return cls(**{**values, "notes": tuple(record.get("notes", ()))})

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.file is not None:
            lines.append(f"  at {self.file}:{self.line}")
        if self.module or self.target:
            lines.append(f"  in {' '.join(filter(None, (self.module, self.target)))}")
        lines += [f"  {note}" for note in self.notes]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


def read(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a JSON list of records, or of a report that has them."""
    data = json.loads(text) if text else []
    records = data.get("diagnostics", []) if isinstance(data, Mapping) else data
    return tuple(Diagnostic.read(record) for record in records)


def text(diagnostics: Iterable[Diagnostic]) -> str:
    """Return what a terminal shows. Those that differ only in their place are shown once."""
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for one in diagnostics:
        groups.setdefault((one.severity, one.code, one.message), []).append(one)
    shown = []
    for first, *others in groups.values():
        more = f"\n  and {len(others)} more places" if others else ""
        shown.append(f"{first}{more}")
    return "\n\n".join(shown)
