"""A model that no run can compute is refused on reading, as ONNX and its runtime refuse it."""

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from tests.python.importing.faulty import TABLE, Node, faults
from tests.python.importing.same import TYPES
from tests.python.onnx_runtime import binary


def refused(path: Path) -> str:
    """Return why onnxport refuses the model at `path`; empty where it does not."""
    command = [binary(), "optimize", path, "--emit", "--no-optimize", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 5), done.stderr
    return done.stderr if done.returncode else ""


def judges(node: Node) -> set[str]:
    """Return who else refuses a model: the checker, ONNX Runtime on loading it or on running it."""
    model, found = node.model(), set()
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        found.add("checker")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception:
        return {*found, "loading"}
    values = {}
    for given in session.get_inputs():
        kind = TYPES[given.type.removeprefix("tensor(").removesuffix(")")]
        values[given.name] = np.ones(given.shape, kind)
    try:
        session.run(None, values)
    except Exception:
        found.add("running")
    return found


@pytest.mark.parametrize(
    "node", [pytest.param(n, id=f"{i}-{n.op}") for i, (n, _) in enumerate(TABLE)]
)
def test_what_can_be_computed_is_read(node, tmp_path):
    assert not judges(node)
    onnx.save(node.model(), str(tmp_path / "m.onnx"))
    assert not refused(tmp_path / "m.onnx")


def test_what_cannot_be_computed_is_refused(tmp_path):
    by, wrong = Counter(), []
    for name, node in faults():
        judged = judges(node)
        onnx.save(node.model(), str(tmp_path / "m.onnx"))
        why = refused(tmp_path / "m.onnx")
        by.update(judged)
        if not judged:
            wrong.append(f"{name}: ONNX Runtime computes it; we say: {why or 'nothing'}")
        elif "error[OP110]: " not in why or "`faulty`" not in why:
            wrong.append(f"{name}: refused in {sorted(judged)}; we say: {why or 'nothing'}")
    total = sum(len(wrong) for _, wrong in TABLE)
    print(f"{total} faults; refused by {dict(by)}")
    assert total >= 200
    assert not wrong, "\n".join(wrong)
