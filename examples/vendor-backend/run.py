"""Convert the models with and without the backend, run both, and compare.

Build first: `cargo build` here and `cargo build` in the repository. Then, in the repository:
`python examples/vendor-backend/run.py`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

sys.path[:0] = [str(HERE), str(ROOT / "python")]

import models  # noqa: E402

import onnxport as recorder  # noqa: E402

SIZES = {
    "encoder": [(2, 7), (1, 2), (5, 31)],
    "classifier": [(2, 3, 16, 16), (1, 3, 16, 16), (9, 3, 16, 16)],
    "classifier_static": [(2, 3, 16, 16)],
}


def library(name: str) -> Path:
    """Where cargo puts the library of a crate of this example."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / "debug"
    prefix, suffix = {"Windows": ("", "dll"), "Darwin": ("lib", "dylib")}.get(
        platform.system(), ("lib", "so")
    )
    return folder / f"{prefix}{name}.{suffix}"


def onnxport(*arguments: str | Path, folder: Path | None = None) -> str:
    """Run the program and return its output."""
    binary = os.environ.get("ONNXPORT_BIN", ROOT / "target/debug/onnxport")
    # This Python has ONNX Runtime, which onnxport looks for in the active environment.
    own = {"VIRTUAL_ENV": sys.prefix, "NPU_FOLDER": str(folder or "")}
    environment = {**os.environ, **own}
    done = subprocess.run(
        [binary, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def convert(program: Path, target: Path, *arguments: str) -> str:
    """Convert with the backend; onnxport runs the result through the accelerator's runtime."""
    options = ["--plugin", library("npu_plugin"), "--backend", "npu"]
    options += ["--executor-option", f"custom_ops={library('npu_runtime')}"]
    return onnxport("convert", program, "-o", target, *options, *arguments, folder=target.parent)


def session(path: Path, *, npu: bool) -> ort.InferenceSession:
    """Load a model, with the accelerator's runtime where it is needed."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if npu:
        options.register_custom_ops_library(str(library("npu_runtime")))
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def save(name: str, path: Path) -> None:
    """Save a program with PyTorch's results at three sizes, for onnxport to compare with."""
    recorder.save(models.export(name), path)


def inputs(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Make some input of a model."""
    random = np.random.default_rng(len(shape))
    if name == "encoder":
        return random.integers(0, 100, shape)
    return random.standard_normal(shape).astype(np.float32)


def compare(
    name: str, plain: Path, partitioned: Path
) -> list[tuple[tuple[int, ...], float, float]]:
    """Run both models at every size; the largest difference and the largest value of each."""
    one, two = session(plain, npu=False), session(partitioned, npu=True)
    (port,) = one.get_inputs()
    found = []
    for shape in SIZES[name]:
        feed = {port.name: inputs(name, shape)}
        (want,), (got,) = one.run(None, feed), two.run(None, feed)
        assert want.shape == got.shape
        assert want.dtype == got.dtype
        found.append((shape, float(np.abs(want - got).max()), float(np.abs(want).max())))
    return found


def main() -> None:
    """Show everything."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in SIZES:
            program, plain, npu = (
                folder / f"{name}{end}" for end in (".pt2", ".plain.onnx", ".npu.onnx")
            )
            save(name, program)
            onnxport("convert", program, "-o", plain, "--no-verify")
            print(convert(program, npu).replace(f"{folder}/", ""))
            for shape, difference, largest in compare(name, plain, npu):
                print(f"{name} {list(shape)}: differs by {difference:.1e} of {largest:.2f}")
            print()


if __name__ == "__main__":
    main()
