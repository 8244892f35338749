"""`docs/plugin-guide.md`, as a reader follows it.

Every file is made, every command is run, and its output is compared with the guide.

`UPDATE=1` writes into the guide what the commands print.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary

GUIDE = ROOT / "docs" / "plugin-guide.md"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HOME = "/home/me"
PACKAGES = f"{HOME}/.venv/site-packages"
PLACE = re.compile(r"\b(Append\s+to|Make) `([^`]+)`:\s*$")


@dataclass
class Block:
    """A fenced block: its language, its lines, and the file that it belongs to."""

    language: str
    first: int
    lines: list[str] = field(default_factory=list)
    file: str | None = None

    def commands(self) -> list[tuple[str, str]]:
        """Return each command with its output in the guide."""
        found: list[tuple[str, list[str]]] = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return [(command, "\n".join(lines)) for command, lines in found]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    open_block: Block | None = None
    before: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if open_block is None and line.startswith("```"):
            place = PLACE.search(" ".join(before))
            open_block = Block(line[3:], number + 1, file=place.group(2) if place else None)
        elif open_block is not None and line == "```":
            found.append(open_block)
            open_block, before = None, []
        elif open_block is not None:
            open_block.lines.append(line)
        else:
            # Of the text before, the last paragraph.
            before = [*before, line] if not before or before[-1] else [line] if line else before
    return found


def plain(text: str) -> str:
    """Return `text` without parts that differ from run to run: times, random sizes, versions."""
    text = re.sub(r"\d+(\.\d+)? ?(ms|s)\b", "T", text)
    text = re.sub(r"ONNX Runtime .*", "ONNX Runtime", text)
    text = re.sub(r"max (abs|rel) [^\s,]+", r"max \1 E", text)
    text = re.sub(r"size-(\d)   x\[\d+", r"size-\1   x[N", text)
    text = re.sub(r"\bs\d+\b", "S", text)
    text = re.sub(r"slowest `[^`]*`", "slowest", text)
    text = re.sub(r"\(\d+ bytes\)", "(N bytes)", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.skipif(sys.platform != "linux", reason="the guide names a library of Linux")
def test_the_guide_holds(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    (tmp_path / "onnxport").symlink_to(ROOT)
    tools = tmp_path / ".tools"
    tools.mkdir()
    (tools / "onnxport").symlink_to(Path(binary()).resolve())
    (tools / "python").write_text(f'#!/bin/sh\nexec "{forked.python()}" "$@"\n')
    (tools / "python").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "VIRTUAL_ENV": str(forked.prefix()),
        "CARGO_NET_OFFLINE": "true",
        "XDG_DATA_HOME": str(tmp_path / ".data"),
    }
    environment.pop("CARGO_TARGET_DIR", None)
    page = GUIDE.read_text().splitlines()
    folder, printed = tmp_path, []
    for block in blocks("\n".join(page)):
        if block.file:
            path = folder / block.file
            old = path.read_text() + "\n" if path.suffix == ".rs" else ""
            if path.suffix == ".txt":
                old = path.read_text()
            path.write_text(old + "\n".join(block.lines) + "\n")
        if block.language != "console":
            continue
        said_here = []
        for command, expected in block.commands():
            if command.startswith("cd "):
                folder = folder / command[3:]
                # Nothing is fetched or built twice: the workspace's versions and builds are used.
                shutil.copy(ROOT / "Cargo.lock", folder / "Cargo.lock")
                (folder / "target").symlink_to(TARGET)
                said_here.append((command, ""))
                continue
            result = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            said = result.stdout.replace(str(tmp_path), HOME).strip("\n")
            said = re.sub(r"\S*/lib/python[\d.]+/site-packages", PACKAGES, said)
            said_here.append((command, said))
            if "UPDATE" not in os.environ:
                assert plain(said) == plain(expected), command
        printed.append((block, said_here))
    if "UPDATE" in os.environ:
        for block, said_here in reversed(printed):
            lines = []
            for command, said in said_here:
                lines += [f"$ {command}", *said.splitlines()]
            page[block.first : block.first + len(block.lines)] = lines
        GUIDE.write_text("\n".join(page) + "\n")


def test_the_authors_lines_are_counted() -> None:
    text = GUIDE.read_text()
    own = [line for block in blocks(text) if block.file for line in block.lines]
    count = sum(1 for line in own if line.strip())
    assert f"{count} lines of your code" in text
    assert count < 30
