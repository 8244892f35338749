"""The measure that everything is judged by, held against NumPy on 10,000 drawn pairs of tensors.

The pairs are the outputs of models and what is recorded for them, so that `verify --json` tells
every metric. NumPy computes the same from the definitions in `core/src/compare/difference.rs`: with
sums in extended precision, which squares of float64 do not leave, and integers as integers.
"""

import json
import math

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.python.verify.test_trust import MISMATCH, verify

PAIRS = 2500
"""Pairs for each tolerance."""

FLOATS = {
    "float64": (TensorProto.DOUBLE, "F64", np.float64, (1e-6, 1e-7)),
    "float32": (TensorProto.FLOAT, "F32", np.float32, (1e-3, 1e-4)),
    "float16": (TensorProto.FLOAT16, "F16", np.float16, (1e-2, 1e-2)),
    "bfloat16": (TensorProto.BFLOAT16, "BF16", ml_dtypes.bfloat16, (4e-2, 4e-2)),
    "float8_e4m3fn": (TensorProto.FLOAT8E4M3FN, "F8_E4M3", ml_dtypes.float8_e4m3fn, None),
    "float8_e5m2": (TensorProto.FLOAT8E5M2, "F8_E5M2", ml_dtypes.float8_e5m2, None),
}
"""ONNX's code, that of safetensors, NumPy's type, and the tolerance; `None` for exact types."""
INTEGERS = {
    "int64": (TensorProto.INT64, "I64", np.int64),
    "int32": (TensorProto.INT32, "I32", np.int32),
    "int16": (TensorProto.INT16, "I16", np.int16),
    "int8": (TensorProto.INT8, "I8", np.int8),
    "uint64": (TensorProto.UINT64, "U64", np.uint64),
    "uint32": (TensorProto.UINT32, "U32", np.uint32),
    "uint16": (TensorProto.UINT16, "U16", np.uint16),
    "uint8": (TensorProto.UINT8, "U8", np.uint8),
    "bool": (TensorProto.BOOL, "BOOL", np.bool_),
}
CODES = FLOATS | INTEGERS
SHAPES = [(0,), (0, 3), (), (1,), (7,), (3, 5), (2, 3, 4), (61,), (2, 1, 50), (33, 31), (2050,)]
EDGES = np.array([float(f"1e{power}") for power in range(-20, 21)])
POWERS = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
HUGEST = np.finfo(np.float64).max


def unsigned(dtype):
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def special(dtype):
    """Zeros, subnormal numbers, the largest ones, infinities where there are some, and NaN."""
    info = ml_dtypes.finfo(dtype)
    least, most = info.smallest_subnormal, info.max
    with np.errstate(all="ignore"):
        return np.array(
            [0.0, -0.0, least, -least, info.tiny, most, -most, 1, -1, np.inf, -np.inf, np.nan],
            dtype,
        )


def drawn(rng, name, shape):
    """Outputs and expected values."""
    dtype = np.dtype(CODES[name][2])
    count, kind = math.prod(shape), rng.integers(7)
    if name == "bool":
        got, expected = rng.integers(2, size=(2, count), dtype=np.uint8).astype(bool)
        return got.reshape(shape), (got if kind < 3 else expected).reshape(shape)
    codes = rng.integers(0, 1 << 63, (2, count), np.uint64) << np.uint64(1)
    codes = (codes >> np.uint64(64 - 8 * dtype.itemsize)).astype(unsigned(dtype))
    got, expected = codes.view(dtype)
    with np.errstate(all="ignore"):
        if kind == 1 and name in FLOATS:
            some = special(dtype)
            got, expected = some[rng.integers(len(some), size=(2, count))]
        elif kind == 2:
            expected = got
        elif kind == 3:
            expected = np.zeros(count, dtype)
        elif kind >= 4:
            # Around 1 or far from it, with a small difference or none.
            scale = 10.0 ** rng.integers(-4, 5) if name in FLOATS else 20
            got = np.abs(rng.standard_normal(count) * scale + 1).astype(dtype)
            expected = got.copy()
            steps = rng.integers(0, 4 if kind < 6 else 60, count).astype(unsigned(dtype))
            away = rng.random(count) < 0.5
            expected.view(unsigned(dtype))[away] += steps[away]
    return got.reshape(shape), expected.reshape(shape)


def places(array):
    """The place of each float among those of its type."""
    bits = array.view(unsigned(array.dtype)).astype(np.uint64)
    top = np.uint64(1 << (8 * array.dtype.itemsize - 1))
    low = (bits & (top - np.uint64(1))).astype(np.int64)
    return np.where(bits & top, -low, low)


def apart(a, b):
    """The distances of integers, as those of 64 bits."""
    if a.dtype == np.uint64:
        return np.where(a > b, a - b, b - a)
    a, b = a.astype(np.int64), b.astype(np.int64)
    return np.where(
        a > b, a.view(np.uint64) - b.view(np.uint64), b.view(np.uint64) - a.view(np.uint64)
    )


def cosine(g, e):
    g, e = g.astype(np.longdouble), e.astype(np.longdouble)
    lengths = np.sqrt((g * g).sum()), np.sqrt((e * e).sum())
    if not (lengths[0] and lengths[1]):
        return float(lengths[0] == lengths[1])
    return float((g * e).sum() / lengths[0] / lengths[1])


