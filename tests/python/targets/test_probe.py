"""`legal --probe`: a runtime decides what its table leaves open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxport


def saved(
    path: Path,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, list[int]],
    opset: int = 20,
    **constants,
) -> Path:
    """Write a model of 32-bit floats."""
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()]
    outputs = [
        helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes
    ]
    tensors = [numpy_helper.from_array(np.array(x), name) for name, x in constants.items()]
    graph = helper.make_graph(nodes, "g", values, outputs, initializer=tensors)
    domains = {node.domain for node in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def verdicts(model: Path, target: str, **options: object) -> dict[str, dict]:
    """Return the verdict on each operator, also where one is refused."""
    try:
        found = onnxport.legal(model, target=target, **options).legal
    except onnxport.UnsupportedError as error:
        found = error.report["legal"]
    return {node["operator"]: node for node in found["nodes"]}


def windows(folder: Path) -> Path:
    """Write a model of two nodes that the table of OpenVINO does not decide."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Col2Im", ["r", "size", "block"], ["y"]),
        helper.make_node("Pad", ["r", "pads"], ["z"], mode="wrap"),
    ]
    constants = {"size": [4, 4], "block": [2, 2], "pads": [0, 0, 1, 0, 0, 1]}
    return saved(folder / "windows.onnx", nodes, {"x": [1, 4, 9]}, **constants)


@pytest.mark.parametrize("isolate", [False, True])
def test_openvino_decides_what_its_table_leaves_open(tmp_path: Path, isolate: bool) -> None:
    openvino = pytest.importorskip("openvino")
    model = windows(tmp_path)
    before = verdicts(model, "openvino")
    assert {op: node["verdict"] for op, node in before.items()} == {
        "Relu": "native",
        "Col2Im": "unknown",
        "Pad": "unknown",
    }
    after = verdicts(model, "openvino", probe=True, isolate=isolate)
    assert {op: node["verdict"] for op, node in after.items()} == {
        "Relu": "native",
        "Col2Im": "native",
        "Pad": "refused",
    }
    version = openvino.__version__.split("-")[0]
    assert after["Relu"]["reason"] == "a kernel"
    for operator in ("Col2Im", "Pad"):
        assert after[operator]["reason"].startswith(f"asked OpenVINO {version}")


def test_onnxruntime_decides_about_operators_of_its_own(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Twice", ["x"], ["y"], domain="my.chip"),
        helper.make_node("Abs", ["x"], ["z"]),
    ]
    model = saved(tmp_path / "own.onnx", nodes, {"x": [2, 3]})
    assert verdicts(model, "onnxruntime-cpu")["my.chip::Twice"]["verdict"] == "unknown"
    after = verdicts(model, "onnxruntime-cpu", probe=True)
    assert after["my.chip::Twice"]["verdict"] == "refused"
    assert after["my.chip::Twice"]["reason"].startswith("asked ONNX Runtime ")
    assert after["Abs"]["reason"] == "a kernel"


def test_only_the_runtime_of_a_target_is_asked(tmp_path: Path) -> None:
    model = windows(tmp_path)
    with pytest.raises(onnxport.UsageError, match="`tensorrt`: no plugin runs models in it"):
        onnxport.legal(model, target="tensorrt", probe=True)
    with pytest.raises(onnxport.UsageError, match="`isolate` needs `probe`"):
        onnxport.legal(model, target="openvino", isolate=True)


def test_a_table_names_the_plugin_that_is_asked(tmp_path: Path) -> None:
    table = tmp_path / "chip.txt"
    table.write_text("target chip\npartial\nexecutor ort\nkernel Relu 14 T=f32\n")
    assert verdicts(windows(tmp_path), str(table))["Pad"]["verdict"] == "unknown"
    after = verdicts(windows(tmp_path), str(table), probe=True)
    assert after["Pad"]["verdict"] == after["Col2Im"]["verdict"] == "native"
    # The plugin of a base runs models in the base only.
    table.write_text("base openvino\ntarget chip\n")
    with pytest.raises(onnxport.UsageError, match="`chip`"):
        onnxport.legal(windows(tmp_path), target=table, probe=True)
