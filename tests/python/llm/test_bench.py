"""`bench` measures the decoders in folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.python import forked
from tests.python.llm import checkpoints, lora
from tests.python.llm.test_llm import llm
from tests.python.onnx_runtime import reported


def bench(*arguments: str | Path, code: int = 0) -> dict:
    """Run the command, which finds ONNX Runtime in the active Python environment."""
    active = {**os.environ, "VIRTUAL_ENV": str(forked.prefix())}
    return reported("bench", *arguments, code=code, environment=active)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with caches that grow, and one with caches in buffers."""
    root = tmp_path_factory.mktemp("llama")
    checkpoint = checkpoints.save(checkpoints.build("llama"), root / "checkpoint")
    for provider in ("cpu", "cuda"):
        llm(checkpoint, root / provider, "--provider", provider, "--no-verify")
    return root


def test_two_folders_are_measured_side_by_side(folders):
    options = ["--length", "4", "--length", "16", "--runs", "2", "--threads", "1"]
    found = bench(folders / "cpu", "--beside", folders / "cuda", *options)["bench"]
    assert (found["threads"], found["runs"]) == (1, 2)
    assert [one["folder"] for one in found["folders"]] == [
        str(folders / name) for name in ("cpu", "cuda")
    ]
    for one in found["folders"]:
        assert [row["length"] for row in one["lengths"]] == [4, 16]
        assert all(row["prompt"] > 0 and row["decode"] > 0 for row in one["lengths"])
        assert one["peak_memory"] is None or one["peak_memory"] > 0
    files = sum(path.stat().st_size for path in (folders / "cpu").iterdir())
    assert found["folders"][0]["bytes"] == files


def test_adapters_are_left_out(folders, tmp_path):
    adapter = lora.save(checkpoints.build("llama"), tmp_path / "adapter", 1)
    options = ["--adapter", f"a={adapter}", "--no-verify"]
    llm(folders / "checkpoint", tmp_path / "out", *options)
    found = bench(tmp_path / "out", "--length", "4", "--runs", "1")["bench"]
    assert len(found["folders"]) == 1


def test_a_folder_without_a_decoder_is_refused(folders):
    error = bench(folders / "checkpoint", code=5)["diagnostics"][0]
    assert "has no model.onnx" in error["message"]
    assert "onnxport llm" in error["help"]
    error = bench(folders / "cpu", "--length", "0", code=2)["diagnostics"][0]
    assert "length" in error["message"]
