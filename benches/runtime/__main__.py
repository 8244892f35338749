"""Times of models in ONNX Runtime: ours at each level, and other tools'.

    python -m benches.runtime [NAMES…] [--kind KIND] [--opset 20] [--levels 2 target] [--peers …]

The others are `torch.onnx.export(optimize=True)`, the same behind `onnxruntime.transformers`'
optimizer (`ort`), onnxslim (`slim`) and onnxscript's fusions for ONNX Runtime (`script`), the same
at opset 23 (`torch_23`), and the exporter of transformers, plain (`hf`) and with its fusions for
ONNX Runtime on the CPU (`hf_ort`). All are timed in one process in rounds, in
another order each time: CPU milliseconds of a run, all threads, medians. A ratio is the median of
what a variant takes of `torch` in the same round; `again` is the file of `torch` once more, and
tells the noise. Threads that wait do not spin. Sessions are created anew in between. The memory is
by how much anonymous memory grew for a session and one run, in a process of its own. A variant
whose outputs are not PyTorch's is named, and its times do not count. Prints a Markdown table, and
for each kind the geometric means of ours by the exporter, and where ours is slower than the fastest
of the others.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

# How often sessions are created anew while runs are timed.
SESSIONS = 3
# How often creating one is timed.
CREATIONS = 7
# The shortest round of one variant, in seconds: short runs are repeated.
ROUND = 0.02


def session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """Create a session on the CPU whose threads sleep while they wait."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def values(folder: Path, kind: str) -> list[np.ndarray]:
    """Return recorded inputs (`i`) or outputs (`o`), in their order."""
    recorded = np.load(folder / "io.npz")
    return [recorded[name] for name in recorded.files if name.startswith(kind)]


def feeds(made: onnxruntime.InferenceSession, folder: Path) -> dict[str, np.ndarray]:
    """Return the recorded inputs under the names of a session."""
    given, places = values(folder, "i"), made.get_inputs()
    if len(places) == len(given):
        return {put.name: value for put, value in zip(places, given, strict=True)}
    # Some leave out inputs that nothing reads.
    names = json.loads((folder / "inputs.json").read_text())
    named = dict(zip(names, given, strict=True))
    return {put.name: named[put.name] for put in places}


def recorded(path: Path) -> Path:
    """Return the folder of a model's recording: its own, or that of all variants."""
    own = path.parent
    return own if (own / "io.npz").exists() else own.parent