def measured(got, expected, tolerance):
    """NumPy's metrics, by their names in a report."""
    is_float = got.dtype.kind not in "iub"
    shape, got, expected = got.shape, got.ravel(), expected.ravel()
    g, e = got.astype(np.float64), expected.astype(np.float64)
    both, finite = np.isfinite(g) & np.isfinite(e), np.abs(e[np.isfinite(e)])
    largest = float(finite.max(initial=0.0))
    rtol, atol = tolerance
    atol *= min(max(largest, 0.01), 1000.0)
    distances = apart(places(got), places(expected)) if is_float else apart(got, expected)
    distances = distances[both]
    errors = np.minimum(np.abs(g[both] - e[both]), HUGEST) if is_float else distances.astype(float)
    size = np.abs(e[both])
    alike = int(((g == e) | (np.isnan(g) & np.isnan(e)))[~both].sum())
    nan = int((np.isnan(g) != np.isnan(e)).sum())
    infinite = len(g) - len(errors) - alike - nan
    wrong = ~((g == e) | (np.isnan(g) & np.isnan(e)))
    # Integers that differ may be the same number as floats.
    wrong[both] = errors > atol + rtol * size if is_float else distances > 0
    counted = np.where(errors == 0, 0, 1 + np.searchsorted(EDGES, errors, "right"))
    bits = np.searchsorted(POWERS, distances, "right")
    ulps, decades = np.bincount(bits, minlength=65), np.bincount(counted, minlength=43)
    ulps[0] += alike
    decades[0] += alike
    judged = (size > atol) & (errors > 0)
    relative = np.minimum(errors[judged] / size[judged], HUGEST)
    wide, count = errors.astype(np.longdouble), max(len(errors), 1)
    first = np.flatnonzero(wrong)
    return {
        "max_abs": float(errors.max(initial=0.0)),
        "max_rel": float(relative.max(initial=0.0)),
        "wrong": int(wrong.sum()),
        "not_finite": nan + infinite,
        "elements": len(g),
        "largest": largest,
        "rms": min(float(np.sqrt((wide * wide).sum() / count)), HUGEST),
        "cosine": cosine(g[both], e[both]),
        "first": [int(n) for n in np.unravel_index(first[0], shape)] if len(first) else None,
        "allowed": {"rtol": rtol, "atol": atol},
        "mean": min(float(wide.sum() / count), HUGEST),
        "nan": nan,
        "infinite": infinite,
        "zero": int(((g[both] == 0) != (e[both] == 0)).sum()),
        "max_ulps": int(distances.max(initial=0)),
        "ulps": ulps.tolist(),
        "decades": decades.tolist(),
    }


def write(folder, pairs):
    """A model that returns the outputs, and a recording of the expected values."""
    nodes, outputs, weights, header, data, at = [], [], [], {}, [], 0
    for index, (name, got, expected) in enumerate(pairs):
        code, kept = CODES[name][:2]
        weights.append(helper.make_tensor(f"w{index}", code, got.shape, got.tobytes(), raw=True))
        nodes.append(helper.make_node("Identity", [f"w{index}"], [f"y{index}"]))
        outputs.append(helper.make_tensor_value_info(f"y{index}", code, got.shape))
        raw = expected.tobytes()
        header[f"one/output/{index}"] = {
            "dtype": kept,
            "shape": list(expected.shape),
            "data_offsets": [at, at + len(raw)],
        }
        data.append(raw)
        at += len(raw)
    case = {"name": "one", "inputs": [], "states": [], "random": False}
    case["outputs"] = [f"y{index}" for index in range(len(pairs))]
    header["__metadata__"] = {"format": "onnxport-expected/1", "cases": json.dumps([case])}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    recording = folder / "m.expected.safetensors"
    recording.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))
    graph = helper.make_graph(nodes, "pairs", [], outputs, initializer=weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx", recording


@pytest.mark.parametrize("given", [None, (0.0, 0.0), (1e-2, 0.75), (0.0, 1e-5)])
def test_every_metric_is_that_of_numpy(given, tmp_path):
    rng = np.random.default_rng(2026 if given is None else [int(n * 1e6) for n in given])
    names = list(CODES)
    chosen = [names[n % len(names)] for n in range(PAIRS)]
    pairs = [(name, *drawn(rng, name, SHAPES[rng.integers(len(SHAPES))])) for name in chosen]
    model, recording = write(tmp_path, pairs)
    options = [] if given is None else ["--rtol", repr(given[0]), "--atol", repr(given[1])]
    options += ["--executor", "reference", "--against", recording]
    (case,) = verify(model, *options, code=MISMATCH)["verification"]["cases"]
    assert len(case["outputs"]) == PAIRS
    worst = 0.0
    for (name, got, expected), output in zip(pairs, case["outputs"], strict=True):
        default = FLOATS[name][3] if name in FLOATS else None
        tolerance = (0.0, 0.0) if default is None else given or default
        with np.errstate(all="ignore"):
            wanted = measured(got, expected, tolerance)
        found = output["difference"]
        found |= found.pop("spread")
        if found["first"] is not None:
            found["first"] = found["first"]["index"]
        what = (name, got.shape, output["name"])
        # Sums may be made in another order: by blocks of 1024.
        for metric in ("mean", "rms", "cosine"):
            ours, theirs = wanted.pop(metric), found.pop(metric)
            allowed = max(abs(ours) if metric != "cosine" else 1.0, 2e-323) * 1e-15
            error = 0.0 if ours == theirs else abs(ours - theirs) / max(allowed, 5e-324)
            worst = max(worst, error)
            assert error <= 20, (metric, ours, theirs, what)
        assert found == wanted, what
    print(f"{PAIRS} pairs; sums err by {worst:.1f}e-15 at most")
