"""Decode of a small Llama in ONNX Runtime, its weights stored in every quantised form.

    python benches/quantised.py --runs 25 [--tied] [--tokens 1]

Exports a decoder of transformers with random weights, converts it once for each form and runs the
models by turns in one process, with one thread. The table has medians of processor time, for a
call and for the creation of a session, the bytes of the files, and how far logits are from those
of the plain model. Needs PyTorch, transformers and ONNX Runtime; `ONNXPORT_BIN` is the program.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

FORMS = {
    "f32": (),
    "int4": ("--quantize", "int4"),
    "int8": ("--quantize", "int8"),
    "int8, channels": ("--quantize", "int8:block=channel"),
    "int4, MatMulNBits": ("--quantize", "int4", "--quantize-form", "matmulnbits"),
    "int8, MatMulNBits": ("--quantize", "int8", "--quantize-form", "matmulnbits"),
}


def program(folder: Path, tied: bool) -> tuple[Path, dict[str, int]]:
    """Export a decoder step with `tied` embeddings or not; return its archive and its sizes."""
    import transformers

    from tests.python.models.text import decoder_with_cache

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=8192,
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=6,
        num_attention_heads=12,
        num_key_value_heads=4,
        tie_word_embeddings=tied,
    )
    recipe = decoder_with_cache(transformers.LlamaForCausalLM(config).eval(), 4, 64)
    with torch.no_grad():
        exported = torch.export.export(
            recipe.module, recipe.args, recipe.kwargs, dynamic_shapes=recipe.shapes, strict=False
        )
    path = folder / "llama.pt2"
    torch.export.save(exported, path)
    return path, {"layers": 6, "heads": 4, "width": 64}


def feed(session: ort.InferenceSession, sizes: dict[str, int], tokens: int, past: int) -> dict:
    """Return inputs for `tokens` new tokens behind `past` others."""
    random = np.random.default_rng(0)
    found = {}
    for place in session.get_inputs():
        if place.type == "tensor(int64)" and not found:
            found[place.name] = random.integers(3, 8192, (1, tokens))
        elif place.type == "tensor(int64)":
            found[place.name] = np.ones((1, past + tokens), dtype=np.int64)
        else:
            shape = (1, sizes["heads"], past, sizes["width"])
            found[place.name] = random.standard_normal(shape, dtype=np.float32)
    return found


def session(path: Path) -> ort.InferenceSession:
    """Create a session with one thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def cpu(work: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Convert, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--tokens", type=int, default=1)
    parser.add_argument("--past", type=int, default=64)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--forms", nargs="*", default=list(FORMS))
    parser.add_argument("--keep", type=Path, help="a folder for the models")
    arguments = parser.parse_args()
    binary = os.environ.get("ONNXPORT_BIN", str(ROOT / "target/release/onnxport"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(exist_ok=True, parents=True)
        archive, sizes = program(folder, arguments.tied)
        paths, created = {}, {}
        for form in arguments.forms:
            where = folder / form.replace(", ", "-")
            where.mkdir(exist_ok=True)
            paths[form] = where / "model.onnx"
            command = [binary, "convert", str(archive), "-o", str(paths[form]), "--opset", "21"]
            command += [*FORMS[form], "--no-verify", "--quiet"]
            subprocess.run(command, check=True)
        for _ in range(3):
            for form, path in paths.items():
                created.setdefault(form, []).append(cpu(lambda path=path: session(path)))
        sessions = {form: session(path) for form, path in paths.items()}
        inputs = {
            form: feed(made, sizes, arguments.tokens, arguments.past)
            for form, made in sessions.items()
        }
        results = {form: made.run(None, inputs[form])[0] for form, made in sessions.items()}
        times: dict[str, list[float]] = {form: [] for form in sessions}
        for _ in range(arguments.runs):
            for form, made in sessions.items():
                times[form].append(cpu(lambda made=made, form=form: made.run(None, inputs[form])))
        plain = results[arguments.forms[0]]
        print("| form | MB | session s | call ms | of the first | relative error |")
        print("|---|---:|---:|---:|---:|---:|")
        first = statistics.median(times[arguments.forms[0]])
        for form, path in paths.items():
            size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
            call = statistics.median(times[form])
            error = np.linalg.norm(results[form] - plain) / np.linalg.norm(plain)
            made = statistics.median(created[form])
            print(
                f"| {form} | {size:.1f} | {made:.2f} | {call * 1e3:.2f} | {call / first:.2f} "
                f"| {error:.2g} |"
            )


if __name__ == "__main__":
    main()
