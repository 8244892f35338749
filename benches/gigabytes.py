"""Memory of an export of a large module from Python, beside PyTorch's.

    python benches/gigabytes.py [GB] [--folder FOLDER]

Exports linear layers of a gigabyte each, whose weights differ, to a file with its weights beside
it, and prints a Markdown table. The folder must have room for the weights; the output is
removed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "python")]

SIDE = 16384
"""A matrix of this many rows and columns of float32 has a GiB."""


class Layers(torch.nn.Module):
    """A product with one matrix after another."""

    def __init__(self, count: int) -> None:
        super().__init__()
        # Equal weights would be stored once.
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(torch.full((SIDE, SIDE), 1.0 + index), requires_grad=False)
            for index in range(count)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply `x`, of shape `[rows, SIDE]`."""
        for weight in self.weights:
            x = torch.nn.functional.linear(x, weight)
        return x


def main() -> None:
    """Measure one export."""
    parser = argparse.ArgumentParser()
    parser.add_argument("gigabytes", nargs="?", type=int, default=6)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    from live import Peak

    import onnxport

    module = Layers(options.gigabytes).eval()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        onnxport.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),), f"{folder}/warm.onnx")
        program = torch.export.export(module, (torch.zeros(1, SIDE),))
        start = time.perf_counter()
        with Peak() as peak:
            onnxport.export(program, (), f"{folder}/model.onnx")
        seconds = time.perf_counter() - start
        written = sum(file.stat().st_size for file in Path(folder).iterdir())
    print("| GB written | RssAnon grew by MiB | seconds |\n|--:|--:|--:|")
    print(f"| {written / 1e9:.2f} | {peak.grown:.1f} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
