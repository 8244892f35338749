"""Layers that were written out step by step become one operator each."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import check_model, convert, read_cases, reported, run_cases

MODEL = load_all()["recurrent_cells"]


def operators(path):
    return Counter(node.op_type for node in onnx.load(path, load_external_data=False).graph.node)


def test_cells_in_a_loop_are_layers(tmp_path):
    archive, target = MODEL.make(), tmp_path / "cells.onnx"
    convert(archive, target)
    check_model(target)
    found = operators(target)
    assert (found["LSTM"], found["GRU"], found["Gemm"], found["Split"]) == (1, 1, 0, 0), found
    run_cases(target, list(read_cases(archive)), MODEL.tolerance)


@pytest.mark.parametrize("rows", [1, 3])
def test_cells_that_torch_wrote_out_are_layers(rows, tmp_path):
    written, target = tmp_path / "torch.onnx", tmp_path / "less.onnx"
    recipe = MODEL.recipe()
    module = recipe.module.eval()
    (x,) = recipe.args
    program = torch.onnx.export(module, (x[:rows],), dynamo=True, opset_version=20, verbose=False)
    program.save(str(written))
    reported("optimize", written, "-o", target)
    found = operators(target)
    assert found["LSTM"] == 1, found
    assert found["GRU"] == 1, found
    assert sum(found.values()) * 3 < sum(operators(written).values())
    sessions = [
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        for path in (written, target)
    ]
    given = {sessions[0].get_inputs()[0].name: x[:rows].numpy()}
    for got, wanted in zip(*(one.run(None, given) for one in sessions), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
