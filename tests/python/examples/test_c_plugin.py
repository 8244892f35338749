"""`examples/c-plugin`, as its README runs it: built by a C compiler, converted with, compared."""

from __future__ import annotations

import os
import subprocess
import sys

import onnx
import pytest

from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary, convert

EXAMPLE = ROOT / "examples" / "c-plugin"


@pytest.mark.skipif(sys.platform == "win32", reason="the command is that of a Unix compiler")
def test_the_model_equals_pytorch(tmp_path):
    library, archive, model = (tmp_path / name for name in ("lib.so", "model.pt2", "model.onnx"))
    include = ROOT / "plugin-sdk" / "abi" / "include"
    command = [os.environ.get("CC", "cc"), "-std=c11", "-O2", "-shared", "-fPIC", "-I", include]
    subprocess.run([*command, "-o", library, EXAMPLE / "plugin.c"], check=True)
    checked = subprocess.run(
        [binary(), "plugin", "check", library], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    subprocess.run([forked.python(), EXAMPLE / "export.py", archive], check=True)
    convert(archive, model, "--plugin", library)
    ops = [node.op_type for node in onnx.load(model).graph.node]
    assert "Relu" not in ops
    assert ops.count("Abs") == 2
    command = [forked.python(), EXAMPLE / "compare.py", model]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "batch of 2: equal\nbatch of 7: equal\n"
