"""Tries graphs of many seeds, in packs, and prints failures with their smallest graphs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping

import onnx.printer

from tests.python.generated.graphs.draw import draw
from tests.python.generated.graphs.graph import Graph, model
from tests.python.generated.graphs.judge import Counts, Failure, Pack
from tests.python.generated.graphs.shrink import shrink

PACK = 50
OPSETS = (20, 20, 18, 22)
# ONNX Runtime computes these otherwise than ONNX says, or depending on the position of elements.
RUNTIME_ONLY = "differs in ONNX Runtime only"


def packs(first: int, count: int) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the number of each pack, its opset and its seeds; a seed is in the same pack always."""
    for number in range(first // PACK, (first + count - 1) // PACK + 1):
        seeds = range(number * PACK, (number + 1) * PACK)
        wanted = [seed for seed in seeds if first <= seed < first + count]
        yield number, OPSETS[number % len(OPSETS)], wanted


def failures(first: int, count: int, counts: Counts) -> Iterator[tuple[Failure, int]]:
    """Yield each failure with its opset."""
    for number, opset, seeds in packs(first, count):
        for failure in Pack([draw(seed, opset) for seed in seeds], opset, counts).judge(number):
            yield failure, opset


def smallest(failure: Failure, opset: int) -> Failure:
    """Return the failure of the smallest graph that fails in the same way."""
    last = failure

    def fails(graph: Graph) -> bool:
        nonlocal last
        pack = Pack([graph], opset, Counts())
        found = next(pack.judged(failure.run, failure.at), None)
        if found is None or found.kind != failure.kind:
            return False
        last = found
        return True

    shrink(failure.graph, fails)
    return last


def reproduced(failure: Failure, opset: int) -> str:
    """Return a failure with its graph as text."""
    text = onnx.printer.to_text(model([failure.graph], opset))
    special = ", of special numbers" if failure.graph.special else ""
    title = f"seed {failure.graph.seed}, opset {opset}, {failure.run}{special}: {failure.kind}"
    return f"{title}\n{failure.detail}\n{text}\n"


def search(first: int, count: int, known: Mapping[str, str], keep: bool) -> bool:
    """Print failures and a table; return whether one is unknown."""
    counts, kinds = Counts(), Counter[str]()
    seen: set[int] = set()
    start, is_wrong = time.process_time(), False
    for failure, opset in failures(first, count, counts):
        seed = failure.graph.seed
        if f"graph-{seed}" in known:
            kinds["as is known"] += 1
            continue
        kinds[failure.kind] += 1
        is_wrong |= failure.kind != RUNTIME_ONLY
        if failure.kind == RUNTIME_ONLY or seed in seen:
            continue
        seen.add(seed)
        print(reproduced(failure if keep else smallest(failure, opset), opset), flush=True)
    compared = f"{counts.compared} results compared in ONNX Runtime"
    print(f"{counts.graphs} graphs, {compared} and {counts.evaluated} in the evaluator")
    print(
        f"{counts.refused} refused for a target, {time.process_time() - start:.0f} s of a processor"
    )
    print("\n| failure | graphs |\n|---|---:|")
    for kind, number in kinds.most_common():
        print(f"| {kind} | {number} |")
    return is_wrong
