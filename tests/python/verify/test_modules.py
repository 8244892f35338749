"""`onnxport bisect --modules`: the module of an archive that is wrong, also within Python."""

import json
import os
import subprocess

import pytest
import torch
from torch import nn

import onnxport
from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary

pytest.importorskip("onnxruntime")

# The environment of the Python that runs this, with the package.
ACTIVE = {**os.environ, "VIRTUAL_ENV": str(forked.prefix()), "PYTHONPATH": str(ROOT / "python")}


class Hash(nn.Module):
    def forward(self, x):
        return torch.hash_tensor(x).float() + x


class Layer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.inner = inner

    def forward(self, x):
        return self.inner(self.linear(x))


class Deep(nn.Module):
    def __init__(self, bad):
        super().__init__()
        layers = [Layer(Hash() if number == bad else nn.Tanh()) for number in range(5)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


def saved(path, bad=None):
    torch.manual_seed(0)
    torch.export.save(torch.export.export(Deep(bad).eval(), (torch.rand(2, 4),)), path)
    return path


def node(root, path):
    nodes = [root]
    for one in nodes:
        nodes += one["children"]
    return next(one for one in nodes if one["path"] == path)


def bisect(archive, *options):
    command = [binary(), "bisect", "--modules", str(archive), *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=ACTIVE
    )


def test_the_command_finds_one_bad_layer(tmp_path):
    done = bisect(saved(tmp_path / "m.pt2", bad=3), "--json")
    assert done.returncode == 4, done.stdout + done.stderr
    said = json.loads(done.stdout)
    root = said["modules"]["root"]
    assert (root["verdict"], root["kind"]) == ("does not convert", "Deep")
    found = node(root, "layers.3.inner")
    assert (found["begins"], found["calls"], found["kind"]) == (True, 1, "Hash")
    assert found["diagnostics"][0]["code"] == "OP301"
    assert node(root, "layers.2")["verdict"] == "not looked at"
    assert f"PyTorch {torch.__version__} (" in said["modules"]["python"]
    assert [one["code"] for one in said["diagnostics"]] == ["OP712"]


def test_a_program_that_agrees_is_converted_once(tmp_path):
    done = bisect(saved(tmp_path / "m.pt2"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("(the model) (Deep)  agrees; absolute error up to ")
    assert "compared  1 conversion by onnxport" in done.stdout
    everything = bisect(tmp_path / "m.pt2", "--all", "--json")
    root = json.loads(everything.stdout)["modules"]["root"]
    assert {node(root, f"layers.{number}")["verdict"] for number in range(5)} == {"agrees"}


def test_what_is_no_program_is_an_error(tmp_path):
    (tmp_path / "m.pt2").write_text("nothing")
    done = bisect(tmp_path / "m.pt2")
    assert done.returncode == 6, done.stdout + done.stderr
    assert "error[OP706]" in done.stderr
    refused = bisect(saved(tmp_path / "a.pt2"), "--opset", "3")
    assert refused.returncode == 6
    assert "opset" in refused.stderr


def test_within_python_no_other_is_started(tmp_path, monkeypatch):
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX", "PATH"):
        monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(onnxport.MismatchError) as caught:
        onnxport.bisect(saved(tmp_path / "m.pt2", bad=3), modules=True)
    [found] = caught.value.diagnostics
    assert (found.code, found.message) == ("OP712", "`layers.3.inner` (Hash) does not convert")
    assert any("OP301" in note for note in found.notes)
    with pytest.raises(onnxport.UsageError, match="a time limit is not supported here"):
        onnxport.bisect(tmp_path / "m.pt2", modules=True, timeout=5)
    said = onnxport.bisect(saved(tmp_path / "a.pt2"), modules=True)
    assert (said.modules["ok"], said.modules["conversions"]) == (True, 1)


def test_the_tree_is_a_page(tmp_path):
    archive = saved(tmp_path / "m.pt2", bad=3)
    done = bisect(archive, "--report", str(tmp_path / "tree.html"))
    assert done.returncode == 4, done.stdout + done.stderr
    page = (tmp_path / "tree.html").read_text()
    assert "layers.3.inner does not convert" in page
    assert "aten.hash_tensor.default" in page
    with pytest.raises(onnxport.MismatchError):
        onnxport.bisect(archive, modules=True, report=[tmp_path / "again.html"])
    again = (tmp_path / "again.html").read_text()
    assert "layers.3.inner does not convert" in again


def test_options_of_plugins_count(tmp_path):
    archive = saved(tmp_path / "m.pt2")
    for refused in (
        bisect(archive, "--use", "aten.tanh.default=nobody"),
        bisect(archive, "--plugin-option", "nobody.depth=3"),
    ):
        assert refused.returncode != 0, refused.stdout
        assert "nobody" in refused.stderr + refused.stdout
    assert bisect(archive, "--use", "aten.tanh.default=aten").returncode == 0


def test_modules_are_converted_for_the_target(tmp_path):
    archive, target = saved(tmp_path / "m.pt2"), tmp_path / "npu.target"
    kernels = ["Add 14 T=f32", "Gemm 13 T=f32", "Tanh 13 T=f16"]
    target.write_text("target npu\n" + "".join(f"kernel {kernel}\n" for kernel in kernels))
    done = bisect(archive, "--target", str(target), "--once", "--json")
    assert done.returncode == 4, done.stdout + done.stderr
    root = json.loads(done.stdout)["modules"]["root"]
    found = node(root, "layers.0.inner")
    assert (found["begins"], found["kind"], found["verdict"]) == (True, "Tanh", "does not convert")
    assert "npu" in found["reason"]
    assert node(root, "layers.0.linear")["verdict"] == "not looked at"
    said = onnxport.bisect(archive, modules=True, target="onnxruntime-cpu")
    assert said.modules["ok"]
    with pytest.raises(onnxport.MismatchError):
        onnxport.bisect(archive, modules=True, target=target)


def test_it_says_what_begins():
    said = []
    torch.manual_seed(0)
    onnxport.pieces(Deep(2).eval(), (torch.rand(2, 4),), progress=said.append)
    assert said[:2] == ["recording calls", "converting the model"]
    assert "converting layers.2" in said
    said.clear()
    onnxport.pieces(Deep(None).eval(), (torch.rand(2, 4),), progress=said.append)
    assert said == ["recording calls", "converting the model", "running the model"]
