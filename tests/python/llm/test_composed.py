"""Parameters are composed of the tensors of a checkpoint as transformers makes them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors import safe_open
from transformers import core_model_loading as loading

from tests.python.llm import checkpoints, scripts
from tests.python.llm.test_llm import expected, generated, llm, prompts
from tests.python.zoo import families

composed = scripts.load("composed")


def evaluate(composition: dict[str, Any], stored: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the tensor that a composition describes."""
    ((kind, of),) = composition.items()
    if kind == "stored":
        return stored[of]
    if kind == "concat":
        return torch.cat([evaluate(part, stored) for part in of["of"]], of["axis"])
    tensor = evaluate(of["of"], stored)
    if kind == "permute":
        return tensor.permute(of["axes"])
    if kind == "reshape":
        return tensor.reshape(of["shape"])
    indices = torch.arange(of["start"], of["end"], of["step"])
    return tensor.index_select(of["axis"], indices)


def read(folder: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a checkpoint."""
    tensors = {}
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            tensors |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return tensors


class Model(torch.nn.Module):
    """A model with a parameter of each target."""

    base_model_prefix = ""
    config = SimpleNamespace(num_attention_heads=2)

    def __init__(self, shapes: dict[str, list[int]]) -> None:
        super().__init__()
        for name, shape in shapes.items():
            module, _, leaf = name.rpartition(".")
            if module not in self._modules:
                self.add_module(module, torch.nn.Module())
            parameter = torch.nn.Parameter(torch.empty(shape))
            self.get_submodule(module).register_parameter(leaf, parameter)


CONVERSIONS = {
    "merged experts": (
        ["m.experts.*.a", "m.experts.*.b"],
        ["m.both"],
        [loading.MergeModulelist(dim=0), loading.Concatenate(dim=1)],
        {"m.experts.10.a": [2, 3], "m.experts.9.a": [2, 3]}
        | {"m.experts.10.b": [4, 3], "m.experts.9.b": [4, 3]},
        {"m.both": [2, 6, 3]},
    ),
    "joined": (
        ["m.a", "m.b"],
        ["m.both"],
        [loading.Concatenate(dim=-1)],
        {"m.a": [2, 3], "m.b": [2, 1]},
        {"m.both": [2, 4]},
    ),
    "chunks": (
        ["m.all"],
        ["m.q", "m.k", "m.v"],
        [loading.Chunk(dim=1)],
        {"m.all": [2, 6]},
        {"m.q": [2, 2], "m.k": [2, 2], "m.v": [2, 2]},
    ),
    "parts of several sizes": (
        ["m.all"],
        ["m.q", "m.k"],
        [loading.Split(dim=0)],
        {"m.all": [6, 2]},
        {"m.q": [4, 2], "m.k": [2, 2]},
    ),
    "transposed": (
        ["m.stored"],
        ["m.weight"],
        [loading.Transpose(1, 2)],
        {"m.stored": [2, 3, 4]},
        {"m.weight": [2, 4, 3]},
    ),
    "interleaved": (
        ["m.stored"],
        ["m.weight"],
        [loading.Interleave(dim=1)],
        {"m.stored": [2, 6, 3]},
        {"m.weight": [2, 6, 3]},
    ),
    "rotary": (
        ["m.stored"],
        ["m.weight"],
        [loading.PermuteForRope()],
        {"m.stored": [8, 3]},
        {"m.weight": [8, 3]},
    ),
    "flattened": (
        ["m.stored"],
        ["m.weight"],
        [loading.Conv3dToLinear(3, (2, 2, 2))],
        {"m.stored": [4, 3, 2, 2, 2]},
        {"m.weight": [4, 24]},
    ),
}


@pytest.mark.parametrize("case", CONVERSIONS)
def test_a_conversion_is_composed(monkeypatch, case):
    sources, targets, operations, stored, wanted = CONVERSIONS[case]
    model = Model(wanted)
    converter = loading.WeightConverter(sources, targets, operations)
    monkeypatch.setattr(composed, "conversions", lambda _: ([], [converter]))
    found = composed.compositions(model, stored)
    assert set(found) == set(wanted)
    generator = torch.Generator().manual_seed(0)
    tensors = {name: torch.randn(shape, generator=generator) for name, shape in stored.items()}
    called = loading.WeightConverter(sources, targets, operations)
    for name in sorted(stored, key=loading.dot_natural_key):
        first, pattern = called.rename_source_key(name)
        called.add_tensor(first, name, pattern, tensors[name])
    for name, value in called.convert(first, model=model, config=model.config).items():
        torch.testing.assert_close(
            evaluate(found[name], tensors), value, rtol=0, atol=0, msg=f"{case}: {name}"
        )


class Doubled(loading.ConversionOps):
    """A conversion that computes."""

    def convert(self, input_dict, target_patterns, **_):
        (tensors,) = input_dict.values()
        return {target_patterns[0]: tensors[0] * 2}


class Unequal(loading.ConversionOps):
    """A conversion that fails."""

    def convert(self, input_dict, **_):
        raise ValueError("experts of two sizes")


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (Doubled(), "`Doubled` .* the operator `mul`"),
        (Unequal(), "`Unequal` .* experts of two sizes"),
    ],
)
def test_a_conversion_that_is_not_known_is_refused(monkeypatch, operation, says):
    converter = loading.WeightConverter(["m.stored"], ["m.weight"], [operation])
    monkeypatch.setattr(composed, "conversions", lambda _: ([], [converter]))
    monkeypatch.setattr(composed, "reason", str, raising=False)
    with pytest.raises(scripts.Refused, match=says) as refused:
        composed.compositions(Model({"m.weight": [2]}), {"m.stored": [2]})
    assert refused.value.kind == "conversion"


@pytest.mark.parametrize(
    "family",
    ["deepseek_v2", "deepseek_v3", "gpt_neox", "llama", "mixtral", "qwen2_moe", "qwen3_moe"],
)
def test_the_parameters_of_a_checkpoint_are_composed(tmp_path, family):
    model = families.build(family)
    model.save_pretrained(tmp_path, max_shard_size="40KB")
    stored = read(tmp_path)
    parts = composed.compositions(model, {name: list(one.shape) for name, one in stored.items()})
    assert bool(parts) == (family != "llama")
    for name, parameter in model.state_dict().items():
        own = evaluate(parts.get(name, {"stored": name}), stored)
        assert torch.equal(own, parameter), name


def test_both_forms_of_a_checkpoint_become_the_same_folder(tmp_path):
    model = checkpoints.build("mixtral")
    for form in (True, False):
        checkpoint = checkpoints.save(model, tmp_path / f"in-{form}", save_original_format=form)
        names = set(read(checkpoint))
        assert any(".experts.0.w1." in name for name in names) is form
        llm(checkpoint, tmp_path / f"out-{form}", "--no-verify")
    for name in ("model.onnx", "model.onnx.data"):
        original, own = ((tmp_path / f"out-{form}" / name).read_bytes() for form in (True, False))
        assert original == own


def test_experts_are_quantized_one_by_one(tmp_path):
    model = checkpoints.build("mixtral")
    checkpoint = checkpoints.save(model, tmp_path / "checkpoint")
    said = llm(checkpoint, tmp_path / "out", "--quantize", "int8", "--context", "64")
    assert said["verification"]["measured"] is True
    weights = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))
    assert (tmp_path / "out" / "model.onnx.data").stat().st_size < 0.45 * weights
    ids, mask = prompts()
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint).eval()
    _, logits = expected(model, ids, mask)
    _, own = generated(tmp_path / "out" / "model.onnx", ids, mask)
    one, other = own[:, 0].ravel(), logits[:, 0].ravel()
    assert one @ other > 0.99 * np.linalg.norm(one) * np.linalg.norm(other)
