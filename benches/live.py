"""The time of an export from Python, after PyTorch has captured the module.

    python benches/live.py [NAMES…] [--repeat 3]

For each model, in a new process for each exporter: CPU seconds of `torch.export.export`, then those
of `onnxport.export` or of `torch.onnx.export` on the program that came out, to a file with its
weights beside it, and by how much the peak of anonymous memory grew meanwhile. These are seconds of
the whole process, all threads, user and system, measured in rounds without the thread that watches
the memory. Importing, building the module and a first export of a trivial program lie outside of
what is timed. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]


class Peak:
    """The peak of this process's anonymous memory while the block runs, read every millisecond."""

    def __enter__(self) -> Peak:
        """Begin."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        self.before = self.highest = self._now()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End."""
        self.over.set()
        self.thread.join()

    @property
    def grown(self) -> float:
        """By how many MiB it grew."""
        return (self.highest - self.before) / 1024

    def _watch(self) -> None:
        while not self.over.wait(0.001):
            self.highest = max(self.highest, self._now())

    @staticmethod
    def _now() -> int:
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0])


def measure(exporter: str, name: str, repeat: int) -> dict[str, Any]:
    """Return the time and memory of `exporter` for a model, in this process."""
    import torch

    from tests.python.models.registry import load_all

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if exporter == "onnxport":
        import onnxport

        def export(program: Any, path: Path) -> None:
            onnxport.export(program, (), path)
    else:

        def export(program: Any, path: Path) -> None:
            torch.onnx.export(program, (), path, verbose=False)

    model = load_all()[name]
    recipe = model.recipe()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        export(torch.export.export(torch.nn.ReLU(), (torch.zeros(2),)), path)
        start = time.process_time()
        program = model.export(recipe)
        captured = time.process_time() - start
        seconds = []
        for _ in range(repeat):
            gc.collect()
            start = time.process_time()
            export(program, path)
            seconds.append(time.process_time() - start)
        with Peak() as peak:
            export(program, path)
    return {"capture": captured, "seconds": statistics.median(seconds), "grown": peak.grown}


def row(name: str, repeat: int) -> str:
    """Return a line of the table."""
    found = {}
    for exporter in ("onnxport", "torch"):
        command = [sys.executable, __file__, "--measure", exporter, name, "--repeat", str(repeat)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        said = done.stdout.strip().rsplit("\n", 1)[-1]
        found[exporter] = json.loads(said) if done.returncode == 0 else None
    ours, theirs = found["onnxport"], found["torch"]
    if ours is None:
        return f"| {name} | | failed | | | | |"
    cells = [name, f"{ours['capture']:.2f}", f"{ours['seconds']:.3f}", f"{ours['grown']:.0f}"]
    if theirs is None:
        return f"| {' | '.join([*cells, 'failed', '', ''])} |"
    ratio = theirs["seconds"] / ours["seconds"]
    cells += [f"{theirs['seconds']:.2f}", f"{theirs['grown']:.0f}", f"{ratio:.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--measure", choices=["onnxport", "torch"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.names[0], options.repeat)))
        return 0
    from tests.python.models.registry import load_all

    print("| model | torch.export s | onnxport s | MiB | torch.onnx s | MiB | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in options.names or load_all():
        print(row(name, options.repeat), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