def distance(found: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """Return the error of outputs, relative to the largest expected number."""
    if [a.shape for a in found] != [b.shape for b in wanted]:
        return float("inf")
    apart = [
        float(np.max(np.abs(a.astype(np.float64) - b))) / max(1.0, float(np.max(np.abs(b))))
        for a, b in zip(found, wanted, strict=True)
        if b.size
    ]
    return max(apart, default=0.0)


def opened(paths: dict[str, Path], threads: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Return session, inputs and distance of variants, and why others do not run."""
    ready, failed = {}, {}
    for name, path in paths.items():
        try:
            made = session(path, threads)
            given = feeds(made, recorded(path))
            apart = distance(made.run(None, given), values(recorded(path), "o"))
            ready[name] = (made, given, apart)
        except Exception as error:  # a peer's model that does not run is a row of its own
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return ready, failed


def in_rounds(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    repeat: int,
    spent: dict[str, list[float]],
) -> None:
    """Time calls in rounds, in another order each time; `spent` gets the CPU seconds of one."""
    order = list(calls)
    for _ in range(rounds):
        order = [*order[1:], order[0]]
        for name in order:
            start = time.process_time()
            for _ in range(repeat):
                calls[name]()
            spent.setdefault(name, []).append((time.process_time() - start) / repeat)


def creation(paths: dict[str, Path], threads: int) -> dict[str, float]:
    """Return the time to create a session of each variant, in turn, without the first one.

    None stands beside another one: who comes last would find no memory that was used before.
    """
    spent: dict[str, list[float]] = {name: [] for name in paths}
    order = list(paths)
    for number in range(CREATIONS + 1):
        order = [*order[1:], order[0]]
        for name in order:
            start = time.process_time()
            made = session(paths[name], threads)
            if number > 0:
                spent[name].append(time.process_time() - start)
            del made
            gc.collect()
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


def timed(paths: dict[str, Path], threads: int, rounds: int) -> dict[str, Any]:
    """Time the runs and the sessions of the variants, in turn, with new sessions now and then.

    Where a session puts its weights is chance, and worth several percent to what reads each once.
    """
    if "torch" in paths:
        paths = {**paths, "again": paths["torch"]}
    spent: dict[str, list[float]] = {}
    apart: dict[str, float] = {}
    found: dict[str, Any] = {}
    repeat, order = 1, list(paths)
    for _ in range(SESSIONS):
        order.reverse()
        ready, failed = opened({name: paths[name] for name in order}, threads)
        found |= {name: {"failed": why} for name, why in failed.items()}
        order = [name for name in order if name in ready]
        for name in order:
            made, given, apart[name] = ready[name]
            start = time.process_time()
            made.run(None, given)
            repeat = max(repeat, min(50, int(ROUND / max(1e-4, time.process_time() - start))))
        calls = {
            name: functools.partial(ready[name][0].run, None, ready[name][1]) for name in order
        }
        in_rounds(calls, -(-rounds // SESSIONS), repeat, spent)
        del ready, calls
        gc.collect()
    created = creation({name: paths[name] for name in spent}, threads)
    base = "torch" if "torch" in spent else next(iter(spent))
    for name in spent:
        ratios = [one / other for one, other in zip(spent[name], spent[base], strict=True)]
        found[name] = {
            "run": statistics.median(spent[name]),
            "ratio": statistics.median(ratios),
            "session": created[name],
            "apart": apart[name],
        }
    return found


def grown(path: Path) -> float:
    """Return by how many MiB anonymous memory grows for a session and one run."""
    from benches.live import Peak

    with Peak() as peak:
        made = session(path, 1)
        made.run(None, feeds(made, recorded(path)))
    return peak.grown


def child(*arguments: object) -> Any:
    """Run this module in another process and return its output."""
    command = [sys.executable, "-m", "benches.runtime", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().rsplit("\n", 1)[-1])
    return json.loads(done.stdout.strip().rsplit("\n", 1)[-1])


def place(name: str, options: argparse.Namespace) -> contextlib.AbstractContextManager[Any]:
    """Return where the variants of a model are written."""
    if options.keep is None:
        return tempfile.TemporaryDirectory(dir=options.folder)
    kept = options.keep.absolute() / f"opset{options.opset}" / name
    kept.mkdir(parents=True, exist_ok=True)
    return contextlib.nullcontext(kept)


def rows(name: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Measure a model and return the results of each variant."""
    with place(name, options) as folder:
        common = [name, "--folder", folder, "--rounds", options.rounds]
        levels = ["--levels", *options.levels, "--opset", options.opset]
        levels += ["--peers", *options.peers] if options.peers else []
        made = child(*common, "--step", "write", "--onnxport", options.onnxport, *levels)
        found = {
            name: {"failed": it} if isinstance(it, str) else {"nodes": it}
            for name, it in made.items()
        }
        found["again"] = {"nodes": made["torch"]}
        for threads in (1, 2):
            step = child(*common, "--step", "time", "--threads", threads)
            for variant, numbers in step.items():
                found[variant][str(threads)] = numbers
                found[variant] |= {"failed": numbers["failed"]} if "failed" in numbers else {}
        for variant in found:
            if "failed" not in found[variant] and (variant == "torch" or "onnxport" in variant):
                found[variant]["grown"] = child(*common, "--step", "grow", "--variant", variant)
    return {variant: it for variant, it in found.items() if "1" in it or "failed" in it}


def step(options: argparse.Namespace) -> Any:
    """Do a part of the work, in this process."""
    folder = Path(options.folder)
    if options.step == "write":
        from .variants import count, prepare

        binary = Path(options.onnxport)
        levels = options.levels
        made = prepare(options.names[0], folder, binary, options.opset, levels, options.peers)
        return {name: count(it) if isinstance(it, Path) else it for name, it in made.items()}
    found = {path.parent.name: path for path in sorted(folder.glob("*/model.onnx"))}
    if options.step == "grow":
        return grown(found[options.variant])
    return timed(found, options.threads, options.rounds)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.runtime",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kind", help="all models of a kind, as their table calls it")
    parser.add_argument("--opset", type=int, default=20)
    parser.add_argument("--levels", nargs="*", default=["2", "target"])
    parser.add_argument("--peers", nargs="*", help="the variants of others beside `torch`; all")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--onnxport", default=str(ROOT / "target" / "release" / "onnxport"))
    parser.add_argument("--folder", help="where models are written")
    parser.add_argument(
        "--keep", type=Path, help="a folder for the models; those of others are not made again"
    )
    parser.add_argument("--json", type=Path, help="a file for all numbers, which are added to it")
    for hidden in ("--step", "--variant"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        said = step(options)
        print("\n" + json.dumps(said))
        return 0
    from .recipes import KINDS, RECIPES
    from .table import HEAD, lines, summary

    print(HEAD)
    measured = {}
    if options.json and options.json.exists():
        measured = json.loads(options.json.read_text())
    for name in options.names or (KINDS[options.kind] if options.kind else RECIPES):
        try:
            found = rows(name, options)
        except RuntimeError as error:
            print(f"| {name} | {error} |", flush=True)
            continue
        measured[name] = found
        print("\n".join(lines(name, found)), flush=True)
        if options.json:
            options.json.write_text(json.dumps(measured, indent=1) + "\n")
    print(summary(measured, {kind: list(models) for kind, models in KINDS.items()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
