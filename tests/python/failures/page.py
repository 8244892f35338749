"""Runs the programs of the page, and writes the page from their output."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from tests.python import forked
from tests.python.failures.cases import FAILURES, Failure
from tests.python.onnx_runtime import binary

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "docs/failures"
PAGE = ROOT / "docs/failures.md"

HEAD = """\
# When a conversion fails

Frequent failures of exports, each with a small program, onnxport's output, and the fix that it
suggests. `...` stands for PyTorch's own exception.

- `onnxport explain CODE` explains a code; `onnxport explain CODE MODEL` shows where it occurs.
- `onnxport check MODEL --suggest` prints all code to paste.
- In Python, `diagnostics` of the error has the same data, including `suggestions`.
"""


def run(command: str, folder: Path) -> str:
    """Return the output of `command`, without the traceback and the names of folders."""
    words = shlex.split(command)
    words[0] = {"python": forked.python(), "onnxport": str(binary())}[words[0]]
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600
    )
    printed = done.stdout + done.stderr
    for name in {str(folder), str(folder.resolve())}:
        printed = printed.replace(f"{name}/", "")
    printed = re.sub(r"\S+/site-packages/", ".../", printed)
    return _shortened(printed).rstrip()


def environment() -> dict[str, str]:
    """Return an environment in which Python finds the package."""
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}


def _shortened(printed: str) -> str:
    """Leave out tracebacks, and the line of code that Python repeats below a warning."""
    before, traceback, _ = printed.partition("Traceback (most recent call last):\n")
    # Warnings of others, and the lines of code below them and below our own.
    before = re.sub(
        r"^\S+: \w*Warning: (?!warning\[).*\n(  \S.*\n)?", "", before, flags=re.MULTILINE
    )
    lines = before.splitlines()
    kept = [line for line in lines if not re.match(r"  (program = )?onnxport\.export", line)]
    if traceback:
        said = list(re.finditer(r"^onnxport\.\w+: ", printed, re.MULTILINE))
        kept += ["...", printed[said[-1].start() :].rstrip()]
    return "\n".join(kept)


def prepared(failure: Failure, folder: Path, mended: bool = False) -> Path:
    """Return a folder with the program alone."""
    folder.mkdir(parents=True)
    source = PROGRAMS / "mended" if mended else PROGRAMS
    shutil.copy(source / f"{failure.program}.py", folder)
    return folder


def section(failure: Failure, folder: Path) -> str:
    """Return the section of one failure; everything in it is run."""
    here = prepared(failure, folder / failure.program)
    path = PROGRAMS / f"{failure.program}.py"
    code = f" (`{failure.code}`)" if failure.code else ""
    lines = [f"## {failure.title}", "", f"{failure.about}", ""]
    lines[0] += code
    lines += ["```python", path.read_text().rstrip(), "```", ""]
    lines += console((failure.run, *failure.shown), here)
    if failure.after:
        mended = prepared(failure, folder / f"{failure.program}-mended", mended=True)
        lines += ["", "The change:", "", "```diff", *changes(failure), "```", ""]
        lines += console((failure.run, *failure.after), mended)
    return "\n".join([*lines, ""])


def console(commands: tuple[str, ...], folder: Path) -> list[str]:
    """Return commands with their output."""
    lines = ["```console"]
    for command in commands:
        lines += [f"$ {command}", *run(command, folder).splitlines()]
    return [*lines, "```"]


def changes(failure: Failure) -> list[str]:
    """Return how the mended program differs."""
    texts = [(PROGRAMS / part / f"{failure.program}.py").read_text() for part in ("", "mended")]
    found = difflib.unified_diff(*(text.splitlines() for text in texts), n=1, lineterm="")
    return [line for line in list(found)[2:] if not line.startswith("@@")]


def sections(text: str) -> dict[str, str]:
    """Return the sections of a page by their titles, the head under the empty one."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    named = {part.splitlines()[0].removeprefix("## ").split(" (`")[0]: part for part in parts[1:]}
    return {"": parts[0], **named}


TITLES = [failure.title for failure in FAILURES]
