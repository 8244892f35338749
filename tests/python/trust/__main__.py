"""Print the table of seeded faults: `python -m tests.python.trust`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx

from tests.python.trust.corpus import Corpus, bisect
from tests.python.trust.faults import KINDS
from tests.python.trust.networks import networks


def main() -> None:
    """Print a row for each network."""
    print("| network | nodes | " + " | ".join(KINDS) + " | with a model | with PyTorch |")
    print("| --- | ---: |" + " --- |" * len(KINDS) + " ---: | ---: |")
    for name in networks():
        with tempfile.TemporaryDirectory() as folder:
            print(row(Corpus.make(name, Path(folder))))


def row(corpus: Corpus) -> str:
    """Try every fault of a network."""
    seeded: dict[str, list[str]] = {kind: [] for kind in KINDS}
    named = {corpus.model: 0, corpus.program: 0}
    for fault, path in corpus.seeded():
        seeded[fault.kind].append(fault.operator)
        for against in named:
            said, _ = bisect(path, against, corpus.inputs)
            found = said["bisect"]["fault"]
            named[against] += found is not None and found["row"]["node"] == fault.node
    nodes = len(onnx.load(corpus.model).graph.node)
    kinds = " | ".join(", ".join(sorted(set(seeded[kind]))) for kind in KINDS)
    counts = [f"{count} of {len(corpus.faults)}" for count in named.values()]
    return f"| {corpus.name} | {nodes} | {kinds} | {' | '.join(counts)} |"


if __name__ == "__main__":
    main()
