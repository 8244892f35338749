"""Modules as local functions: `--functions`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import nn
from torch.export import export

import onnxport
from tests.python.onnx_runtime import check_model

DOMAIN = "onnxport.modules"


class Pair(nn.Module):
    """Returns two results."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return hidden, self.second(hidden) + x


class ByName(nn.Module):
    """Returns a dict."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return {"up": self.fc(x) * 2, "down": self.fc(x).sigmoid()}


class Counter(nn.Module):
    """Writes to a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        self.count.add_(1)
        return self.fc(x) + self.count


class Branch(nn.Module):
    """Has control flow in it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = self.fc(x)
        return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y,))


class Awkward(nn.Module):
    """Calls a module twice, ignores the result of another one, and unpacks tuples and dicts."""

    def __init__(self):
        super().__init__()
        self.shared = Pair()
        self.pairs = nn.ModuleList(Pair() for _ in range(3))
        self.named = nn.ModuleList(ByName() for _ in range(2))
        self.counters = nn.ModuleList(Counter() for _ in range(2))
        self.branches = nn.ModuleList(Branch() for _ in range(2))
        self.unused = Pair()

    def forward(self, x):
        first, second = self.shared(x)
        third, fourth = self.shared(second)
        self.unused(x)
        x = first + third + fourth
        for pair in self.pairs:
            hidden, x = pair(x)
            x = x + hidden
        for named in self.named:
            found = named(x)
            x = found["up"] + found["down"]
        for counter in self.counters:
            x = counter(x)
        for branch in self.branches:
            x = branch(x)
        return x


class Layers(nn.Module):
    """Layers of one class, and one whose attribute differs."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(4)
        )
        self.other = nn.TransformerEncoderLayer(8, 4, 16, batch_first=True)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.other(x)


@pytest.fixture(scope="module")
def awkward(tmp_path_factory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("functions") / "awkward.pt2"
    onnxport.save(export(Awkward().eval(), (torch.randn(2, 4),)), path)
    return path


def functions(model: onnx.ModelProto) -> dict[str, int]:
    """Return the number of calls in the main graph by function."""
    calls: dict[str, int] = {}
    for node in model.graph.node:
        if node.domain == DOMAIN:
            calls[node.op_type] = calls.get(node.op_type, 0) + 1
    return calls


def run(path: Path) -> list[np.ndarray]:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(0)
    states = json.loads(session.get_modelmeta().custom_metadata_map.get("onnxport.state", "[]"))
    kept = {state["input"] for state in states}
    given = [one for one in session.get_inputs() if one.name not in kept]
    feeds = {one.name: draw.standard_normal(one.shape).astype(np.float32) for one in given}
    return session.run(None, feeds)


def test_awkward_modules_are_functions(awkward: Path, tmp_path: Path):
    plain, path = tmp_path / "plain.onnx", tmp_path / "model.onnx"
    onnxport.convert(awkward, output=plain, no_verify=True)
    said = onnxport.convert(
        awkward, output=path, functions="auto", validate=True, require_verified=True
    )
    check_model(path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert functions(model) == {"Pair": 5, "ByName": 2, "Counter": 2, "Branch": 2}
    made = {one["name"]: one["calls"] for one in said["optimised"]["functions"]}
    assert made == functions(model)
    assert len(model.graph.node) * 2 < len(onnx.load(plain).graph.node)
    pair = next(one for one in model.functions if one.name == "Pair")
    assert {"first.weight", "second.bias"} <= set(pair.input)
    assert pair.doc_string == f"{__name__}.Pair"
    for expected, found in zip(run(plain), run(path), strict=True):
        assert np.array_equal(expected, found)


def test_layers_that_differ_get_functions_of_their_own(tmp_path: Path):
    torch.manual_seed(0)
    path = tmp_path / "model.onnx"
    program = onnxport.export(
        Layers().eval(),
        (torch.randn(2, 5, 8),),
        path,
        functions=[nn.TransformerEncoderLayer],
        verify=True,
    )
    calls = functions(onnx.load(path))
    assert calls == {"TransformerEncoderLayer": 4, "TransformerEncoderLayer_2": 1}
    x = torch.randn(2, 5, 8)
    expected = program.exported_program.module()(x)
    torch.testing.assert_close(program(x)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("option", "calls"),
    [
        ({"export_modules_as_functions": True}, {"TransformerEncoderLayer": 4}),
        (
            {"export_modules_as_functions": {nn.TransformerEncoderLayer}},
            {"TransformerEncoderLayer": 4, "TransformerEncoderLayer_2": 1},
        ),
        ({"functions": "none"}, {}),
        ({}, {}),
    ],
)
def test_the_argument_of_torch_selects_modules(option, calls):
    program = onnxport.export(Layers().eval(), (torch.randn(2, 5, 8),), **option)
    found = functions(program.model_proto)
    assert {name: found[name] for name in calls} == calls
    assert bool(found) == bool(calls)


def test_unknown_classes_are_refused():
    with pytest.raises(onnxport.UsageError, match="TransformerEncoderLayer") as caught:
        onnxport.export(Layers().eval(), (torch.randn(2, 5, 8),), functions=["TransformerEncoder"])
    assert caught.value.diagnostics[0].code == "OP414"
    for wrong in ([1], 3):
        with pytest.raises(onnxport.UsageError, match="functions"):
            onnxport.export(Layers().eval(), (torch.randn(2, 5, 8),), functions=wrong)
    with pytest.raises(onnxport.UsageError, match="both"):
        onnxport.export(
            Layers().eval(),
            (torch.randn(2, 5, 8),),
            functions="auto",
            export_modules_as_functions=True,
        )


@pytest.mark.parametrize(("architecture", "layers"), [("llama", 12), ("llama", 96)])
def test_a_decoder_has_a_node_for_each_layer(architecture: str, layers: int, tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=32,
        use_cache=False,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    archive = tmp_path / f"{architecture}.pt2"
    torch.export.save(export(model, (torch.randint(0, 32, (2, 8)),), strict=False), archive)
    plain, path = tmp_path / "plain.onnx", tmp_path / "model.onnx"
    onnxport.convert(archive, output=plain, no_verify=True)
    onnxport.convert(archive, output=path, no_verify=True, functions="auto")
    onnx.checker.check_model(path, full_check=True)
    before, after = onnx.load(plain), onnx.load(path)
    nodes = len(after.graph.node) + sum(len(one.node) for one in after.functions)
    assert functions(after)["LlamaDecoderLayer"] == layers
    assert nodes * (10 if layers > 90 else 6) < len(before.graph.node)
    feeds = {"input_ids": np.arange(16).reshape(2, 8)}
    expected, found = (
        ort.InferenceSession(one, providers=["CPUExecutionProvider"]).run(None, feeds)
        for one in (plain, path)
    )
    assert np.array_equal(expected[0], found[0])
