"""Pages that a reader follows: their files are made, and their commands run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary

HOME = "/home/me"
PACKAGES = f"{HOME}/.venv/site-packages"
PLACE = re.compile(r"\b(Append\s+to|Make|Change|From) `([^`]+)`:\s*$")


@dataclass
class Block:
    """A fenced block: its language, its lines, and the file that it belongs to."""

    language: str
    first: int
    lines: list[str] = field(default_factory=list)
    verb: str = ""
    file: str | None = None

    def commands(self) -> list[tuple[str, str]]:
        """Return each command with its output in the page."""
        found: list[tuple[str, list[str]]] = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return [(command, "\n".join(lines)) for command, lines in found]

    def write(self, folder: Path) -> None:
        """Make, append to or change the file, as the text before the block says."""
        assert self.file is not None
        path = folder / self.file
        text = "\n".join(self.lines) + "\n"
        if self.verb == "From":
            assert text == (ROOT / self.file).read_text(), f"{self.file} differs"
            return
        if self.verb == "Make":
            assert not path.exists(), f"{path.name} is made twice"
        elif self.verb == "Change":
            text = changed(path.read_text(), self.lines)
        else:
            # Items of Rust have an empty line between them.
            text = path.read_text() + ("\n" if path.suffix == ".rs" else "") + text
        path.write_text(text)


def changed(text: str, lines: list[str]) -> str:
    """Apply the lines of a diff, whose old lines are in `text` once."""
    old, new = (
        "".join(f"{line[1:]}\n" for line in lines if line[:1] in marks) for marks in (" -", " +")
    )
    assert text.count(old) == 1, f"{text.count(old)} places for\n{old}"
    return text.replace(old, new)


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    open_block: Block | None = None
    before: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if open_block is None and line.startswith("```"):
            place = PLACE.search(" ".join(before))
            verb, file = (place[1].split()[0], place[2]) if place else ("", None)
            open_block = Block(line[3:], number + 1, verb=verb, file=file)
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
    text = re.sub(r"PyTorch \d\S*", "PyTorch", text)
    text = re.sub(r"max (abs|rel) [^\s,]+", r"max \1 E", text)
    text = re.sub(r"((size-\d|drawn|prime|maximum) +\w+\[)\d+", r"\1N", text)
    text = re.sub(r"\bs\d+\b", "S", text)
    text = re.sub(r"slowest `[^`]*`", "slowest", text)
    text = re.sub(r"\([\d.]+ (bytes|kB)\)", "(N)", text)
    text = re.sub(r"-?\d\.\d{4,}", "F", text)
    text = re.sub(r"\d+ of \d+ elements", "N elements", text)
    text = re.sub(r"inputs: .*", "inputs", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def tools(folder: Path) -> dict[str, str]:
    """Return an environment with `onnxport` and `python` on its path."""
    programs = folder / ".tools"
    programs.mkdir()
    (programs / "onnxport").symlink_to(Path(binary()).resolve())
    (programs / "python").write_text(f'#!/bin/sh\nexec "{forked.python()}" "$@"\n')
    (programs / "python").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
        "VIRTUAL_ENV": str(forked.prefix()),
        "CARGO_NET_OFFLINE": "true",
        "XDG_DATA_HOME": str(folder / ".data"),
    }
    for name in ("CARGO_TARGET_DIR", "ONNXPORT_REFERENCE"):
        environment.pop(name, None)
    return environment


def follow(page: Path, home: Path) -> None:
    """Make every file in `home`, run every command, and compare its output with the page.

    `UPDATE=1` writes into the page what the commands print.
    """
    lines = page.read_text().splitlines()
    printed = [*run(blocks("\n".join(lines)), home)]
    if "UPDATE" not in os.environ:
        return
    for block, said in reversed(printed):
        new = [line for command, text in said for line in (f"$ {command}", *text.splitlines())]
        lines[block.first : block.first + len(block.lines)] = new
    page.write_text("\n".join(lines) + "\n")


def run(found: list[Block], home: Path) -> Iterator[tuple[Block, list[tuple[str, str]]]]:
    """Yield each block of commands, with what they print."""
    environment, folder = tools(home), home
    for block in found:
        if block.file:
            block.write(folder)
        if block.language != "console":
            continue
        said_here = []
        for command, expected in block.commands():
            if command.startswith("cd "):
                folder = entered(folder / command[3:])
                said_here.append((command, ""))
                continue
            said = as_seen(shown(command, folder, environment), home).strip("\n")
            said_here.append((command, said))
            if "UPDATE" not in os.environ:
                assert plain(said) == plain(expected), command
        yield block, said_here


def shown(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what a command prints, on both streams."""
    said = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout
    # The bars of progress of transformers are left out.
    return re.sub(r".*\dit/s\]\n?|.*\?it/s\]\n?", "", said)


def as_seen(said: str, home: Path) -> str:
    """Return output with the paths of a reader."""
    said = said.replace(str(home), HOME).replace(str(forked.prefix()), f"{HOME}/.venv")
    return re.sub(r"\S*/lib/python[\d.]+/site-packages", PACKAGES, said)


def entered(folder: Path) -> Path:
    """Return a folder; nothing of a crate in it is fetched or built twice."""
    if (folder / "Cargo.toml").exists():
        # The workspace's versions and builds are used.
        shutil.copy(ROOT / "Cargo.lock", folder / "Cargo.lock")
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        (folder / "target").symlink_to(target)
    return folder
