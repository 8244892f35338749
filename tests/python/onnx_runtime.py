"""Convert with the binary under test, run in ONNX Runtime, compare with a sidecar."""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as MissingKernel
from safetensors import safe_open
from torch import Tensor

import onnxport

ROOT = Path(__file__).parents[2]
Tolerances = Mapping[torch.dtype, tuple[float, float]]

# Relative and absolute, of whole models.
TOLERANCES: Tolerances = {
    torch.float64: (1e-6, 1e-7),
    torch.float32: (1e-3, 1e-4),
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (4e-2, 4e-2),
}


# Free bytes that a folder in memory must have: containers often have only 64 MiB.
MEMORY = 4 << 30


@functools.cache
def in_memory() -> str | None:
    """Return a folder in memory, whose files need not reach a disk before a command ends."""
    folder = "/dev/shm"
    if not os.access(folder, os.W_OK):
        return None
    found = os.statvfs(folder)
    return folder if found.f_bavail * found.f_frsize >= MEMORY else None


class ConvertError(Exception):
    """The binary refused the archive; `unsupported` tells a gap from any other failure."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
        self.unsupported = "OP3" in message or "unsupported" in message.lower()


class MismatchError(AssertionError):
    """The converted model computes other values than the program."""


@dataclass(frozen=True)
class Case:
    """One recorded call of a sidecar; outputs are in order, without those that are no number."""

    name: str
    inputs: dict[str, Tensor]
    outputs: list[Tensor]
    states: dict[str, Tensor]


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of the sidecar of the archive at `path`."""
    with safe_open(onnxport.sidecar_path(path), "pt") as file:
        keys = set(file.keys())
        for entry in json.loads(file.metadata()["cases"]):
            prefix = entry["name"]
            outputs = (f"{prefix}/output/{index}" for index in range(len(entry["outputs"])))
            yield Case(
                prefix,
                {name: file.get_tensor(f"{prefix}/input/{name}") for name in entry["inputs"]},
                [file.get_tensor(key) for key in outputs if key in keys],
                {name: file.get_tensor(f"{prefix}/state/{name}") for name in entry["states"]},
            )


def binary() -> Path:
    """Return the `onnxport` binary under test: `ONNXPORT_BIN`, else that of the profile `quick`."""
    return Path(os.environ.get("ONNXPORT_BIN", ROOT / "target" / "quick" / "onnxport"))


def session(model: Path, optimised: Path | None = None) -> ort.InferenceSession:
    """Load a model; write the one that ONNX Runtime's optimizer makes of it to `optimised`."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if optimised:
        options.optimized_model_filepath = str(optimised)
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for small files, in memory where that is possible."""
    return tempfile.TemporaryDirectory(prefix="onnxport-", dir=in_memory())


def library() -> Path:
    """Return ONNX Runtime's own library, that of the Python package."""
    folder = Path(ort.__file__).parent / "capi"
    patterns = ("libonnxruntime.so.*", "libonnxruntime*.dylib", "onnxruntime.dll")
    return next(path for pattern in patterns for path in sorted(folder.glob(pattern)))


