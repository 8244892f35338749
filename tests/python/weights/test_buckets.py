"""Packages of variants for several sizes, which share one data file: `package --buckets`."""

from __future__ import annotations

import json
import os

import numpy as np
import onnx
import onnxruntime
import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.export import Dim, export

import onnxport as python_package
from tests.python import forked
from tests.python.onnx_runtime import library, reported
from tests.python.weights.test_package import locations


class Model(nn.Module):
    """Two dynamic dimensions, and a table that is large enough for the data file."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.body = nn.Embedding(64, 48), nn.Linear(48, 48)

    def forward(self, ids: Tensor, scale: Tensor) -> Tensor:
        return self.body(self.table(ids)).mean(1) * scale[:, None]


class Head(nn.Module):
    """A second program, without the dimension of lengths."""

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(-1)


@pytest.fixture
def programs(tmp_path):
    """Return the modules, and the folder of their programs with expected values."""
    torch.manual_seed(0)
    model, head = Model().eval(), Head()
    batch, length = Dim("batch", max=64), Dim("length", max=128)
    ids, scale = torch.randint(0, 64, (3, 5)), torch.rand(3)
    shapes = ({0: batch, 1: length}, {0: batch})
    program = export(model, (ids, scale), dynamic_shapes=shapes)
    python_package.save(program, tmp_path / "model.pt2")
    program = export(head, (torch.rand(3, 48),), dynamic_shapes=({0: batch},))
    python_package.save(program, tmp_path / "head.pt2")
    return model, head, tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_variants_share_their_data_and_agree_with_the_module(programs):
    model, head, folder = programs
    out = folder / "out"
    archives = (folder / "model.pt2", folder / "head.pt2")
    buckets = ("--buckets", "batch=1,4", "--buckets", "length=8,2")
    options = (*buckets, "--ort-library", library(), "--reference", "torch")
    active = {**os.environ, "VIRTUAL_ENV": str(forked.prefix())}
    found = reported("package", *archives, "-o", out, *options, environment=active)
    files = {
        "model_batch1_length2.onnx",
        "model_batch1_length8.onnx",
        "model_batch4_length2.onnx",
        "model_batch4_length8.onnx",
        "head_batch1.onnx",
        "head_batch4.onnx",
    }
    assert set(contents(out)) == {*files, "weights.data", "variants.json"}
    manifest = json.loads((out / "variants.json").read_text())
    assert manifest["format"] == 1
    assert manifest["buckets"] == {"batch": [1, 4], "length": [8, 2]}
    assert manifest["data"] == ["weights.data"]
    assert {variant["file"] for variant in manifest["variants"]} == files
    assert found["variants"] == str(out / "variants.json")
    assert {m["name"]: m["sizes"] for m in found["models"]}["head_batch4"] == {"batch": 4}
    # The data file holds each weight once.
    tables = {locations(out / file)["table.weight"] for file in files if file.startswith("model")}
    assert len(tables) == 1
    weights = (64 + 48) * 48 * 4
    assert weights <= (out / "weights.data").stat().st_size <= weights + 8192
    for variant in manifest["variants"]:
        assert variant["verified"], variant
        session = onnxruntime.InferenceSession(out / variant["file"])
        shapes = {port.name: port.shape for port in session.get_inputs()}
        types = {port["name"]: port["type"] for port in variant["inputs"]}
        batch = variant["sizes"]["batch"]
        if variant["model"] == "head":
            assert types == {"x": f"f32[{batch}, 48]"}
            x = torch.rand(batch, 48)
            (result,) = session.run(None, {"x": x.numpy()})
            expected = head(x)
        else:
            length = variant["sizes"]["length"]
            assert types == {"ids": f"i64[{batch}, {length}]", "scale": f"f32[{batch}]"}
            assert shapes["ids"] == [batch, length]
            ids, scale = torch.randint(0, 64, (batch, length)), torch.rand(batch)
            (result,) = session.run(None, {"ids": ids.numpy(), "scale": scale.numpy()})
            with torch.no_grad():
                expected = model(ids, scale)
        assert [port["type"] for port in variant["outputs"]] == [f"f32[{batch}, 48]"]
        np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-5)


def test_one_model_runs_the_variant_of_its_sizes_and_refuses_others(programs):
    model, head, folder = programs
    out = folder / "out"
    archives = (folder / "model.pt2", folder / "head.pt2")
    buckets = ("--buckets", "batch=1,4", "--buckets", "length=8,2")
    reported("package", *archives, "-o", out, *buckets, "--dispatch", "--no-verify")
    for name in ("model", "head"):
        onnx.checker.check_model(str(out / f"{name}.onnx"), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(out / "model.onnx", options)
    for batch, length in ((1, 8), (4, 2), (4, 8), (1, 2)):
        ids, scale = torch.randint(0, 64, (batch, length)), torch.rand(batch)
        (result,) = session.run(None, {"ids": ids.numpy(), "scale": scale.numpy()})
        with torch.no_grad():
            expected = model(ids, scale)
        np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-5)
    for batch, length, scales in ((3, 8, 3), (1, 3, 1), (4, 8, 1)):
        feeds = {"ids": np.zeros((batch, length), np.int64), "scale": np.ones(scales, np.float32)}
        with pytest.raises(Exception, match="no variant for these sizes: ids:0,ids:1,scale:0 must"):
            session.run(None, feeds)
    session = onnxruntime.InferenceSession(out / "head.onnx", options)
    x = torch.rand(4, 48)
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], head(x), rtol=1e-5)
    # The table is there once, and nothing is beside the variants and their data.
    graph = onnx.load(out / "model.onnx", load_external_data=False).graph
    stored = [one for one in graph.initializer if one.dims == [64, 48]]
    assert len(stored) == 1
    assert {"model.onnx", "head.onnx"} < set(contents(out))


def test_variants_need_sizes(programs):
    _, _, folder = programs
    command = ("package", folder / "head.pt2", "-o", folder / "out", "--dispatch")
    assert "--buckets" in json.dumps(reported(*command, code=2))


def test_a_package_is_the_same_again(programs):
    *_, folder = programs
    for name in ("first", "second"):
        python_package.package(
            [f"m={folder / 'model.pt2'}"],
            output=folder / name,
            dim=["m/ids:1=words"],
            buckets="words=2,3",
            verify=False,
        )
    first = contents(folder / "first")
    assert first == contents(folder / "second")
    graph = onnx.load(folder / "first/m_words3.onnx", load_external_data=False).graph
    ids = graph.input[0].type.tensor_type.shape
    assert [dim.dim_param or dim.dim_value for dim in ids.dim] == ["batch", 3]
    (variant, _) = json.loads(first["variants.json"])["variants"]
    assert variant["verified"] is False
    assert variant["not_verified"] == "`--no-verify`"


def test_buckets_that_cannot_be_made_are_refused(programs):
    *_, folder = programs
    before = contents(folder)
    archive = folder / "model.pt2"

    def refused(*options, code):
        found = reported("package", archive, "-o", folder / "out", *options, code=code)
        return [(d["code"], d["message"]) for d in found["diagnostics"] if d["severity"] == "error"]

    ((code, message),) = refused("--buckets", "rows=1,2", code=2)
    assert (code, "`rows`" in message) == ("OP307", True)
    ((code, message),) = refused("--buckets", "batch=3,100", code=2)
    assert (code, "100" in message) == ("OP309", True)
    sizes = ",".join(map(str, range(1, 10)))
    many = ("--buckets", f"batch={sizes}", "--buckets", f"length={sizes}")
    ((code, message),) = refused(*many, code=2)
    assert (code, "81" in message, "64" in message) == ("OP001", True, True)
    for wrong in ("batch", "batch=", "=1", "batch=0", "batch=2,2", "batch=x"):
        assert refused("--buckets", wrong, code=2)[0][0] == "OP001", wrong
    twice = refused("--buckets", "batch=1", "--buckets", "batch=2", code=2)
    assert twice[0][0] == "OP001"
    assert contents(folder) == before


def test_a_variant_that_differs_is_not_published(programs):
    model, _, folder = programs
    ids, scale = torch.randint(0, 64, (4, 5)), torch.rand(4)
    batch = Dim("batch", max=64)
    program = export(model, (ids, scale), dynamic_shapes=({0: batch}, {0: batch}))
    python_package.save(program, folder / "wrong.pt2")
    sidecar = python_package.sidecar_path(folder / "wrong.pt2")
    tensors = safetensors.torch.load_file(sidecar)
    with safetensors.safe_open(sidecar, "pt") as file:
        metadata = file.metadata()
    tensors["traced/output/0"] += 1
    safetensors.torch.save_file(tensors, sidecar, metadata)
    options = ("--ort-library", library(), "--reference", "recorded", "--buckets", "batch=2,4")
    archive = folder / "wrong.pt2"
    found = reported("package", archive, "-o", folder / "out", *options, code=4)
    assert any("in `wrong_batch4`" in d["notes"] for d in found["diagnostics"])
    assert not (folder / "out").exists()
    reported("package", archive, "-o", folder / "out", *options, "--keep-failed", code=4)
    manifest = json.loads((folder / "out.failed/variants.json").read_text())
    verified = {v["sizes"]["batch"]: v["not_verified"] for v in manifest["variants"]}
    assert "differ" in verified[4]
