"""Whether a model that onnxport read and wrote again computes the same in ONNX Runtime."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from tests.python.onnx_runtime import MissingKernel, binary, scratch

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int8": np.int8,
    "uint8": np.uint8,
    "int16": np.int16,
    "uint16": np.uint16,
    "int32": np.int32,
    "uint32": np.uint32,
    "int64": np.int64,
    "uint64": np.uint64,
    "bool": np.bool_,
}

# A name, a model, and inputs; they are drawn where there are none.
Source = tuple[str, Path, Mapping[str, Any] | None]

# Extents of axes that a model leaves open.
OPEN = 2


def copy(source: Path, target: Path, optimise: bool = False) -> None:
    """Read the model at `source`, check it and write it to `target`, with the exact rules."""
    flags = ["--quiet", "--optimize", "1" if optimise else "0"]
    command = [binary(), "optimize", source, "-o", target, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RefusedError(done.stderr)


def session(path: Path) -> ort.InferenceSession:
    """Return a session that computes the same in every run."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feeds(model: ort.InferenceSession) -> dict[str, Any] | None:
    """Return drawn values of every input; `None` where one is not a tensor of numbers."""
    random = np.random.default_rng(0)
    values = {}
    for given in model.get_inputs():
        kind = TYPES.get(given.type.removeprefix("tensor(").removesuffix(")"))
        if kind is None or not given.type.startswith("tensor("):
            return None
        shape = [extent if isinstance(extent, int) else OPEN for extent in given.shape]
        drawn = random.standard_normal(shape)
        if not np.issubdtype(kind, np.floating):
            drawn = np.abs(drawn * 2)
        values[given.name] = drawn.astype(kind)
    return values


def recorded(folder: Path) -> dict[str, Any] | None:
    """Return the inputs that lie beside a test of the ONNX package, by name."""
    model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    values = {}
    for index, given in enumerate(model.graph.input):
        path = folder / "test_data_set_0" / f"input_{index}.pb"
        if not path.exists() or not given.type.HasField("tensor_type"):
            return None
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        values[given.name] = onnx.numpy_helper.to_array(tensor)
    return values


def outcome(path: Path, values: Mapping[str, Any] | None) -> list[Any] | str:
    """Return every output, or how ONNX Runtime refuses the model or its inputs."""
    try:
        model = session(path)
        given = feeds(model) if values is None else values
        return "no inputs" if given is None else model.run(None, dict(given))
    except Exception as error:
        return type(error).__name__


def equal(a: Any, b: Any) -> bool:
    """Whether two results are the same bit by bit."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        same = (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype == object:
            return same and a.tolist() == b.tolist()
        return same and a.tobytes() == b.tobytes()
    return type(a) is type(b) and repr(a) == repr(b)


class RefusedError(AssertionError):
    """The model is not read, or not written."""


def judge(
    source: Path, target: Path, values: Mapping[str, Any] | None = None, optimise: bool = False
) -> str:
    """Copy `source` to `target` and return the outcome: `equal`, `legalised`, `not run`, `random`.

    Raises `AssertionError` where the copy does something else.
    """
    copy(source, target, optimise)
    before, after = outcome(source, values), outcome(target, values)
    if isinstance(before, str) or isinstance(after, str):
        assert isinstance(before, str), f"it ran, and is refused now: {after!r:.80}"
        # `optimize` writes other forms where the runtime lacks a kernel.
        if optimise and before == MissingKernel.__name__ and not isinstance(after, str):
            return "legalised"
        assert before == after, f"{before} became {after!r:.80}"
        return "not run"
    if equal(before, after):
        return "equal"
    assert not equal(before, outcome(source, values)), "other values"
    return "random"


def judge_each(sources: Iterable[Source], optimise: bool = False) -> tuple[Counter[str], list[str]]:
    """Judge every model; return the number of each outcome, and the faults."""
    counts: Counter[str] = Counter()
    problems = []
    for name, source, values in sources:
        with scratch() as folder:
            try:
                counts[judge(source, Path(folder) / "model.onnx", values, optimise)] += 1
            except AssertionError as error:
                counts["refused" if isinstance(error, RefusedError) else "differs"] += 1
                problems.append(f"{name}: {error}")
    return counts, problems


def judge_all(sources: Iterable[Source], optimise: bool = False) -> Counter[str]:
    """Judge every model; return how many had which outcome, and fail with all that differ."""
    counts, problems = judge_each(sources, optimise)
    print(json.dumps(counts))
    assert not problems, f"{len(problems)} problems:\n" + "\n".join(problems)
    return counts
