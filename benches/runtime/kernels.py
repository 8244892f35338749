"""Which operators pay: each kernel of ONNX Runtime beside the operators that it stands for.

    python -m benches.runtime.kernels [NAMES…] [--rounds 25] > plugins/fusions/kernels.tsv

A line for each operator and size, with tabs in between: the operator, the size, the CPU
milliseconds of the operator and of the plain form on one thread (medians of interleaved rounds),
their ratio, and what ONNX Runtime made of the plain form by itself. Sessions have the default
optimisations, as those of users have: where the runtime fuses the plain form, it has the same
time. Forms that do not agree are an error.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime

from .cases import CASES, Case

# The shortest round of one form, in seconds.
ROUND = 0.01
# Symbols of the cases: a prompt, and one new token behind others, "early" and "late" ones too.
SIZES = {
    "prompt": {"S": 512, "L": 512},
    "token": {"S": 1, "L": 512, "M": 513},
    "early": {"S": 1, "L": 64, "M": 65},
    "late": {"S": 1, "L": 1024, "M": 1025},
}
# So many operators are listed one by one.
MANY = 16
# Sums in another order, and the tanh form that some kernels compute in their own way.
APART = 2e-3


def model(case: Case, body: str, sizes: dict[str, int]) -> onnx.ModelProto:
    """Return one form of a case as a model, its weights drawn."""
    declared = ", ".join(part for part in (case.given, case.weights) if part)
    text = f"""<ir_version: 10, opset_import: ["" : {case.opset}, "com.microsoft" : 1]>
        g ({declared}) => (float y) {{ {body} }}"""
    for symbol, size in sizes.items():
        text = re.sub(rf"(?<=[\[,]){symbol}(?=[,\]])", str(size), text)
    made = onnx.parser.parse_model(text)
    known = dict.fromkeys(re.findall(r"\] (\w+)", case.weights))
    random = np.random.default_rng(1)
    for put in [put for put in made.graph.input if put.name in known]:
        shape = [dim.dim_value for dim in put.type.tensor_type.shape.dim]
        drawn = (random.standard_normal(shape) / 16).astype(np.float32)
        made.graph.initializer.append(onnx.numpy_helper.from_array(drawn, put.name))
        made.graph.input.remove(put)
    return made


def session(made: onnx.ModelProto, written: Path) -> onnxruntime.InferenceSession:
    """Create a session on one thread, which writes its optimized model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.optimized_model_filepath = str(written)
    return onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def operators(path: Path) -> str:
    """Return the operators that a session runs, as a text; of many each once, and how often."""
    ran = [node.op_type for node in onnx.load(path).graph.node]
    if len(ran) > MANY:
        ran = [f"{count} {op}" for op, count in Counter(ran).items()]
    return "+".join(ran)


def drawn(made: onnxruntime.InferenceSession) -> dict[str, np.ndarray]:
    """Return inputs for a session; integers are zeros and ones, a single one is a place, 0."""
    random = np.random.default_rng(2)
    return {
        put.name: random.standard_normal(put.shape).astype(np.float32)
        if put.type == "tensor(float)"
        else random.integers(0, 2 if len(put.shape) > 1 else 1, put.shape)
        for put in made.get_inputs()
    }


def line(name: str, case: Case, size: str, rounds: int) -> str:
    """Measure a case at a size and return its line."""
    bodies = (case.fused, case.plain)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{at}.onnx") for at in range(2)]
        made = [
            session(model(case, body, SIZES[size]), path)
            for body, path in zip(bodies, paths, strict=True)
        ]
        ran = operators(paths[1])
    given = [drawn(it) for it in made]
    found = [it.run(None, feed)[0] for it, feed in zip(made, given, strict=True)]
    apart = float(np.max(np.abs(found[0] - found[1])))
    if apart > APART * max(1.0, float(np.max(np.abs(found[1])))):
        raise ValueError(f"{name}: the forms are {apart} apart")
    spent: list[list[float]] = [[], []]
    start = time.process_time()
    made[0].run(None, given[0])
    repeat = max(1, min(1000, int(ROUND / max(1e-6, time.process_time() - start))))
    for turn in range(rounds):
        for at in (turn % 2, 1 - turn % 2):
            start = time.process_time()
            for _ in range(repeat):
                made[at].run(None, given[at])
            spent[at].append((time.process_time() - start) / repeat * 1e3)
    fused, plain = map(statistics.median, spent)
    return f"{name}\t{size}\t{fused:.4f}\t{plain:.4f}\t{fused / plain:.2f}\t{ran}"


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benches.runtime.kernels", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    print(f"# ONNX Runtime {onnxruntime.__version__}, CPU, one thread")
    print("# operator\tsize\tms\tplain, ms\tratio\tplain as it runs")
    failed = False
    for name in options.names or CASES:
        for size in CASES[name].sizes:
            try:
                print(line(name, CASES[name], size, options.rounds), flush=True)
            except Exception as error:  # the others are still measured
                print(f"{name}: {str(error)[:300]}", file=sys.stderr)
                failed = True
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
