"""Models that no list has: a file of the user registers them with transformers, or describes them.

Some of their layers keep the state of a short convolution in place of keys and values.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import safetensors.torch
import torch

import onnxport
from tests.python.llm import checkpoints, described, unlisted
from tests.python.llm.test_llm import CALLS, STEPS, expected, generated, llm, prompts, refusal

CODE = {"unlisted": Path(unlisted.__file__), "described": Path(described.__file__)}


def build(name: str) -> torch.nn.Module:
    """Return a model whose layers all matter."""
    torch.manual_seed(0)
    if name == "unlisted":
        model = unlisted.UnlistedForCausalLM(unlisted.UnlistedConfig())
    else:
        model = described.Tiny()
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn_like(parameter)
            parameter.copy_(noise * 0.3 if parameter.dim() > 1 else parameter + noise * 0.1)
    return model.eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The converted folder of a model, made once, with its checkpoint."""
    made: dict[str, tuple[Path, Path, dict]] = {}

    def make(name: str) -> tuple[Path, Path, dict]:
        if name not in made:
            root = tmp_path_factory.mktemp(name)
            checkpoint = root / "checkpoint"
            if name == "described":
                checkpoint.mkdir()
                tensors = build(name).state_dict()
                safetensors.torch.save_file(tensors, checkpoint / "model.safetensors")
            else:
                checkpoints.save(build(name), checkpoint)
            said = llm(checkpoint, root / "out", "--code", str(CODE[name]))
            made[name] = checkpoint, root / "out", said
        return made[name]

    return make


def by_hand(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> np.ndarray:
    """Tokens of greedy steps of the module that is described, without its caches."""
    states = [torch.zeros(len(ids), described.WIDTH, described.KERNEL - 1)]
    states += [torch.zeros(len(ids), described.HEADS, 0, described.SIZE)] * 4
    tokens = []
    with torch.no_grad():
        for _ in range(STEPS):
            logits = model(ids, mask, *states)[0][:, -1]
            tokens.append(logits.argmax(-1, keepdim=True))
            ids = torch.cat([ids, tokens[-1]], 1)
            mask = torch.cat([mask, torch.ones_like(tokens[-1])], 1)
    return torch.cat(tokens, 1).numpy()


def wanted(name: str, ids: torch.Tensor, mask: torch.Tensor) -> np.ndarray:
    """Tokens of greedy steps in PyTorch."""
    model = build(name)
    return by_hand(model, ids, mask) if name == "described" else expected(model, ids, mask)[0]


@pytest.mark.parametrize("name", CODE)
def test_a_model_with_states_generates_what_pytorch_generates(folder, name):
    _, out, said = folder(name)
    assert said["verification"]["values_compared"] is True
    assert [case["name"] for case in said["verification"]["cases"]] == CALLS
    ids, mask = prompts()
    tokens = wanted(name, ids, mask)
    assert len(np.unique(tokens)) > 2
    own, _ = generated(out / "model.onnx", ids, mask)
    np.testing.assert_array_equal(own, tokens)


def test_states_have_names_and_sizes_of_their_own(folder):
    _, out, said = folder("unlisted")
    session = ort.InferenceSession(out / "model.onnx")
    inputs = {one.name: one.shape for one in session.get_inputs()}
    assert inputs["past_conv.0"] == ["batch_size", 52, 4]
    assert inputs["past_key_values.1.key"] == ["batch_size", 3, "past_sequence_length", 14]
    state = {"channels": 52, "length": 4}
    attention = {"heads": 3, "key_size": 14, "value_size": 14}
    assert said["decoder"]["layers"] == [state, attention, state, attention]
    assert "2 layers, 3 heads of 14; 2 states of convolutions" in (out / "README.md").read_text()


@pytest.mark.parametrize("name", CODE)
def test_genai_generates_with_states(folder, name):
    genai = pytest.importorskip("onnxruntime_genai")
    _, out, _ = folder(name)
    ids, mask = prompts()
    ids, mask = ids[:1], mask[:1]
    config = json.loads((out / "genai_config.json").read_text())
    assert config["model"]["type"] == "lfm2"
    model = genai.Model(str(out))
    parameters = genai.GeneratorParams(model)
    parameters.set_search_options(max_length=64, do_sample=False)
    generator = genai.Generator(model, parameters)
    generator.append_tokens(ids.numpy().astype(np.int32))
    own = []
    while len(own) < STEPS and not generator.is_done():
        generator.generate_next_token()
        own.append(generator.get_next_tokens()[0])
    assert own
    # Tokens that end a text are the last.
    assert own == wanted(name, ids, mask)[0][: len(own)].tolist()


def test_the_package_takes_the_file_as_well(folder, tmp_path):
    checkpoint, out, _ = folder("described")
    said = onnxport.llm(checkpoint, output=tmp_path / "out", code=CODE["described"])
    assert said.decoder["architecture"] == "Tiny"
    assert (tmp_path / "out" / "model.onnx").read_bytes() == (out / "model.onnx").read_bytes()


def test_states_have_no_buffers(folder, tmp_path):
    checkpoint, _, _ = folder("unlisted")
    options = "--code", str(CODE["unlisted"]), "--provider", "cuda"
    error = refusal(checkpoint, tmp_path / "out", 3, *options)
    assert error["code"] == "OP651"
    assert "state of a convolution" in error["message"]


DESCRIPTIONS = {
    "raise ValueError('no such size')": "no such size",
    "return 3": "returns a int",
    "return {'model': torch.nn.Linear(2, 2), 'caches': []}": "has no `vocabulary`",
    "return {'model': 3, 'caches': [], 'vocabulary': 9}": "`model` of the description is a int",
    "return {'model': torch.nn.Linear(2, 2), 'caches': [{'heads': 2}], 'vocabulary': 9}": "`heads`",
    "return {'model': torch.nn.Linear(2, 2), 'caches': [], 'vocabulary': 9}": "keys and values",
    "return {'model': torch.nn.Linear(2, 2), 'caches': [], 'vocabulary': 9, 'end': 2}": "`end`",
}


@pytest.mark.parametrize("body", DESCRIPTIONS)
def test_a_description_that_is_not_one_is_refused(folder, tmp_path, body):
    checkpoint, _, _ = folder("described")
    code = tmp_path / "code.py"
    code.write_text(f"import torch\n\n\ndef decoder(folder):\n    {body}\n")
    error = refusal(checkpoint, tmp_path / "out", 2, "--code", str(code))
    assert error["code"] == "OP655"
    assert DESCRIPTIONS[body] in error["message"]


def test_a_file_that_fails_is_refused(folder, tmp_path):
    checkpoint, _, _ = folder("described")
    error = refusal(checkpoint, tmp_path / "out", 2, "--code", str(tmp_path / "none.py"))
    assert (error["code"], "is not a file" in error["message"]) == ("OP655", True)
    code = tmp_path / "code.py"
    code.write_text("import nothing_like_this\n")
    error = refusal(checkpoint, tmp_path / "out", 2, "--code", str(code))
    assert (error["code"], "nothing_like_this" in error["message"]) == ("OP655", True)
    # The file describes no model, so that the folder needs a configuration.
    code.write_text("")
    error = refusal(checkpoint, tmp_path / "out", 5, "--code", str(code))
    assert error["code"] == "OP650"
