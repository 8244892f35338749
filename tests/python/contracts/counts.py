"""Counts PyTorch's test functions, and those whose behaviour a program here has."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path

from tests.python import known_failures
from tests.python.contracts import examples, registry

FOLDER = Path(__file__).parent
README = FOLDER / "README.md"
FILES = {
    "export": "test/export/test_export.py",
    "flow": "test/functorch/test_control_flow.py",
}

# The commits of PyTorch whose files were read.
COMMITS = {"export": "00131b6bd4be", "flow": "00541573af5f"}

HEAD = """\
# Contracts of PyTorch's tests of export and control flow

Each program in this folder has the behaviour that test functions of PyTorch require of a program,
in code of its own. `test_contracts.py` captures and converts it, runs it in ONNX Runtime, and
compares results, written inputs and written buffers with eager mode, also at other sizes or values.
The examples and samples of operators that the installed PyTorch has are run in the same way.

A test function is *held* if all programs that port it agree. `known_failures.toml` lists the others.
`excluded.toml` lists the test functions that are not ported, by reason. `python -m
tests.python.contracts` writes this page.
"""


def excluded() -> dict[str, dict[str, list[str]]]:
    """Return the test functions that are not ported, by file and reason."""
    found = known_failures.load(FOLDER / "excluded.toml")
    return {
        file: {reason: names.split() for reason, names in groups.items()}
        for file, groups in found.items()
    }


def ported() -> dict[str, dict[str, list[str]]]:
    """Return the programs that port each test function, by file."""
    found: dict[str, dict[str, list[str]]] = {file: {} for file in FILES}
    for name, contract in registry.load().items():
        for file, tests in contract.tests.items():
            for test in tests:
                found[file].setdefault(test, []).append(name)
    return found


def text() -> str:
    """Return the page."""
    known = known_failures.load(FOLDER / "known_failures.toml")
    programs = [*registry.load()], [*examples.examples()], [*examples.operators()]
    rows = ["| programs | number | agree |", "|---|--:|--:|"]
    subjects = ("ported", "examples of `torch._export.db`", "samples of `hop_db`")
    for subject, names in zip(subjects, programs, strict=True):
        rows.append(f"| {subject} | {len(names)} | {sum(one not in known for one in names)} |")
    total = [name for names in programs for name in names]
    agree = sum(one not in known for one in total)
    rows.append(f"| in all | {len(total)} | {agree} ({agree / len(total):.1%}) |")
    parts = [HEAD, "\n".join(rows)]
    parts += [_file(file, tests, known) for file, tests in ported().items()]
    listed = "\n".join(f"- `{name}`: {reason}." for name, reason in known.items())
    parts.append(f"## Programs that do not agree\n\nAll are refused by name.\n\n{listed}")
    left_out = Counter(examples.OTHER.values())
    reasons = ", ".join(f"{reason} ({count})" for reason, count in left_out.items())
    said = textwrap.fill(f"Of `hop_db`, these operators are left out: {reasons}.", 100)
    return "\n\n".join([*(part.strip() for part in parts), said]) + "\n"


def _file(file: str, tests: dict[str, list[str]], known: dict[str, str]) -> str:
    held = sum(all(one not in known for one in names) for names in tests.values())
    groups = excluded()[file]
    rows = [f"| held | {held} |", f"| not held | {len(tests) - held} |"]
    rows += [f"| {reason} | {len(names)} |" for reason, names in groups.items()]
    total = len(tests) + sum(map(len, groups.values()))
    share = f"{held / len(tests):.1%} of those that were ported"
    return (
        f"## `{FILES[file]}` at {COMMITS[file]}\n\n"
        "| test functions | number |\n|---|--:|\n" + "\n".join(rows) + f"\n| in all | {total} |\n\n"
        f"Held: {share}."
    )
