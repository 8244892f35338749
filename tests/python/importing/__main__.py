"""Read, check and write the models of others, and print the outcomes as a table.

    python -m tests.python.importing    # an hour; --few: some models of torch.onnx

A copy counts as equal where ONNX Runtime computes the same from it bit by bit, or refuses both
alike: operators without kernels, and models whose inputs cannot be generated.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.python.importing import same, sources
from tests.python.importing.same import Source
from tests.python.models.registry import load_all
from tests.python.onnx_runtime import ConvertError, convert, read_cases


def of_ours(folder: Path) -> Iterator[Source]:
    """Convert the models of `tests/python/models`; a refused one is left out."""
    for name, model in load_all().items():
        target = folder / f"{name}.onnx"
        archive = model.make()
        try:
            convert(archive, target)
        except ConvertError as error:
            print(f"{name}: {error}"[:200], file=sys.stderr)
        else:
            yield name, target, sources.inputs(next(read_cases(archive)))


def main() -> None:
    """Print the table."""
    outcomes = ("equal", "not run", "random", "refused", "differs")
    print(f"| models of | files | {' | '.join(outcomes)} |")
    print("| --- " + "| ---: " * 6 + "|")
    with tempfile.TemporaryDirectory() as folder:
        given = {
            "tests/python/models": of_ours(Path(folder)),
            **sources.of_package(),
            **sources.of_torch("--few" not in sys.argv[1:]),
        }
        for name, models in given.items():
            counts, problems = same.judge_each(models)
            row = [counts.total(), *(counts[outcome] for outcome in outcomes)]
            print(f"| {name} | {' | '.join(map(str, row))} |", flush=True)
            print("\n".join(problems), file=sys.stderr)


if __name__ == "__main__":
    main()
