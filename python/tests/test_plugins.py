"""Binary plugins beside what is written in Python: the plugin in C of `examples/c-plugin`."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/c-plugin"
COMPILER = os.environ.get("CC", "cc")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if sys.platform == "win32" or shutil.which(COMPILER) is None:
        pytest.skip("there is no compiler of C")
    made = tmp_path_factory.mktemp("plugin") / "libcexample.so"
    include = ROOT / "plugin-sdk/abi/include"
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", "-I", str(include)]
    subprocess.run([COMPILER, *flags, "-o", made, EXAMPLE / "plugin.c"], check=True)
    return made


@pytest.fixture(scope="module")
def module():
    spec = importlib.util.spec_from_file_location("c_example", EXAMPLE / "model.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found.Model().eval()


X = torch.randn(3, 8)


def kinds(program):
    return [node.op_type for node in program.model_proto.graph.node]


def test_an_export_takes_operators_and_rules_of_a_plugin(library, module, tmp_path):
    with pytest.raises(onnxport.UnsupportedError, match="no lowering"):
        onnxport.export(module, (X,))
    program = onnxport.export(module, (X,), plugins=[library])
    torch.testing.assert_close(tuple(program(X)), module(X))
    assert "Neg" not in kinds(program)
    torch.export.save(torch.export.export(module, (X,)), tmp_path / "m.pt2")
    onnxport.convert(tmp_path / "m.pt2", output=tmp_path / "m.onnx", plugin=[library], verify=False)
    assert (tmp_path / "m.onnx").read_bytes() == program.to_bytes()


def test_rules_of_a_plugin_and_of_python_meet(library, module):
    @onnxport.rule("Abs(x)", exact=True, register=False)
    def by_maximum(op, x):
        return op.Max(x, -x)

    program = onnxport.export(module, (X,), plugins=[library], rules=[by_maximum])
    assert "Abs" not in kinds(program)
    torch.testing.assert_close(tuple(program(X)), module(X))


def test_optimize_takes_plugins(library, tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.relu(torch.abs(x))

    path = tmp_path / "m.onnx"
    onnxport.export(Module(), (X,)).save(path)
    said = onnxport.optimize(path, tmp_path / "n.onnx", plugin=[library])
    assert [count["plugin"] for count in said["optimised"]["counts"]] == ["cexample"]


def test_a_plugin_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(onnxport.Error, match=r"none\.so"):
        onnxport.export(torch.nn.ReLU(), (X,), plugins=[tmp_path / "none.so"])


def test_the_project_of_a_plugin_is_created(tmp_path):
    made = onnxport.plugin_new("mylib", path=tmp_path / "mine", kind="rules")
    assert (tmp_path / "mine" / "Cargo.toml").is_file()
    assert made.folder == str(tmp_path / "mine")
    assert made.next[1] == "cargo test"
    with pytest.raises(onnxport.Error, match="cannot be the name of a plugin"):
        onnxport.plugin_new("My Plugin", path=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_plugins_are_listed_inspected_and_checked(library):
    listed = onnxport.plugin_list(plugin=library)
    known = {plugin["id"]: plugin for plugin in listed.plugins}
    assert known["aten"]["lowerings"] > 100
    assert known["cexample"]["library"] == str(library)
    found = onnxport.plugin_info(library)
    assert (found.id, found.provides) == ("cexample", known["cexample"]["provides"])
    assert len(found.sha256) == 64
    assert "cexample" in str(found)
    with pytest.raises(onnxport.FileError, match="plugin library not found"):
        onnxport.plugin_info("no.so")
    checked = onnxport.plugin_check(library)
    assert checked.passed > 0
    assert checked.failed == 0, checked
    with pytest.raises(onnxport.UsageError, match="`timeout` is 0"):
        onnxport.plugin_check(library, timeout=0)
