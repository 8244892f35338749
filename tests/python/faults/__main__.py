"""Run every scenario often, and print the results."""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from tests.python.faults.bench import Bench
from tests.python.faults.scenarios import SCENARIOS


def main() -> None:
    """Run the scenarios that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.python.faults", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SCENARIOS], metavar="NAME")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", type=int, default=24, help="of 4 MiB each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(Path(root), arguments.layers)
        for name in arguments.names or SCENARIOS:
            scenario, _, times = SCENARIOS[name]
            seen = scenario(bench, times, random.Random(arguments.seed))
            counts = ", ".join(f"{count} {what}" for what, count in sorted(seen.items()))
            print(f"{name}: {counts}", flush=True)


if __name__ == "__main__":
    main()
