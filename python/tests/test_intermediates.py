import json

import pytest
import torch
from safetensors import safe_open
from torch import nn
from torch.export import export

import onnxport


def recorded(tmp_path, module, *args):
    program = export(module, args, strict=False)
    path = tmp_path / "m.pt2"
    onnxport.save(program, path, intermediates=True)
    with safe_open(tmp_path / "m.intermediates.safetensors", "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return program, file.metadata(), tensors


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, scale, flags):
        low, high = self.linear(x).relu_().chunk(2, -1)
        self.count += 1
        return torch.fft.rfft(low) * scale, (high + self.count).to(torch.float16), flags.any()


def test_every_tensor_that_a_node_gives_is_recorded(tmp_path):
    x, flags = torch.randn(2, 3), torch.tensor([False, True])
    module = Branches()
    program, metadata, tensors = recorded(tmp_path, module, x, 2.0, flags)
    assert metadata["format"] == "onnxport-intermediates/1"
    assert json.loads(metadata["inputs"]) == ["x", "flags"]
    assert torch.equal(tensors["input/x"], x)
    assert torch.equal(tensors["input/flags"], flags)
    given = {
        node.name
        for node in program.graph.nodes
        if node.op == "call_function" and isinstance(node.meta["val"], torch.Tensor)
    }
    assert given == {key for key in tensors if not key.startswith("input/")}
    # A value that an in-place operator overwrites later is recorded as it was computed.
    assert (tensors["linear"] < 0).any()
    assert torch.equal(tensors["relu_"], tensors["linear"].relu())
    (complex_name,) = (name for name in given if "rfft" in name)
    assert tensors[complex_name].shape == (2, 2, 2)
    assert {tensors[name].dtype for name in given} >= {torch.float16, torch.bool}
    # The program is unchanged: its buffer was counted in a copy.
    assert program.state_dict["count"] == 0


def test_empty_tensors_and_numbers_without_axes_are_recorded(tmp_path):
    class Edges(nn.Module):
        def forward(self, x):
            return x[:0] * 2, x.sum()

    _, _, tensors = recorded(tmp_path, Edges(), torch.ones(3))
    assert sorted(tuple(t.shape) for t in tensors.values()) == [(), (0,), (0,), (3,)]


def test_nothing_is_left_of_a_recording_that_fails(tmp_path, monkeypatch):
    def fail(self, name, value):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("onnxport._intermediates._Stream.put", fail)
    with pytest.raises(RuntimeError, match="the disk is full"):
        recorded(tmp_path, nn.ReLU(), torch.ones(3))
    assert not [path for path in tmp_path.iterdir() if "intermediates" in path.name]


def test_nothing_is_recorded_unless_it_is_asked_for(tmp_path):
    onnxport.save(export(nn.ReLU(), (torch.ones(3),)), tmp_path / "m.pt2")
    assert not (tmp_path / "m.intermediates.safetensors").exists()


def test_an_archive_is_recorded_later(tmp_path):
    program = export(Branches(), (torch.randn(2, 3), 2.0, torch.tensor([True])), strict=False)
    onnxport.save(program, tmp_path / "a.pt2", intermediates=True)
    before = (tmp_path / "a.intermediates.safetensors").read_bytes()
    torch.export.save(program, tmp_path / "a.pt2")
    assert onnxport.record_intermediates(tmp_path / "a.pt2", tmp_path / "b.safetensors").exists()
    assert (tmp_path / "b.safetensors").read_bytes() == before
    found = onnxport.record_intermediates(tmp_path / "a.pt2")
    assert found == tmp_path / "a.intermediates.safetensors"


class Filled(nn.Module):
    def forward(self, x):
        whole = torch.empty(4, *x.shape)
        whole[:2] = x
        return whole[:2] * 2


def test_memory_without_values_is_recorded_as_zeros(tmp_path):
    torch.use_deterministic_algorithms(True)
    try:
        # Memory without values is filled with NaN then.
        _, _, tensors = recorded(tmp_path, Filled(), torch.ones(3))
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(tensors["empty"], torch.zeros(4, 3))
