"""Try seeds: `python -m tests.python.generated 1234`, or `--count 300` of them.

`--graphs` tries ONNX graphs, and `--calls` programs of calls of random overloads.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.python import known_failures
from tests.python.generated.draw import draw
from tests.python.generated.graphs.search import search
from tests.python.generated.judge import Outcome, Verdict, judge
from tests.python.generated.program import Program
from tests.python.generated.shrink import shrink


def main() -> int:
    """Print each failure with its smallest program, and a table of outcomes."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.generated", description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--count", type=int, default=0, help="so many seeds from `--first` on")
    parser.add_argument("--first", "--seed", type=int, default=0)
    parser.add_argument("--graphs", action="store_true", help="ONNX graphs through the optimizer")
    parser.add_argument("--calls", action="store_true", help="programs of calls of any overloads")
    parser.add_argument("--sizes", type=int, default=8, help="sizes to try of each program")
    parser.add_argument("--show", action="store_true", help="also print programs that do not fail")
    parser.add_argument("--keep", action="store_true", help="do not shrink programs")
    arguments = parser.parse_args()
    seeds = [*arguments.seeds, *range(arguments.first, arguments.first + arguments.count)]
    known = known_failures.load(Path(__file__).with_name("known_failures.toml"))
    if arguments.graphs:
        count = arguments.count or 1
        first = arguments.seeds[0] if arguments.seeds else arguments.first
        return int(search(first, count, known, arguments.keep))
    counts: Counter[tuple[Outcome, str]] = Counter()
    tried = 0
    for seed in seeds:
        start = time.perf_counter()
        program = draw(seed, arguments.calls)
        verdict = judge(program, arguments.sizes)
        tried += verdict.tried
        failed = verdict.outcome is Outcome.FAILED
        if failed and f"{'call-' * arguments.calls}{seed}" in known:
            counts[Outcome.FAILED, "as is known"] += 1
            continue
        counts[verdict.same] += 1
        if failed and not arguments.keep:
            program, verdict = smallest(program, arguments.sizes)
        if failed or arguments.show:
            seconds = time.perf_counter() - start
            title = f"seed {seed} {verdict.outcome.value}: {verdict.kind} ({seconds:.1f} s)"
            print(f"{title}\n{verdict.detail}\n\n{program.reproduced()}", flush=True)
    print(f"{len(seeds)} programs, {tried} sizes compared\n")
    print("| outcome | programs |\n|---|---:|")
    for (outcome, kind), count in sorted(
        counts.items(), key=lambda item: (item[0][0].value, -item[1])
    ):
        print(f"| {f'{outcome.value} {kind}'.strip()} | {count} |")
    return int(any(one is Outcome.FAILED and kind != "as is known" for one, kind in counts))


def smallest(program: Program, sizes: int = 8) -> tuple[Program, Verdict]:
    """Return the smallest program with the failure of this one, and its verdict."""
    wanted = judge(program, sizes).same
    program = shrink(program, lambda one: judge(one, sizes).same == wanted)
    return program, judge(program, sizes)


if __name__ == "__main__":
    sys.exit(main())
