"""The scripts of `examples/python`, and what `docs/python.md` says."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/python.md").read_text()
SCRIPTS = sorted((ROOT / "examples/python").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script, tmp_path):
    if "transformers" in script.read_text():
        pytest.importorskip("transformers")
    path = tmp_path / "model.onnx"
    found = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(script), str(path)]
    run = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": found}
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout
    onnx.checker.check_model(path, full_check=True)


def test_every_example_is_on_the_page():
    listed = set(re.findall(r"^\| `examples/python/(\w+)\.py`", PAGE, re.M))
    assert listed == {script.stem for script in SCRIPTS}


def rows():
    table = PAGE.split("## Migrating from")[1].split("\n\n")[1]
    return [line.split("|")[1:3] for line in table.splitlines()[2:]]


def test_every_keyword_stands_in_the_table():
    theirs = {name for left, _ in rows() for name in re.findall(r"`(\w+)`", left)}
    own = {
        name
        for left, right in rows()
        if not left.strip()
        for name in re.findall(r"^ `(\w+)`", right)
    }
    assert theirs | own == set(inspect.signature(onnxport.export).parameters)


def test_every_keyword_of_pytorch_stands_in_the_table():
    torch_onnx = pytest.importorskip("torch.onnx")
    wanted = set(inspect.signature(torch_onnx.export).parameters)
    wanted -= {"deprecated_kwargs"}
    theirs = {name for left, _ in rows() for name in re.findall(r"`(\w+)`", left)}
    assert wanted <= theirs


def test_the_first_lines_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = PAGE.split("```python\n")[1].split("```")[0]
    exec(code, {})
    onnx.checker.check_model(tmp_path / "model.onnx")