def reported(
    *arguments: object, code: int = 0, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Run the binary, which exits with `code`, and return its JSON report."""
    command = [binary(), *map(str, arguments), "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=environment
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def convert(source: Path, target: Path, *options: str) -> None:
    """Convert an archive; raise `ConvertError` with the binary's message when it refuses."""
    command = [
        binary(),
        "convert",
        source,
        "-o",
        target,
        "--no-verify",
        "--validate",
        "--quiet",
        *options,
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if result.returncode:
        raise ConvertError(result.stderr.strip() or result.stdout.strip(), result.returncode)


class OrtModel:
    """A model in ONNX Runtime on the CPU."""

    def __init__(self, path: Path) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self.session = ort.InferenceSession(str(path), options, providers=providers)

    def run(self, feeds: Mapping[str, Tensor]) -> list[Tensor]:
        """Return every output, in order."""
        values = {name: self._to_ort(tensor.contiguous()) for name, tensor in feeds.items()}
        return [self._from_ort(value) for value in self.session.run_with_ort_values(None, values)]

    @staticmethod
    def _to_ort(tensor: Tensor) -> ort.OrtValue:
        if tensor.dtype == torch.bfloat16:
            bits = tensor.view(torch.uint16).numpy()
            return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
        return ort.OrtValue.ortvalue_from_numpy(tensor.numpy())

    @staticmethod
    def _from_ort(value: ort.OrtValue) -> Tensor:
        if value.data_type() == "tensor(bfloat16)":
            return torch.utils.dlpack.from_dlpack(value._ortvalue.to_dlpack())
        return torch.from_numpy(np.array(value.numpy()))


class ReferenceModel:
    """A model in ONNX's reference evaluator, for dtypes that ONNX Runtime's CPU kernels lack."""

    def __init__(self, path: Path) -> None:
        self.evaluator = ReferenceEvaluator(str(path))

    def run(self, feeds: Mapping[str, Tensor]) -> list[Tensor]:
        """Return every output, in order."""
        values = {name: self._to_numpy(tensor.contiguous()) for name, tensor in feeds.items()}
        return [self._from_numpy(value) for value in self.evaluator.run(None, values)]

    @staticmethod
    def _to_numpy(tensor: Tensor) -> np.ndarray:
        if tensor.dtype == torch.bfloat16:
            return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
        return tensor.numpy()

    @staticmethod
    def _from_numpy(value: Any) -> Tensor:
        value = np.array(value)
        if value.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(value.view(np.uint16)).view(torch.bfloat16)
        return torch.from_numpy(value)


def load_model(path: Path) -> OrtModel | ReferenceModel:
    """Return a model ready to run, in ONNX Runtime if it has all the kernels."""
    try:
        return OrtModel(path)
    except MissingKernel:
        note_skipped("ONNX Runtime has no kernel for the model: ONNX's own evaluator ran it")
        return ReferenceModel(path)


def note_skipped(reason: str) -> None:
    """Say that the test that runs is about something that is not here; `cargo xtask` counts it."""
    listed = os.environ.get("ONNXPORT_SKIPPED")
    if listed:
        test = os.environ.get("PYTEST_CURRENT_TEST", "a script").rsplit(" ", 1)[0]
        line = json.dumps({"test": test, "reason": reason, "passed": True})
        with Path(listed).open("a") as file:
            file.write(line + "\n")


def compare(
    name: str,
    got: Tensor,
    expected: Tensor,
    scale: float = 1.0,
    tolerances: Tolerances = TOLERANCES,
) -> None:
    """Raise `MismatchError` unless dtype and shape are equal and the values close.

    `scale` multiplies `tolerances`; the absolute one also grows with the largest expected value.
    An infinite scale compares no values.
    """
    if got.dtype != expected.dtype:
        raise MismatchError(f"{name}: dtype {got.dtype}, expected {expected.dtype}")
    if got.shape != expected.shape:
        raise MismatchError(f"{name}: shape {list(got.shape)}, expected {list(expected.shape)}")
    if math.isinf(scale):
        return
    rtol, atol = tolerances.get(expected.dtype, (0.0, 0.0))
    if expected.is_floating_point():
        finite = expected[expected.isfinite()].double().abs()
        largest = finite.max().item() if finite.numel() else 1.0
        atol *= min(max(largest, 1.0), 1e3)
    try:
        torch.testing.assert_close(
            got, expected, rtol=rtol * scale, atol=atol * scale, equal_nan=True
        )
    except AssertionError as error:
        raise MismatchError(f"{name}: {error}") from None


def check_model(path: Path) -> None:
    """Run ONNX's own checker on a file, with shape inference in strict mode."""
    onnx.checker.check_model(str(path), full_check=True)


def run_cases(
    model: Path, cases: Sequence[Case], scale: float = 1.0, tolerances: Tolerances = TOLERANCES
) -> None:
    """Run a converted model on every case and compare outputs and states."""
    graph = onnx.load(str(model), load_external_data=False)
    metadata = {entry.key: entry.value for entry in graph.metadata_props}
    states = json.loads(metadata.get("onnxport.state", "[]"))
    accepted = {value.name for value in graph.graph.input}
    required = accepted - {tensor.name for tensor in graph.graph.initializer}
    outputs = [value.name for value in graph.graph.output]
    state_outputs = {state["output"]: state["name"] for state in states}
    user_outputs = [name for name in outputs if name not in state_outputs]
    runner = load_model(model)
    for case in cases:
        if unknown := case.inputs.keys() - accepted:
            raise MismatchError(f"the model has no input {sorted(unknown)}")
        if missing := required - case.inputs.keys():
            raise MismatchError(f"the model requires the input {sorted(missing)}")
        got = dict(zip(outputs, runner.run(case.inputs), strict=True))
        if len(user_outputs) != len(case.outputs):
            raise MismatchError(f"{len(user_outputs)} outputs, expected {len(case.outputs)}")
        for name, expected in zip(user_outputs, case.outputs, strict=True):
            compare(f"{case.name}/{name}", got[name], expected, scale, tolerances)
        got_states = {state_outputs[name]: got[name] for name in state_outputs}
        compare_states(case, got_states, scale, tolerances)


def compare_states(
    case: Case, got: Mapping[str, Tensor], scale: float, tolerances: Tolerances
) -> None:
    """Compare the values of state outputs, keyed by fqn or placeholder."""
    if got.keys() != case.states.keys():
        raise MismatchError(f"states {sorted(got)}, expected {sorted(case.states)}")
    for name, expected in case.states.items():
        compare(f"{case.name}/state {name}", got[name], expected, scale, tolerances)
