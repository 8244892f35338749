"""The treatment of buffers that a module writes to: `--state`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import nn

import onnxport
from onnxport._export import written


class Running(nn.Module):
    """Has running statistics, a counter, and a cache that it writes to in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x, at):
        self.mean.mul_(0.5).add_(x.mean(0), alpha=0.5)
        self.count += 1
        self.cache.index_copy_(0, at, x)
        return x - self.mean, self.cache.sum() + self.count


class Outer(nn.Module):
    """Has the buffers in a module of its own."""

    def __init__(self):
        super().__init__()
        self.inner = Running()

    def forward(self, x, at):
        return self.inner(x * 2, at)


class Read(nn.Module):
    """Reads the old value of a buffer after it was replaced."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        old = self.last.clone()
        self.last.copy_(x * 2 + old)
        return torch.sin(old) + x


def calls() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(0)
    return [(torch.randn(2, 3), torch.tensor([step % 3, 3])) for step in range(3)]


def exported(module: nn.Module, *args, **options) -> onnxport.ONNXProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onnxport.export(module.eval(), args, **options)


@pytest.mark.parametrize("functions", ["none", [Running]])
def test_states_are_kept_over_three_steps(functions):
    program = exported(Outer(), *calls()[0], state="io", verify=True, functions=functions)
    reference = Outer()
    for call in calls():
        expected, found = reference(*call), program(*call)
        for one, other in zip(expected, found, strict=True):
            torch.testing.assert_close(one, other)
    for name, value in reference.named_buffers():
        torch.testing.assert_close(program.states[name], value)
    assert {pair.input for pair in program.in_place} == {
        name for name, _ in reference.named_buffers()
    }


def test_pairs_that_may_share_memory_do(tmp_path: Path):
    path = tmp_path / "model.onnx"
    program = exported(Running(), *calls()[0], f=path)
    pairs = {(pair.input, pair.output) for pair in program.in_place}
    assert pairs == {(name, f"{name}.next") for name in ("mean", "count", "cache")}
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    stated = json.loads(metadata["onnxport.in_place"])
    assert {(pair["input"], pair["output"]) for pair in stated} == pairs
    # Inputs and outputs are bound to the same memory.
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    reference = Running()
    kept = {name: value.numpy().copy() for name, value in Running().named_buffers()}
    memory = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in kept.items()}
    results = [port.name for port in session.get_outputs() if not port.name.endswith(".next")]
    for call in calls():
        binding = session.io_binding()
        for name, value in zip(("x", "at"), call, strict=True):
            binding.bind_cpu_input(name, value.numpy())
        for name in results:
            binding.bind_output(name)
        for name, value in memory.items():
            binding.bind_ortvalue_input(name, value)
            binding.bind_ortvalue_output(f"{name}.next", value)
        session.run_with_iobinding(binding)
        found = binding.copy_outputs_to_cpu()[: len(results)]
        for one, other in zip(reference(*call), found, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-6)
    for name, value in reference.named_buffers():
        np.testing.assert_allclose(memory[name].numpy(), value.numpy(), rtol=1e-5, atol=1e-6)


def test_a_value_that_is_read_later_does_not_share_memory():
    program = exported(Read(), torch.randn(3))
    assert [state.name for state in program.ports.states] == ["last"]
    assert program.in_place == ()


def test_states_are_refused_with_their_lines():
    with pytest.raises(onnxport.UnsupportedError) as caught:
        exported(Running(), *calls()[0], state="refuse")
    found = caught.value.diagnostics
    assert [one.code for one in found] == ["OP313"] * 3
    for name, code in (("mean", "self.mean.mul_"), ("count", "self.count += 1")):
        (one,) = (one for one in found if f"`{name}`" in one.message)
        assert code in str(one), str(one)
    exported(nn.Linear(3, 3), torch.randn(2, 3), state="refuse")


def test_dropped_states_keep_their_first_value(tmp_path: Path):
    path = tmp_path / "model.onnx"
    program = exported(Running(), *calls()[0], f=path, state="drop", verify=True)
    assert [one.code for one in program.diagnostics if one.code == "OP314"] == ["OP314"] * 3
    model = onnx.load(path)
    assert [port.name for port in model.graph.input] == ["x", "at"]
    assert len(model.graph.output) == 2
    assert not program.ports.states
    assert program.in_place == ()
    dropped = json.loads(
        next(one.value for one in model.metadata_props if one.key == "onnxport.dropped")
    )
    assert {(one["kind"], one["name"]) for one in dropped} == {
        ("buffer", "mean"),
        ("buffer", "count"),
        ("buffer", "cache"),
    }
    for call in calls():
        for one, other in zip(Running()(*call), program(*call), strict=True):
            torch.testing.assert_close(one, other)


def test_a_static_cache_is_written_in_place():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
    )
    model = transformers.LlamaForCausalLM(config).eval()

    def inputs(token: int, at: int) -> dict:
        return {"input_ids": torch.tensor([[token]]), "cache_position": torch.tensor([at])}

    def cache():
        made = transformers.StaticCache(config=config, max_cache_len=8)
        made.early_initialization(1, 1, 8, torch.float32, torch.device("cpu"))
        return made

    program = exported(
        model, kwargs={**inputs(3, 0), "past_key_values": cache()}, functions="auto", verify=True
    )
    shared = {pair.input: pair.output for pair in program.in_place}
    for layer in range(2):
        for kind in ("key", "value"):
            name = f"past_key_values_{kind}_cache_{layer}"
            assert shared[name] == f"past_key_values.{layer}.{kind}"
    # Three steps with each cache in one buffer.
    session = ort.InferenceSession(
        program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    memory, expected = {}, cache()
    for port in session.get_inputs():
        if port.name.startswith("past_key_values"):
            kind = np.float32 if port.type == "tensor(float)" else np.int64
            memory[port.name] = ort.OrtValue.ortvalue_from_numpy(np.zeros(port.shape, kind))
    for at, token in enumerate((3, 5, 7)):
        binding = session.io_binding()
        names = {port.name for port in session.get_inputs()}
        for name, value in inputs(token, at).items():
            if name in names:
                binding.bind_cpu_input(name, value.numpy())
        for name, value in memory.items():
            binding.bind_ortvalue_input(name, value)
        for port in session.get_outputs():
            if port.name in shared.values():
                (name,) = (one for one, other in shared.items() if other == port.name)
                binding.bind_ortvalue_output(port.name, memory[name])
            else:
                binding.bind_output(port.name)
        session.run_with_iobinding(binding)
        results = dict(
            zip([port.name for port in session.get_outputs()], binding.get_outputs(), strict=True)
        )
        for name in memory.keys() - shared.keys():
            memory[name] = results[f"{name}.next"]
        with torch.no_grad():
            wanted = model(**inputs(token, at), past_key_values=expected).logits
        np.testing.assert_allclose(results["logits"].numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


class Elsewhere(nn.Module):
    """Writes to tensors that are in a list, and one of which is a buffer as well."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3))
        self.parts = [self.kept, torch.zeros(3)]

    def forward(self, x):
        self.parts[0].add_(x)
        self.parts[1].sub_(x)
        return self.kept * 2, self.parts[1] * x


