"""The cost of an adapter that is swapped at run time, beside the same weights without and merged.

    python -m benches.runtime.adapters [--rounds 60] [--width 1024] [--layers 4] [--rank 16]

A Llama with random weights and an adapter on all of its linear layers become four models: *plain*,
*none* (inputs for adapters, but none is active), *active* and *merged*. One process holds all
sessions and runs them in rounds, in another order each time: CPU milliseconds of a run, medians,
and the median of the ratios to *plain* in the same round; *again* is plain once more, and tells the
noise.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from .__main__ import ROOT, SESSIONS, in_rounds, session
from .genai import CASES, VOCABULARY, cache, model, saved

LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
FORMS: dict[str, list[str]] = {"fp32": [], "int4": ["--quantize", "int4"]}
NAME = "adapter"


def written(binary: str, source: Path, folder: Path, *options: str) -> Path:
    """Convert the checkpoint."""
    if not folder.exists():
        command = [binary, "llm", source, "-o", folder, "--quiet", "--no-verify", *options]
        environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
        subprocess.run(command, check=True, env=environment)
    return folder / "model.onnx"


def feeds(ready: onnxruntime.InferenceSession, tokens: np.ndarray, past: list[np.ndarray]) -> dict:
    """Return the inputs of a session."""
    before = past[0].shape[2]
    found = {
        "input_ids": tokens,
        "attention_mask": np.ones((1, tokens.shape[1] + before), np.int64),
        "position_ids": np.arange(before, before + tokens.shape[1])[None],
    }
    for at, value in enumerate(past):
        found[f"past_key_values.{at // 2}.{('key', 'value')[at % 2]}"] = value
    return {one.name: found[one.name] for one in ready.get_inputs()}


def active(path: Path) -> tuple[onnxruntime.LoraAdapter, onnxruntime.RunOptions]:
    """Return the adapter, which the options do not keep, and the options of a run with it."""
    adapter, options = onnxruntime.LoraAdapter(), onnxruntime.RunOptions()
    adapter.Load(str(path))
    options.add_active_adapter(adapter)
    return adapter, options


def main() -> int:
    """Run the command line and return the exit status."""
    from tests.python.llm import lora

    parser = argparse.ArgumentParser(
        prog="python -m benches.runtime.adapters",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--onnxport", default=str(ROOT / "target" / "release" / "onnxport"))
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--width", type=int, default=1024, help="a multiple of 256")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--keep", type=Path, help="a folder for the models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        inner = model(options.width, options.layers)
        source, adapter = folder / "source", folder / f"rank{options.rank}"
        if not source.exists():
            saved(inner, source)
        if not adapter.exists():
            lora.save(inner, adapter, 1, r=options.rank, target_modules=LINEAR)
        print("| what | model | ms | by plain |\n|---|---|--:|--:|")
        for form in options.forms:
            made = functools.partial(written, options.onnxport, source)
            plain = made(folder / form, *FORMS[form])
            swapped = made(
                folder / f"{form}-{adapter.name}", "--adapter", f"{NAME}={adapter}", *FORMS[form]
            )
            merged = made(folder / f"{form}-merged", "--merge-adapter", str(adapter), *FORMS[form])
            paths = {
                "plain": plain,
                "again": plain,
                "none": swapped,
                "active": swapped,
                "merged": merged,
            }
            _adapter, with_adapter = active(swapped.with_name(f"{NAME}.onnx_adapter"))
            for case in options.cases:
                new, length = CASES[case]
                tokens = np.random.default_rng(1).integers(3, VOCABULARY, (1, new))
                past = cache(inner, length)
                spent: dict[str, list[float]] = {}
                for _ in range(SESSIONS):
                    ready = {name: session(path, 1) for name, path in paths.items()}
                    given = {name: feeds(one, tokens, past) for name, one in ready.items()}
                    calls = {
                        name: functools.partial(
                            one.run, None, given[name], with_adapter if name == "active" else None
                        )
                        for name, one in ready.items()
                    }
                    repeat = 1 if new > 1 else 4
                    in_rounds(calls, -(-options.rounds // SESSIONS), repeat, spent)
                    del ready, calls
                for name in paths:
                    pairs = zip(spent[name], spent["plain"], strict=True)
                    ratio = statistics.median(one / other for one, other in pairs)
                    milliseconds = statistics.median(spent[name]) * 1e3
                    row = f"{form}, {case} | {name} | {milliseconds:.2f} | {ratio:.3f}"
                    print(f"| {row} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
