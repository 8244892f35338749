"""Merges the facts of an op set, `facts.toml`, into the table of its schemas.

Facts follow their schema in a line that starts with `#:`, which readers of schemas alone skip.
"""

from __future__ import annotations

import re
from pathlib import Path

import tomllib

ARGUMENT = re.compile(r"[(,]([A-Za-z_]\w*)(?=(?::\d+)?[,)])")
Facts = dict[str, dict[str, str]]


def stated(path: Path, schemas: dict[str, str], namespace: str) -> Facts:
    """Return the facts in the file at `path`, by head and key.

    Raises `ValueError` for an operator or an argument that `schemas` lacks, and where two terms
    hold of one operator.
    """
    tables = tomllib.loads(path.read_text())
    tables.pop("schemas", None)
    by_op: dict[str, list[str]] = {}
    for head in schemas:
        by_op.setdefault(head.rpartition(".")[0], []).append(head)
    facts: Facts = {}
    for key, terms in tables.items():
        exact: dict[str, str] = {}
        general: dict[str, str] = {}
        for term, names in terms.items():
            for name in names.split():
                full = name if "::" in name or name in schemas else f"{namespace}::{name}"
                found, place = (
                    ([full], exact) if full in schemas else (by_op.get(full, []), general)
                )
                if not found:
                    raise ValueError(f"{path}: there is no operator {full}")
                for head in found:
                    if head in place:
                        raise ValueError(f"{path}: {key} of {head} is stated twice")
                    place[head] = term.replace(" ", "")
        for head, term in (general | exact).items():
            for argument in ARGUMENT.findall(term):
                if not re.search(rf" {argument}[,=)]", schemas[head]):
                    raise ValueError(f"{path}: {head} has no argument {argument}")
            facts.setdefault(head, {})[key] = term
    return facts


def schemas(path: Path) -> dict[str, str]:
    """Return the lines of operators whose schemas the file at `path` states itself, by head."""
    stated = tomllib.loads(path.read_text()).get("schemas", {})
    return {name: f"{name}{text}\n" for text, names in stated.items() for name in names.split()}


def programs(folder: Path) -> str:
    """Return the decompositions in the files of `folder`, as lines that readers of schemas skip."""
    lines = [
        line for path in sorted(folder.glob("*.txt")) for line in path.read_text().splitlines()
    ]
    return "".join(f"#| {line}\n" for line in lines if line.strip() and not line.startswith("#"))


def line(facts: dict[str, str]) -> str:
    """Return the line that follows a schema; empty where nothing is known."""
    known = [f"{key}={term}" for key, term in sorted(facts.items()) if term != "?"]
    return f"#: {' '.join(known)}\n" if known else ""
