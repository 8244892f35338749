"""`inspect --weights`: locations of tensors, their views, and sharing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import export, save

from tests.python.onnx_runtime import binary


class Shared(nn.Module):
    """Tied weights, two halves of one storage, and a transposed view of the whole of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(48, 48)
        self.second = nn.Linear(48, 48, bias=False)
        self.second.weight = self.first.weight
        both = torch.randn(96, 48)
        self.low = nn.Parameter(both[:48])
        self.high = nn.Parameter(both[48:])
        self.turned = nn.Parameter(both.t())
        self.register_buffer("scale", torch.rand(48))

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(self.first(x)) @ self.low @ self.high
        return y + (x @ self.turned)[:, :48] * self.scale


def inspect(path: Path, *options: str, code: int = 0) -> dict[str, Any]:
    command = [binary(), "inspect", str(path), "--weights", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    return json.loads(done.stdout)["weights"]


def convert(*arguments: object) -> None:
    subprocess.run([binary(), "convert", *map(str, arguments), "--no-verify", "-q"], check=True)


def read(row: dict[str, Any], dtype: torch.dtype = torch.float32) -> Tensor:
    """The contents of the row, taken from the file itself."""
    source, view = row["source"], row["view"]
    with Path(source["file"]).open("rb") as file:
        file.seek(source["offset"])
        elements = torch.frombuffer(bytearray(file.read(source["length"])), dtype=dtype)
    strides = view.get("strides") or torch.empty(row["shape"], device="meta").stride()
    return torch.as_strided(elements, row["shape"], strides, view.get("offset", 0))


def views(table: dict[str, Any]) -> list[tuple[list[list[str]], bool]]:
    return sorted(
        (sorted(sorted(view) for view in storage["views"]), storage["overlapping"])
        for storage in table["shared"]
    )


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    torch.manual_seed(0)
    module = Shared().eval()
    save(export(module, (torch.randn(3, 48),)), folder / "m.pt2")
    torch.save({"epoch": 3, "model": module.state_dict()}, folder / "m.pt")
    tensors = {name: tensor.clone().contiguous() for name, tensor in module.state_dict().items()}
    half = dict(list(tensors.items())[::2])
    rest = {name: tensor for name, tensor in tensors.items() if name not in half}
    (folder / "shards").mkdir()
    save_file(half, folder / "shards" / "a.safetensors")
    save_file(rest, folder / "shards" / "b.safetensors")
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = Shared().eval()
    save(export(fake, (torch.empty(3, 48),)), folder / "fake.pt2")
    return module, folder


@pytest.mark.parametrize("source", ["m.pt2", "m.pt", "shards"])
def test_every_row_leads_to_the_elements(case, source):
    module, folder = case
    options = ["--weights-key", "model"] if source == "m.pt" else []
    table = inspect(folder / source, *options)
    expected = module.state_dict()
    assert {row["name"] for row in table["tensors"]} == set(expected)
    for row in table["tensors"]:
        assert torch.equal(read(row), expected[row["name"]]), row
    matrix = 48 * 48 * 4
    assert table["bytes"] == 6 * matrix + 2 * 48 * 4
    if source == "shards":
        assert table["shared"] == []
        return
    assert views(table) == [
        ([["first.weight", "second.weight"]], False),
        ([["high"], ["low"], ["turned"]], True),
    ]
    assert (table["saved_bytes"], table["distinct_bytes"]) == (matrix, table["bytes"] - matrix)
    kinds = {row["name"]: row["view"]["kind"] for row in table["tensors"]}
    assert kinds["turned"] == "strided"
    assert kinds["high"] == "slice"


def test_models_point_at_their_weights_or_wait_for_them(case):
    module, folder = case
    convert(folder / "m.pt2", "-o", folder / "m.onnx", "--external-data", "reference")
    table = inspect(folder / "m.onnx")
    expected = module.state_dict()
    rows = [row for row in table["tensors"] if row["name"] in expected]
    files = {row["name"]: Path(row["source"].get("file", "")).name for row in rows}
    assert files["low"] == "m.pt2"
    assert files["turned"] == "m.onnx.data"
    for row in rows:
        if row["source"]["kind"] == "file":
            assert torch.equal(read(row), expected[row["name"]]), row

    convert(folder / "fake.pt2", "-o", folder / "waits.onnx", "--weightless")
    for name in ("fake.pt2", "waits.onnx"):
        table = inspect(folder / name)
        waiting = {row["name"] for row in table["tensors"] if row["source"]["kind"] == "unbound"}
        assert {"low", "turned", "scale"} <= waiting

    (folder / "m.onnx.data").unlink()
    table = inspect(folder / "m.onnx", code=5)
    problems = {row["name"] for row in table["tensors"] if "problem" in row}
    assert problems == {"turned"}
