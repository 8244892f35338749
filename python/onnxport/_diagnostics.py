"""Diagnostics: a code, a message, its location, and a next step."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

# Shown with the error itself: code to paste into the script that failed.
_IN_PYTHON = ("lowering", "class", "kernel")


@dataclass(frozen=True)
class Suggestion:
    """Code to paste: the next step, or a starting point for it.

    `subject` is its kind: `lowering`, `plugin` (the same in Rust), `module`, `shapes`, `class`,
    `kernel`. `text` belongs before `line` of `file`, if these are known.
    """

    subject: str
    title: str
    text: str
    file: str | None = None
    line: int | None = None

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Suggestion:
        """Return the suggestion of a JSON record."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in record.items() if key in known})

    def __str__(self) -> str:
        return f"{'//' if self.subject == 'plugin' else '#'} {self.title}\n{self.text}"


@dataclass(frozen=True)
class SourceLine:
    """A line of source code, and its text if the program recorded it."""

    file: str
    line: int
    source: str | None = None


@dataclass(frozen=True)
class Diagnostic:
    """A problem, or a note.

    `code` is stable: `onnxport explain CODE` teaches about it. `file` and `line` are the deepest
    line of the user's own code and `source` its text, `library` the deepest line of an installed
    library that this code calls, `module` the path of the module there, `target` the operator.
    `suggestions` can be pasted.
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
    source: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    library: SourceLine | None = None

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Diagnostic:
        """Return the diagnostic of a JSON record; keys that are not known are passed over."""
        known = {field.name for field in dataclasses.fields(cls)}
        values = {key: value for key, value in record.items() if key in known}
        values["notes"] = tuple(record.get("notes", ()))
        values["suggestions"] = tuple(map(Suggestion.read, record.get("suggestions", ())))
        library = record.get("library")
        values["library"] = library and SourceLine(
            library["file"], library["line"], library.get("source")
        )
        return cls(**values)

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.file is not None:
            lines.append(f"  --> {self.file}:{self.line}")
        if self.source:
            lines.append(f"   |  {self.source.strip()}")
        if self.library is not None:
            lines.append(f"  ::: {self.library.file}:{self.library.line}")
            if self.library.source:
                lines.append(f"   |  {self.library.source.strip()}")
        if self.module:
            lines.append(f"  = in {' '.join(filter(None, (self.module, self.target)))}")
        lines += [f"  = {note}".replace("\n", "\n    ") for note in self.notes]
        if self.help:
            lines.append(f"  help: {self.help}".replace("\n", "\n    "))
        elif self.severity == "error" and self.code.startswith("OP") and self.code != "OP001":
            lines.append(f"  help: `onnxport explain {self.code}` lists ways out")
        return "\n".join(lines)


def read(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a JSON list of records, or of a report that has them."""
    data = json.loads(text) if text else []
    records = data.get("diagnostics", []) if isinstance(data, Mapping) else data
    return tuple(Diagnostic.read(record) for record in records)


def sarif(diagnostics: Iterable[Diagnostic], root: str) -> str:
    """Return a SARIF log; files below the folder `root` are named relative to it."""
    from onnxport import _native

    records = [dataclasses.asdict(one) for one in diagnostics]
    return _native.sarif(json.dumps(records), root)


def text(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the text for a terminal. Diagnostics that differ only in location are shown once."""
    diagnostics = tuple(diagnostics)
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for one in diagnostics:
        groups.setdefault((one.severity, one.code, one.message), []).append(one)
    shown = []
    for first, *others in groups.values():
        more = f"\n  and {len(others)} more occurrences" if others else ""
        shown.append(f"{first}{more}")
    return "\n\n".join(shown) + to_paste(diagnostics)


def to_paste(diagnostics: Iterable[Diagnostic], most: int = 3) -> str:
    """Return the first suggestions for the user's own script, each once, below an empty line."""
    all = (s for one in diagnostics for s in one.suggestions if s.subject in _IN_PYTHON)
    found = list(dict.fromkeys(all))
    shown = [f"\n\n{suggestion}" for suggestion in found[:most]]
    if len(found) > most:
        shown.append(f"\n\n# and {len(found) - most} more in `diagnostics` of this error")
    return "".join(shown)
