"""`inspect` of two files: the differences, and nothing else."""

import json
import os
import subprocess

import onnx
import pytest
from onnx import TensorProto, helper

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary


def inspect(*arguments, code=0):
    command = [binary(), "inspect", *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture
def pair(tmp_path):
    """Return two models that differ in a type, an operator and the opset."""
    paths = []
    for name, kind, operator, opset in (
        ("a", TensorProto.FLOAT, "Abs", 20),
        ("b", TensorProto.DOUBLE, "Neg", 21),
    ):
        ends = [helper.make_tensor_value_info(end, kind, ["n", 2]) for end in "xy"]
        fixed = helper.make_tensor_value_info("fixed", TensorProto.INT64, [1])
        nodes = [helper.make_node(operator, ["x"], ["y"])]
        graph = helper.make_graph(nodes, "g", [ends[0], fixed], [ends[1]])
        opsets = [helper.make_opsetid("", opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="me")
        paths.append(tmp_path / f"{name}.onnx")
        onnx.save(model, paths[-1])
    return paths


def test_only_what_differs_is_shown(pair):
    text = inspect(*pair)
    lines = [line.split("  ") for line in text.splitlines()]
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:] if cell.strip()]
        for cells in lines[2:-1]
        if len(cells) > 2
    }
    assert rows["ONNX"] == ["20", "21"]
    assert rows["x"] == ["f32[n, 2]", "f64[n, 2]"]
    assert rows["Abs"] == ["1", "-"]
    assert rows["Neg"] == ["-", "1"]
    assert "fixed" not in text
    assert "fixed" in inspect(*pair, "--all")

    said = json.loads(inspect(*pair, "--json"))
    assert [row["name"] for row in said["differences"]] == ["ONNX", "x", "y", "Abs", "Neg"]
    assert said["differences"][3] == {"section": "operators", "name": "Abs", "a": "1", "b": None}
    assert said["same"] == json.loads(inspect(pair[0], pair[0], "--json"))["same"] - 4


def test_a_program_beside_its_model(tmp_path):
    archive, model = load_all()["mlp"].make(), tmp_path / "m.onnx"
    command = [binary(), "convert", str(archive), "-o", str(model), "--no-verify", "-q"]
    subprocess.run(command, check=True)
    said = json.loads(inspect(archive, model, "--json"))
    sections = {row["section"] for row in said["differences"]}
    assert "operators" in sections
    assert "inputs" not in sections
    assert "0 differences" in inspect(archive, archive)
    inspect(archive, model, "--weights", code=2)
