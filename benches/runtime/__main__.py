"""What models take in ONNX Runtime: ours at each level beside what others write.

    python -m benches.runtime [NAMES…] [--opset 20] [--levels 0 1 2 target] [--rounds 15]

The others are `torch.onnx.export(optimize=True)`, the same behind `onnxruntime.transformers`'
optimizer (`ort`), and behind onnxslim (`slim`). All are timed in one process in rounds, in another
order each time: CPU milliseconds of a run, all threads, medians. Threads that wait do not spin.
Sessions are created in rounds, too. The memory is by how much anonymous memory grew for a session
and one run, in a process of its own. A variant whose outputs are not PyTorch's is named, and its
times do not count. Prints a Markdown table, and the geometric means of what ours take of the
exporter's time.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

# What a round of one variant takes at least, in seconds: short runs are repeated.
ROUND = 0.02
# How far outputs may be from PyTorch's, in parts of the largest number.
APART = 2e-3


def session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """Create a session on the CPU whose threads sleep while they wait."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def values(folder: Path, kind: str) -> list[np.ndarray]:
    """Return what was recorded: inputs (`i`) or outputs (`o`), in their order."""
    recorded = np.load(folder / "io.npz")
    return [recorded[name] for name in recorded.files if name.startswith(kind)]


def feeds(made: onnxruntime.InferenceSession, folder: Path) -> dict[str, np.ndarray]:
    """Return the recorded inputs under the names of a session."""
    given = values(folder, "i")
    return {put.name: value for put, value in zip(made.get_inputs(), given, strict=True)}


