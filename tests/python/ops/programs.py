"""Dump programs of every overload: `python -m tests.python.ops.programs [FAMILY …]`.

Cases of the suites come first. What they leave is called with made up arguments (`made_up`).

The Rust tests lower them without PyTorch: `tests/files/overloads` has a file for each family, with
the programs as text and the models that come out. The outputs are kept where the program did not
change; `UPDATE=1 cargo test -p onnxport-tests overloads::` writes the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.utils._pytree as pytree

import onnxport
from tests.python.onnx_runtime import ROOT, binary
from tests.python.ops import made_up
from tests.python.ops.harness import OpCase, Random, every_dim, export, targets

FILES = ROOT / "tests/files/overloads"
# Of one overload; the first that differs in what it is made to show.
MOST = 3
# Facts of the exporting process, and Python's descriptions of trees.
HEADERS = ("torch ", "in_spec ", "out_spec ")


@dataclass
class Dumped:
    """A program in text form, and the options to lower it."""

    name: str
    options: tuple[str, ...]
    program: str

    def text(self, model: str) -> str:
        """Return the case as it stands in a file."""
        options = f"--- options\n{' '.join(self.options)}\n" if self.options else ""
        return f"=== {self.name}\n{options}--- program\n{self.program}{model}"


def suites() -> dict[str, list[tuple[str, OpCase]]]:
    """Return the cases of every family, with their names."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.python.ops.{path.stem}")
        test = getattr(module, "test_ops", None)
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        if marks:
            cases = [(entry.id, entry.values[0]) for entry in marks[0].args[1] if not entry.marks]
            found[path.stem.removeprefix("test_")] = cases
    return found


def kind(entry: OpCase) -> tuple[object, ...]:
    """Return the key of a case among those of its overload: types, dynamic sizes, the opset."""
    leaves = pytree.tree_leaves(entry.inputs)
    drawn = (leaf.dtype for leaf in leaves if isinstance(leaf, Random | torch.Tensor))
    return (next(drawn, None), entry.dynamic is not None, entry.options)


def chosen(cases: list[tuple[str, OpCase]]) -> Iterator[tuple[str, OpCase]]:
    """Yield up to `MOST` cases of each overload, of different kinds."""
    seen: dict[str, set[tuple[object, ...]]] = {}
    for name, entry in cases:
        kinds = seen.setdefault(entry.op, set())
        if len(kinds) < MOST and kind(entry) not in kinds:
            kinds.add(kind(entry))
            yield name, entry


def dump(name: str, entry: OpCase, folder: Path) -> Dumped:
    """Export a case and return its program as text."""
    generator = torch.Generator().manual_seed(zlib.crc32(entry.id.encode()))
    inputs = pytree.tree_map(
        lambda leaf: leaf.draw(generator) if isinstance(leaf, Random) else leaf, entry.inputs
    )
    shapes = pytree.tree_map(every_dim, inputs) if entry.dynamic is True else entry.dynamic
    program = export(entry.function, inputs, shapes)
    if entry.op not in targets(program):
        raise ValueError(f"{name} does not hold {entry.op}")
    archive = folder / "op.pt2"
    onnxport.save(program, archive)
    emit = [binary(), "convert", archive, "--emit", "program"]
    text = subprocess.run(emit, check=True, capture_output=True, text=True).stdout
    lines = (line for line in text.splitlines(keepends=True) if not line.startswith(HEADERS))
    # The lines that calls come from say where this was run, and move with every edit.
    text = re.sub(r'( @)? at "[^"\n]*":\d+', "", "".join(lines))
    return Dumped(name, entry.options, text)


def rest(folder: Path) -> Iterator[Dumped]:
    """Yield a program of each overload that `made_up.txt` holds."""
    held = {head.splitlines()[0].removeprefix("=== ") for head in models(FILES / "made_up.txt")}
    for target in sorted(held):
        for entry in made_up.calls(target):
            # A call that cannot be exported or converted was not the right one.
            with contextlib.suppress(Exception):
                dumped = dump(target, entry, folder)
                check = [binary(), "check", folder / "op.pt2"]
                subprocess.run(check, check=True, capture_output=True)
                yield dumped
                break


def models(path: Path) -> dict[str, str]:
    """Return the rest behind each program of a file, by the text before it."""
    if not path.exists():
        return {}
    found = {}
    for text in re.split(r"^(?==== )", path.read_text(), flags=re.MULTILINE)[1:]:
        head, *model = re.split(r"^(?=--- (?:model|error)$)", text, flags=re.MULTILINE)
        found[head] = "".join(model)
    return found


def main() -> None:
    """Write the files of the families that are named, or of all."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.python.ops.programs", description=__doc__
    )
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="such as pointwise_unary")
    families = parser.parse_args().families
    FILES.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="onnxport-programs-"))
    found = {
        family: itertools.starmap(lambda name, entry: dump(name, entry, folder), chosen(cases))
        for family, cases in suites().items()
    }
    found["made_up"] = rest(folder)
    for family, dumped in found.items():
        if families and family not in families:
            continue
        path = FILES / f"{family}.txt"
        known = models(path)
        texts = [case.text(known.get(case.text(""), "")) for case in dumped]
        path.write_text("".join(texts))
        print(f"{family}: {len(texts)} programs, {path.stat().st_size} bytes")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
