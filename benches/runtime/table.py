"""Measurements as text."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

Measured = dict[str, dict[str, Any]]

HEADS = "nodes | 1 thread, ms | ratio | 2 threads, ms | ratio | session, ms | MiB"
HEAD = f"| model | variant | {HEADS} |\n|---|---|--:|--:|--:|--:|--:|--:|--:|"
# How far outputs may be from PyTorch's, in parts of the largest number.
APART = 2e-3
# How much slower than the fastest of the others ours may be.
SLOWER = 1.01


def is_right(it: dict[str, Any]) -> bool:
    """Whether a variant ran, and agrees with PyTorch."""
    return "failed" not in it and it["1"]["apart"] <= APART


def lines(name: str, found: Measured) -> list[str]:
    """Return the lines of a model."""
    made = []
    for variant, it in found.items():
        if "failed" in it:
            made.append(f"| {name} | {variant} | {it['failed'][:60]} |")
            continue
        cells = [name, variant, str(it["nodes"])]
        for threads in ("1", "2"):
            ratio = f"{it[threads]['ratio']:.3f}" if is_right(it) else "wrong"
            cells += [f"{it[threads]['run'] * 1e3:.2f}", ratio]
        grown = f"{it['grown']:.0f}" if "grown" in it else ""
        cells += [f"{it['1']['session'] * 1e3:.0f}", grown]
        made.append(f"| {' | '.join(cells)} |")
    return made


def mean(ratios: Iterable[float]) -> str:
    """Return a geometric mean as text."""
    ratios = list(ratios)
    return f"{statistics.geometric_mean(ratios):.3f}" if ratios else "-"


def own(found: Measured) -> dict[str, dict[str, Any]]:
    """Return our variants that are right."""
    return {v: it for v, it in found.items() if v.startswith("onnxport_") and is_right(it)}


def fastest(found: Measured, threads: str) -> tuple[str, float]:
    """Return the fastest of the others' variants, and its ratio."""
    others = {
        variant: it[threads]["ratio"]
        for variant, it in found.items()
        if not variant.startswith("onnxport_") and variant != "again" and is_right(it)
    }
    return min(others.items(), key=lambda pair: pair[1])


def summary(measured: dict[str, Measured], kinds: dict[str, list[str]]) -> str:
    """Return geometric means for each kind, and the models where one of the others is faster."""
    made = ["", "| kind | models | variant | 1 thread | 2 threads | session | noise |"]
    made.append("|---|--:|---|--:|--:|--:|--:|")
    base = {name: it for name, it in measured.items() if "1" in it.get("torch", {})}
    for kind, names in kinds.items():
        there = [base[name] for name in names if name in base]
        for variant in sorted({variant for it in there for variant in it}):
            right = [it for it in there if variant in it and is_right(it[variant])]
            if variant in ("torch", "again") or not right:
                continue
            sessions = [it[variant]["1"]["session"] / it["torch"]["1"]["session"] for it in right]
            noise = max(abs(it["again"]["1"]["ratio"] - 1) for it in right)
            cells = [kind, str(len(right)), variant]
            cells += [mean(it[variant][threads]["ratio"] for it in right) for threads in "12"]
            made.append(f"| {' | '.join([*cells, mean(sessions), f'{noise:.3f}'])} |")
    made.append("")
    for name, found in base.items():
        for threads in "12":
            best, theirs = fastest(found, threads)
            mine = min((it[threads]["ratio"] for it in own(found).values()), default=float("inf"))
            if mine > SLOWER * theirs:
                slower = f"{mine / theirs:.3f} of {best}"
                made.append(f"- {name}, {threads} thread{'s' * (threads == '2')}: {slower}")
    return "\n".join(made)
