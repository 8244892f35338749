"""Architectures of the zoo agree at old opsets, in this ONNX Runtime and in those of their days.

Not found by pytest by itself: `python -m pytest tests/python/zoo/check_opsets.py -k hf_bert`.
`ONNXPORT_PYTHON_11`, `_13`, `_15` and `_17` name a Python with an old onnxruntime for the opset,
such as 1.2.0, 1.6.0, 1.10.0 and 1.12.1.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import TOLERANCES, convert, read_cases, run_cases
from tests.python.zoo.registry import load_zoo

MODELS = {**load_zoo(), **load_all()}
# The IR versions of the releases of ONNX that brought the opsets.
IR_VERSIONS = {11: 6, 13: 7, 15: 8, 17: 8}


@pytest.mark.parametrize("name", MODELS)
def test_old_opsets(name, tmp_path):
    archive = MODELS[name].make(tmp_path)
    cases = list(read_cases(archive))
    for opset, ir_version in IR_VERSIONS.items():
        target = tmp_path / f"{opset}.onnx"
        convert(archive, target, "--opset", str(opset), "--ir-version", str(ir_version))
        run_cases(target, cases, MODELS[name].tolerance)
        if python := os.environ.get(f"ONNXPORT_PYTHON_{opset}"):
            _run_in(python, target, cases, MODELS[name].tolerance)


def _run_in(python, model, cases, tolerance) -> None:
    """Hold the results of an old runtime against those of PyTorch."""
    given = {"cases": np.array(len(cases))}
    for number, case in enumerate(cases):
        given |= {f"{number}/{name}": value.numpy() for name, value in case.inputs.items()}
    inputs, outputs = model.with_suffix(".in.npz"), model.with_suffix(".out.npz")
    np.savez(inputs, **given)
    script = Path(__file__).with_name("old_runtime.py")
    subprocess.run([python, script, model, inputs, outputs], check=True)
    found = np.load(outputs)
    for number, case in enumerate(cases):
        for index, right in enumerate(case.outputs):
            rtol, atol = (limit * tolerance for limit in TOLERANCES.get(right.dtype, (0, 0)))
            got = torch.from_numpy(found[f"{number}/{index}"])
            torch.testing.assert_close(got, right, rtol=rtol, atol=atol, equal_nan=True)
