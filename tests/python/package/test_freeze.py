"""Models with the sizes of the example inputs: `--freeze-all`."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxport
from tests.python.onnx_runtime import library, reported


class Scores(nn.Module):
    """Sizes in shapes, in a reshape and in a scale."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x, y):
        a = self.layer(x).reshape(x.shape[0] * x.shape[1], 8)
        return a @ y.t() / x.shape[1], y.sum(0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the module and a program with expected values."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("freeze") / "scores.pt2"
    module = Scores().eval()
    dims = ({0: Dim("batch"), 1: Dim("length")}, {0: Dim("rows")})
    inputs = (torch.randn(3, 5, 8), torch.randn(7, 8))
    program = torch.export.export(module, inputs, dynamic_shapes=dims)
    onnxport.save(program, path)
    return module, path


def shapes(path):
    """Return the declared shapes of inputs, outputs and inner values."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    graph = model.graph
    return {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in [*graph.input, *graph.value_info, *graph.output]
    }


def agrees(module, path, *inputs):
    session = onnxruntime.InferenceSession(path)
    names = [port.name for port in session.get_inputs()]
    found = session.run(None, {n: x.numpy() for n, x in zip(names, inputs, strict=True)})
    with torch.no_grad():
        expected = module(*inputs)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


def test_all_shapes_are_static_and_the_model_is_verified(saved, tmp_path):
    module, path = saved
    out = tmp_path / "m.onnx"
    found = reported("convert", path, "-o", out, "--freeze-all", "--ort-library", library())
    stated = shapes(out)
    assert stated["x"] == [3, 5, 8]
    assert stated["y"] == [7, 8]
    assert all(isinstance(dim, int) for dims in stated.values() for dim in dims)
    assert found["verified"] is True
    assert found["sizes"]["dims"] == []
    agrees(module, out, torch.randn(3, 5, 8), torch.randn(7, 8))
    # The model states its sizes, so that `verify` runs it at these.
    metadata = {prop.key: prop.value for prop in onnx.load(out).metadata_props}
    assert {(s["input"], s["axis"]): s["size"] for s in json.loads(metadata["onnxport.fixed"])} == {
        ("x", 0): 3,
        ("x", 1): 5,
        ("y", 0): 7,
    }
    found = reported("verify", out, "--against", path, "--ort-library", library())
    assert found["verified"] is True


def test_a_given_size_wins_and_names_are_dropped(saved, tmp_path):
    module, path = saved
    out = tmp_path / "m.onnx"
    options = ("--dim", "x:0=4", "--dim", "x:1=length", "--input-names", "x=y,y=x")
    # `x` is the second input now.
    found = reported(
        "convert", path, "-o", out, "--freeze-all", *options, "--ort-library", library(), code=2
    )
    assert [d["code"] for d in found["diagnostics"]] == ["OP307"]
    options = ("--dim", "y:0=4", "--dim", "y:1=length", "--input-names", "x=y,y=x")
    reported("convert", path, "-o", out, "--freeze-all", *options, "--no-verify")
    assert {name: shapes(out)[name] for name in ("x", "y")} == {"x": [7, 8], "y": [4, 5, 8]}
    agrees(module, out, torch.randn(4, 5, 8), torch.randn(7, 8))


def test_a_program_in_memory(saved, tmp_path):
    module, path = saved
    program = torch.export.load(path)
    out = tmp_path / "m.onnx"
    onnxport.export(program, f=out, options={"freeze_all": True, "dim": ["y:0=2"]})
    assert shapes(out)["x"] == [3, 5, 8]
    assert shapes(out)["y"] == [2, 8]
    agrees(module, out, torch.randn(3, 5, 8), torch.randn(2, 8))
    onnxport.convert(path, output=tmp_path / "n.onnx", freeze_all=True, verify=False)
    assert shapes(tmp_path / "n.onnx")["y"] == [7, 8]


def without_hints(path, out, *, keep_examples):
    """Copy an archive without the hints of its sizes, and without example inputs."""

    def stripped(node):
        if isinstance(node, dict):
            return {k: None if k == "hint" else stripped(v) for k, v in node.items()}
        return [stripped(one) for one in node] if isinstance(node, list) else node

    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("models/model.json"):
                data = json.dumps(stripped(json.loads(data))).encode()
            if "sample_inputs" in entry.filename and not keep_examples:
                continue
            target.writestr(entry.filename, data)


def test_sizes_come_from_example_inputs_or_are_refused(saved, tmp_path):
    _, path = saved
    bare, out = tmp_path / "bare.pt2", tmp_path / "m.onnx"
    without_hints(path, bare, keep_examples=True)
    onnxport.convert(bare, output=out, freeze_all=True, verify=False)
    assert shapes(out)["x"] == [3, 5, 8]
    without_hints(path, bare, keep_examples=False)
    with pytest.raises(onnxport.Error, match=r"OP312.*`x:0`") as caught:
        onnxport.convert(bare, output=tmp_path / "none.onnx", freeze_all=True, verify=False)
    assert "--dim" in str(caught.value.diagnostics[0].help)
    given = {"dim": ["x:0=3", "x:1=5", "y:0=7"]}
    onnxport.convert(bare, output=tmp_path / "given.onnx", freeze_all=True, verify=False, **given)
    assert shapes(tmp_path / "given.onnx")["y"] == [7, 8]