@pytest.mark.parametrize("state", ["io", "drop"])
def test_tensors_besides_buffers_are_states(state):
    module, reference, x = Elsewhere(), Elsewhere(), torch.tensor([1.0, 2.0, 3.0])
    program = exported(module, x, state=state, verify=True)
    # The user's tensors are as before.
    for one in (*module.parts, module.kept):
        assert not one.any()
    assert [one.name for one in program.ports.states] == (
        ["kept", "lifted_tensor_1"] if state == "io" else []
    )
    for _ in range(3):
        found = program(x)
        expected = (reference if state == "io" else Elsewhere())(x)
        torch.testing.assert_close(found, expected)


class Row(Elsewhere):
    """Writes to a part of a buffer, by a view that was taken before."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(2, 3))
        self.parts = [self.kept[1], torch.zeros(3)]


class Whole(Row):
    def forward(self, x):
        self.kept.add_(x)
        return self.parts[0] * x


@pytest.mark.parametrize(
    ("kind", "line"), [(Row, "self.parts[0].add_(x)"), (Whole, "self.kept.add_(x)")]
)
def test_views_of_written_buffers_are_refused(kind, line):
    with pytest.raises(onnxport.UnsupportedError, match="OP201") as caught:
        exported(kind(), torch.ones(3))
    assert caught.value.diagnostics[0].source == line
    program = torch.export.export(kind(), (torch.ones(3),))
    with pytest.raises(onnxport.UnsupportedError, match="OP201"):
        onnxport.export(program)


def test_a_static_cache_in_a_wrapper_of_transformers():
    transformers = pytest.importorskip("transformers")
    executorch = pytest.importorskip("transformers.integrations.executorch")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        cache_config={"batch_size": 1, "max_cache_len": 8},
    )
    module = executorch.TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=8)
    calls = [
        {"input_ids": torch.tensor([[token]]), "cache_position": torch.tensor([at])}
        for at, token in enumerate((3, 5, 7))
    ]
    exported(module, kwargs=calls[0], state="drop", verify=True)
    program = exported(module, kwargs=calls[0], state="io", verify=True)
    assert {f"{kind}_cache_{layer}" for kind in ("key", "value") for layer in (0, 1)} <= {
        one.name for one in program.ports.states
    }
    for call in calls:
        found = program(**call)
        with torch.no_grad():
            torch.testing.assert_close(found[0], module(**call), rtol=1e-4, atol=1e-5)


class Memory:
    """An object that is not a module, with a tensor."""

    def __init__(self):
        self.steps = [torch.zeros(2)]


class Attributes(nn.Module):
    """Writes numbers to tensors in attributes, which PyTorch does while it captures as well."""

    def __init__(self):
        super().__init__()
        self.held = torch.ones(2)
        self.memory = Memory()

    def forward(self, x):
        self.held.mul_(3)
        self.memory.steps[0].add_(5)
        return x * self.held + self.memory.steps[0]


def test_a_capture_leaves_attributes_as_they_were():
    module = Attributes().eval()
    program = exported(module, torch.ones(2))
    assert module.held.tolist() == [1, 1]
    assert module.memory.steps[0].tolist() == [0, 0]
    assert [program(torch.ones(2))[0].tolist() for _ in range(3)] == [[8, 8], [19, 19], [42, 42]]


def test_a_write_to_a_tensor_that_is_not_copied_is_refused(monkeypatch):
    monkeypatch.setattr(written, "_LARGEST", 0)
    with pytest.raises(onnxport.Error, match=r"PyTorch wrote to the tensor `held`"):
        exported(Attributes().eval(), torch.ones(2))
