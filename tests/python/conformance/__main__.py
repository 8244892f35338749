"""Run PyTorch's own operator and module samples: `python -m tests.python.conformance [names]`.

Every sample is exported, run in ONNX Runtime (in the evaluator where that has no kernel) and
compared with eager PyTorch. Prints the share of right models by kind and the reasons of the others.
With `--log`, verdicts are appended to a file of JSON lines, and a run continues where it ended.
With `--page`, the table becomes a page of Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.python.conformance import page
from tests.python.conformance import samples as sampled
from tests.python.conformance.run import run


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.conformance", description=__doc__)
    parser.add_argument("names", nargs="*", help="names of operators and modules; all by default")
    parser.add_argument("--kind", action="append", choices=sampled.KINDS, help="kinds of samples")
    parser.add_argument("-k", "--samples", type=int, default=2, help="samples of each operator")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes")
    parser.add_argument("--log", type=Path, help="a file of verdicts to continue")
    parser.add_argument("--page", type=Path, help="a file for the page about the whole run")
    options = parser.parse_args()
    tasks = [
        (kind, name, options.samples)
        for kind in options.kind or sampled.KINDS
        for name in sampled.names(kind)
        if not options.names or name in options.names
    ]
    rows = run(tasks, options.jobs, options.log)
    for row in rows:
        if row["verdict"] not in ("right", "not judged"):
            print(f"{row['id']:50} {row['verdict']:8} {row['reason'][:110]}")
    for kind, *cells in page.shares(rows):
        print(f"{kind:10}", *(f"{cell:>9}" for cell in cells))
    if options.page:
        options.page.write_text(page.write(rows, options.samples))


if __name__ == "__main__":
    main()