def distance(found: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """Return how far outputs are from what was wanted, in parts of the largest number."""
    if [a.shape for a in found] != [b.shape for b in wanted]:
        return float("inf")
    apart = [
        float(np.max(np.abs(a.astype(np.float64) - b))) / max(1.0, float(np.max(np.abs(b))))
        for a, b in zip(found, wanted, strict=True)
        if b.size
    ]
    return max(apart, default=0.0)


def timed(paths: dict[str, Path], folder: Path, threads: int, rounds: int) -> dict[str, Any]:
    """Time the runs and the sessions of the variants, in turn."""
    created: dict[str, list[float]] = {name: [] for name in paths}
    spent: dict[str, list[float]] = {name: [] for name in paths}
    for turn in range(5):
        for name in sorted(paths, reverse=turn % 2 == 1):
            start = time.process_time()
            made = session(paths[name], threads)
            created[name].append(time.process_time() - start)
            del made
    gc.collect()
    sessions = {name: session(path, threads) for name, path in paths.items()}
    given = {name: feeds(made, folder) for name, made in sessions.items()}
    wanted = values(folder, "o")
    apart = {name: distance(made.run(None, given[name]), wanted) for name, made in sessions.items()}
    repeat = 1
    for name, made in sessions.items():
        start = time.process_time()
        made.run(None, given[name])
        repeat = max(repeat, min(50, int(ROUND / max(1e-4, time.process_time() - start))))
    order = list(sessions)
    for _ in range(rounds):
        order = [*order[1:], order[0]]
        for name in order:
            start = time.process_time()
            for _ in range(repeat):
                sessions[name].run(None, given[name])
            spent[name].append((time.process_time() - start) / repeat)
    return {
        name: {
            "run": statistics.median(spent[name]),
            "session": statistics.median(created[name]),
            "apart": apart[name],
        }
        for name in paths
    }


def grown(path: Path, folder: Path) -> float:
    """Return by how many MiB anonymous memory grows for a session and one run."""
    from benches.live import Peak

    with Peak() as peak:
        made = session(path, 1)
        made.run(None, feeds(made, folder))
    return peak.grown


def child(*arguments: object) -> Any:
    """Run this module in another process and return what it says."""
    command = [sys.executable, "-m", "benches.runtime", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().rsplit("\n", 1)[-1])
    return json.loads(done.stdout.strip().rsplit("\n", 1)[-1])


def rows(name: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Measure a model and return what was found of each variant."""
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place)
        common = [name, "--folder", folder, "--rounds", options.rounds]
        levels = ["--levels", *options.levels, "--opset", options.opset]
        made = child(*common, "--step", "write", "--onnxport", options.onnxport, *levels)
        found: dict[str, dict[str, Any]] = {}
        for threads in (1, 2):
            step = child(*common, "--step", "time", "--threads", threads)
            for variant, numbers in step.items():
                found.setdefault(variant, {"nodes": made[variant]})[str(threads)] = numbers
        for variant in found:
            found[variant]["grown"] = child(*common, "--step", "grow", "--variant", variant)
        failed = {name: {"failed": why} for name, why in made.items() if isinstance(why, str)}
        return {variant: found.get(variant) or failed[variant] for variant in made}


def step(options: argparse.Namespace) -> Any:
    """Do a part of the work, in this process."""
    folder = Path(options.folder)
    if options.step == "write":
        from .variants import count, prepare

        binary = Path(options.onnxport)
        made = prepare(options.names[0], folder, binary, options.opset, options.levels)
        return {name: count(it) if isinstance(it, Path) else it for name, it in made.items()}
    found = {path.parent.name: path for path in sorted(folder.glob("*/model.onnx"))}
    if options.step == "grow":
        return grown(found[options.variant], folder)
    return timed(found, folder, options.threads, options.rounds)


def lines(name: str, found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of a model."""
    base = found["torch"]
    made = []
    for variant, it in found.items():
        if "failed" in it:
            made.append(f"| {name} | {variant} | {it['failed'][:60]} |")
            continue
        cells = [name, variant, str(it["nodes"])]
        for threads in ("1", "2"):
            run = it[threads]["run"]
            against = f"{run / base[threads]['run']:.2f}" if "1" in base else ""
            cells += [f"{run * 1e3:.2f}", against if is_right(it) else "wrong"]
        cells += [f"{it['1']['session'] * 1e3:.0f}", f"{it['grown']:.0f}"]
        made.append(f"| {' | '.join(cells)} |")
    return made


def is_right(it: dict[str, Any]) -> bool:
    """Whether a variant computes what PyTorch does."""
    return it["1"]["apart"] <= APART


def means(measured: dict[str, dict[str, Any]], variant: str, base: str) -> list[float]:
    """Return geometric means of what `variant` takes of `base`: one thread, two, session."""
    ratios = []
    for threads, what in (("1", "run"), ("2", "run"), ("1", "session")):
        pairs = [
            found[variant][threads][what] / found[base][threads][what]
            for found in measured.values()
            if all("1" in found.get(v, {}) and is_right(found[v]) for v in (variant, base))
        ]
        ratios.append(statistics.geometric_mean(pairs) if pairs else float("nan"))
    return ratios


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benches.runtime", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--opset", type=int, default=20)
    parser.add_argument("--levels", nargs="*", default=["0", "1", "2", "target"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--onnxport", default=str(ROOT / "target" / "release" / "onnxport"))
    parser.add_argument("--folder", help="where models are written")
    parser.add_argument("--json", type=Path, help="a file for all numbers")
    for hidden in ("--step", "--variant"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(step(options)))
        return 0
    from .recipes import RECIPES

    heads = "nodes | 1 thread, ms | ratio | 2 threads, ms | ratio | session, ms | MiB"
    print(f"| model | variant | {heads} |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    measured = {}
    for name in options.names or RECIPES:
        try:
            measured[name] = rows(name, options)
        except RuntimeError as error:
            print(f"| {name} | {error} |", flush=True)
            continue
        print("\n".join(lines(name, measured[name])), flush=True)
    for level in options.levels:
        ratios = means(measured, f"onnxport_{level}", "torch")
        text = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"\nLevel {level} by the exporter (one thread, two, session): {text}.")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
