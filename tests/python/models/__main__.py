"""`python -m tests.python.models`: list models, make their archives, count operators and rules."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.python.models.registry import CACHE, load_all
from tests.python.onnx_runtime import binary

APPLIED = Path(__file__).parents[3] / "core/requests/src/rules/applied.txt"


def calls(graph_module: Any) -> Iterator[str]:
    """Yield the target of every call in a decoded `model.json`, also inside subgraphs."""
    if isinstance(graph_module, dict):
        if "target" in graph_module and "inputs" in graph_module:
            yield graph_module["target"]
        for value in graph_module.values():
            yield from calls(value)
    elif isinstance(graph_module, list):
        for value in graph_module:
            yield from calls(value)


def census(folder: Path) -> Iterator[str]:
    """Yield one line per operator: models that use it, calls in all, name, names of the models."""
    counts: Counter[str] = Counter()
    users: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(folder.glob("*.pt2")):
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/model.json"))
            for target in calls(json.loads(archive.read(name))):
                counts[target] += 1
                users[target].add(path.stem)
    for target in sorted(counts, key=lambda target: (-len(users[target]), target)):
        models = " ".join(sorted(users[target]))
        yield f"{len(users[target]):3} {counts[target]:6} {target}  {models}"


def applied(folder: Path) -> str:
    """Return how often rules are applied: plugin, rule, models, places."""
    places: Counter[str] = Counter()
    users: Counter[str] = Counter()
    converted = 0
    for path in sorted(folder.glob("*.pt2")):
        # With their weights, since rules fold into them.
        with tempfile.TemporaryDirectory() as room:
            target = Path(room, path.stem).with_suffix(".onnx")
            command = [binary(), "convert", path, "-o", target, "--no-verify"]
            command += ["--optimize", "target", "--json"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        # Known failures say nothing about rules.
        if done.returncode:
            continue
        converted += 1
        for count in json.loads(done.stdout).get("optimised", {}).get("counts", []):
            name = f"{count['plugin']} {count['name']}"
            places[name] += count["applied"]
            users[name] += 1
    lines = [f"{name} {users[name]} {places[name]}\n" for name in sorted(places)]
    return f"# {converted} models, at --optimize target\n" + "".join(lines)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.models", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print every model and why it is static, where it is")
    make = commands.add_parser("make", help="export models and record their expected values")
    make.add_argument("--out", type=Path, default=CACHE)
    make.add_argument("--all", action="store_true")
    make.add_argument("names", nargs="*")
    count = commands.add_parser("census", help="count the operators of the archives in a folder")
    count.add_argument("folder", type=Path, nargs="?", default=CACHE)
    rules = commands.add_parser("applied", help="count the places of rules, for `onnxport rules`")
    rules.add_argument("folder", type=Path, nargs="?", default=CACHE)
    options = parser.parse_args()
    models = load_all()
    if options.command == "list":
        for entry in models.values():
            print(f"{entry.name:24} {entry.static}".rstrip())
        return 0
    if options.command == "census":
        print("\n".join(census(options.folder)))
        return 0
    if options.command == "applied":
        if not any(options.folder.glob("*.pt2")):
            parser.error(f"there are no archives in {options.folder}: `make --all` makes them")
        APPLIED.write_text(applied(options.folder))
        return 0
    if not options.all and not options.names:
        make.error("name models, or give --all")
    failed = 0
    for name in models if options.all else options.names:
        start = time.monotonic()
        try:
            path = models[name].make(options.out)
            print(
                f"{name:24} {path.stat().st_size / 1e6:9.2f} MB  {time.monotonic() - start:.1f} s"
            )
        except Exception as error:
            failed += 1
            print(f"{name:24} {type(error).__name__}: {str(error)[:2000]}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
