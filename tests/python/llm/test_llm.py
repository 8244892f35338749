"""A checkpoint becomes a folder that generates the same tokens as transformers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

import onnxport
from tests.python import forked
from tests.python.llm import checkpoints, scripts
from tests.python.onnx_runtime import binary, reported

STEPS = 6
LAYERS = 2
CALLS = ["prompt", "token-1", "token-2", "part"]
# Rotations are told apart where GroupQueryAttention computes them.
OTHERS = {"mamba", "cohere", "gpt_neox"}
FAMILIES = [name for name in checkpoints.FAMILIES if name not in OTHERS]


# A start-up script of Python that changes the weights of a loaded model.
OTHER_WEIGHTS = """
import importlib.abc
import sys


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "transformers":
            sys.meta_path.remove(self)
            import torch
            from torch._subclasses.fake_tensor import FakeTensor

            plain = torch.nn.Module.train

            def changed(self, mode=True):
                first = next(self.parameters(), None)
                if type(self).__name__ == "GPT2LMHeadModel" and not isinstance(first, FakeTensor):
                    first.data.mul_(1.1)
                return plain(self, mode)

            torch.nn.Module.train = changed
        return None


sys.meta_path.insert(0, Finder())
"""


def llm(checkpoint: Path, output: Path, *options: str, code: int = 0) -> dict:
    # The command captures in the active Python environment.
    active = {**os.environ, "VIRTUAL_ENV": str(forked.prefix())}
    return reported("llm", checkpoint, "-o", output, *options, code=code, environment=active)


def prompts() -> tuple[torch.Tensor, torch.Tensor]:
    """Two prompts, the second filled on the left."""
    ids = torch.randint(
        4, checkpoints.VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(1)
    )
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    return ids * mask, mask


def expected(model, ids, mask) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and logits of `generate`."""
    model.generation_config.eos_token_id = None
    out = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=STEPS,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        pad_token_id=0,
    )
    return out.sequences[:, ids.shape[1] :].numpy(), torch.stack(out.logits, 1).numpy()


def present(name: str) -> str:
    """Return the output that is this input of the next call."""
    return name.replace("past_key_values", "present").replace("past_conv", "present_conv")


def generated(
    path: Path, ids, mask, options: ort.RunOptions | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and logits of the model: one call for the prompts, then one for each token."""
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = {one.name: one for one in session.get_inputs()}
    names = [one.name for one in session.get_outputs()]
    ids, mask = ids.numpy(), mask.numpy()
    past = {}
    for name, one in inputs.items():
        if name.startswith("past"):
            # Keys and values of no tokens, and states of zeros.
            sizes = [size if isinstance(size, int) else 0 for size in one.shape[1:]]
            past[name] = np.zeros([len(ids), *sizes], np.float32)
    tokens, logits = [], []
    for _ in range(STEPS):
        feeds = {"input_ids": ids, "attention_mask": mask, **past}
        if "position_ids" in inputs:
            positions = np.maximum(mask.cumsum(1) - 1, 0)
            feeds["position_ids"] = positions[:, -ids.shape[1] :]
        out = dict(zip(names, session.run(None, feeds, options), strict=True))
        logits.append(out["logits"][:, -1])
        ids = logits[-1].argmax(-1)[:, None]
        tokens.append(ids[:, 0])
        mask = np.concatenate([mask, np.ones_like(ids)], 1)
        past = {name: out[present(name)] for name in past}
    return np.stack(tokens, 1), np.stack(logits, 1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The converted folder of a family, made once, with its checkpoint."""
    made: dict[str, tuple[Path, Path, dict]] = {}

    def make(family: str) -> tuple[Path, Path, dict]:
        if family not in made:
            root = tmp_path_factory.mktemp(family)
            checkpoint = checkpoints.save(checkpoints.build(family), root / "checkpoint")
            assert len(list(checkpoint.glob("*.safetensors"))) > 1
            context = ["--context", "64"]
            said = llm(checkpoint, root / "out", *context)
            made[family] = checkpoint, root / "out", said
        return made[family]

    return make


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_generates_what_transformers_generates(folder, family):
    _, out, said = folder(family)
    assert said["verification"]["values_compared"] is True
    assert [case["name"] for case in said["verification"]["cases"]] == CALLS
    ids, mask = prompts()
    tokens, logits = expected(checkpoints.build(family), ids, mask)
    own_tokens, own_logits = generated(out / "model.onnx", ids, mask)
    np.testing.assert_array_equal(own_tokens, tokens)
    np.testing.assert_allclose(own_logits, logits, rtol=1e-3, atol=1e-4)
    # A single token without a past, in a batch of one.
    one = torch.tensor([[5]])
    tokens, logits = expected(checkpoints.build(family), one, torch.ones_like(one))
    own_tokens, own_logits = generated(out / "model.onnx", one, torch.ones_like(one))
    np.testing.assert_array_equal(own_tokens, tokens)
    np.testing.assert_allclose(own_logits, logits, rtol=1e-3, atol=1e-4)


def test_a_folder_has_what_a_server_reads(folder):
    checkpoint, out, said = folder("llama")
    names = {path.name for path in out.iterdir()}
    assert names == {Path(path).name for path in said["files"]}
    assert {"model.onnx", "model.onnx.data", "genai_config.json", "README.md"} < names
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "config.json"):
        assert (out / name).read_bytes() == (checkpoint / name).read_bytes()
    config = json.loads((out / "genai_config.json").read_text())
    model = config["model"]
    tokens = [model[f"{kind}_token_id"] for kind in ("eos", "bos", "pad")]
    assert tokens == [[2, 3], 1, 0]
    assert (model["context_length"], config["search"]["max_length"]) == (64, 64)
    decoder = model["decoder"]
    sizes = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_size")
    assert [decoder[size] for size in sizes] == [LAYERS, 4, 2, 8]
    session = ort.InferenceSession(out / "model.onnx", providers=["CPUExecutionProvider"])
    inputs = {one.name: one.shape for one in session.get_inputs()}
    total = "past_sequence_length + sequence_length"
    assert inputs["input_ids"] == ["batch_size", "sequence_length"]
    assert inputs["attention_mask"] == ["batch_size", total]
    cache = ["batch_size", 2, "past_sequence_length", 8]
    for part in ("key", "value"):
        pattern = decoder["inputs"][f"past_{part}_names"]
        assert [inputs[pattern % layer] for layer in range(LAYERS)] == [cache] * LAYERS
        outputs = {one.name for one in session.get_outputs()}
        assert {decoder["outputs"][f"present_{part}_names"] % n for n in range(LAYERS)} < outputs
    card = (out / "README.md").read_text()
    assert "those of the checkpoint in PyTorch" in card
    assert str(checkpoint.parent) not in card


def test_weights_are_stored_once_and_in_a_half_if_asked(tmp_path):
    # The head is the embedding, which is larger than the budget of constant folding.
    words = 2000
    checkpoint = checkpoints.save(
        checkpoints.build("qwen3", vocab_size=words), tmp_path / "checkpoint"
    )
    weights = sum(path.stat().st_size for path in checkpoint.glob("*.safetensors"))

    def size(out: Path) -> int:
        initializers = onnx.load(out / "model.onnx", load_external_data=False).graph.initializer
        assert sum(words in tensor.dims for tensor in initializers) == 1
        return (out / "model.onnx.data").stat().st_size

    llm(checkpoint, tmp_path / "whole")
    assert size(tmp_path / "whole") < 1.1 * weights
    options = ("--dtype", "f16", "--last-logits", "--target", "onnxruntime")
    llm(checkpoint, tmp_path / "half", *options)
    assert not (tmp_path / "half" / "genai_config.json").exists()
    assert size(tmp_path / "half") < 0.6 * weights
    session = ort.InferenceSession(tmp_path / "half" / "model.onnx")
    assert session.get_outputs()[0].shape == ["batch_size", 1, words]
    assert session.get_outputs()[1].type == "tensor(float16)"


def test_values_are_not_compared_if_that_is_not_wanted_or_not_possible(folder, tmp_path):
    checkpoint, _, _ = folder("gpt2")
    said = llm(checkpoint, tmp_path / "out", "--no-compare")
    assert said["verification"]["values_compared"] is False
    assert [case["name"] for case in said["verification"]["cases"]] == CALLS
    assert "not compared with PyTorch" in (tmp_path / "out" / "README.md").read_text()


def test_a_checkpoint_larger_than_half_of_the_free_memory_is_not_loaded(monkeypatch):
    expected_values = scripts.load("expected")
    model = torch.nn.Linear(1000, 1000)
    monkeypatch.setattr(expected_values, "free_memory", lambda: 10_000_000)
    assert expected_values.too_large(model) is None
    monkeypatch.setattr(expected_values, "free_memory", lambda: 8_000_000)
    assert "memory are free" in expected_values.too_large(model)
    monkeypatch.setattr(expected_values, "free_memory", lambda: None)
    assert "unknown" in expected_values.too_large(model)


# A start-up script of Python that states little free memory.
LITTLE_MEMORY = """
import builtins
import io

plain = builtins.open


def opened(path, *rest, **more):
    if path == "/proc/meminfo":
        return io.StringIO("MemAvailable: {free} kB")
    return plain(path, *rest, **more)


builtins.open = opened
"""


# The experts of Mixtral are composed; the layers of LFM2 use weights of other modules.
@pytest.mark.parametrize(
    ("family", "free", "compared"),
    [("qwen3", 64, True), ("mixtral", 256, True), ("qwen3", 16, False), ("lfm2", 64, False)],
)
def test_weights_that_do_not_fit_are_read_module_by_module(
    folder, tmp_path, family, free, compared
):
    checkpoint, _, _ = folder(family)
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(LITTLE_MEMORY.replace("{free}", str(free)))
    # A forked Python would not read it.
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PYTHONPATH": str(site)}
    out = tmp_path / "out"
    said = reported("llm", checkpoint, "-o", out, environment=environment)
    assert said["verification"]["values_compared"] is compared
    assert (said["decoder"]["uncompared"] is None) == compared
    assert ("those of the checkpoint" in (out / "README.md").read_text()) == compared


def test_a_model_with_other_values_than_the_checkpoint_is_refused(folder, tmp_path):
    checkpoint, _, _ = folder("gpt2")
    # The checkpoint in PyTorch has other weights than the one that is converted.
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(OTHER_WEIGHTS)
    # A forked Python would not read it.
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PYTHONPATH": str(site)}
    out = tmp_path / "out"
    said = reported("llm", checkpoint, "-o", out, code=4, environment=environment)
    assert {found["code"] for found in said["diagnostics"]} >= {"OP701"}
    assert not out.exists()


@pytest.mark.parametrize(
    ("target", "operator"), [("genai", "MatMulNBits"), ("onnx", "DequantizeLinear")]
)
def test_weights_are_quantized_in_the_form_of_the_target(folder, tmp_path, target, operator):
    checkpoint, plain, _ = folder("mistral")
    said = llm(checkpoint, tmp_path / "out", "--quantize", "int8", "--target", target)
    model = onnx.load(tmp_path / "out" / "model.onnx", load_external_data=False)
    counts = [node.op_type for node in model.graph.node].count(operator)
    # Queries, keys and values are one product, and so are both of the gated layer.
    assert counts == 4 * LAYERS + 1
    size = (tmp_path / "out" / "model.onnx.data").stat().st_size
    assert size < 0.45 * (plain / "model.onnx.data").stat().st_size
    assert said["verification"]["measured"] is True
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| quantization | int8 |" in card
    assert "differ from those of the checkpoint" in card
    ids, mask = prompts()
    _, logits = expected(checkpoints.build("mistral"), ids, mask)
    _, own = generated(tmp_path / "out" / "model.onnx", ids, mask)
    one, other = own[:, 0].ravel(), logits[:, 0].ravel()
    assert one @ other > 0.99 * np.linalg.norm(one) * np.linalg.norm(other)


def test_the_package_converts_within_python(folder, tmp_path):
    checkpoint, out, _ = folder("gpt2")
    said = onnxport.llm(checkpoint, output=tmp_path / "out", context=64)
    assert said.decoder["architecture"] == "GPT2LMHeadModel"
    for path in out.iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def refusal(checkpoint: Path, output: Path, exit_code: int, *options: str) -> dict:
    """The error of a command that leaves nothing behind."""
    before = sorted(output.parent.iterdir())
    said = llm(checkpoint, output, *options, code=exit_code)
    assert sorted(output.parent.iterdir()) == before
    error = next(found for found in said["diagnostics"] if found["severity"] == "error")
    assert error["help"]
    return error


def test_a_folder_without_a_checkpoint_is_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    error = refusal(tmp_path / "empty", tmp_path / "out", 5)
    assert error["code"] == "OP650"
    assert "no config.json" in error["message"]
    checkpoint, _, _ = folder("llama")
    shutil.copytree(checkpoint, tmp_path / "lacking")
    next((tmp_path / "lacking").glob("model-00002*")).unlink()
    error = refusal(tmp_path / "lacking", tmp_path / "out", 5)
    assert error["code"] in ("OP101", "OP631")
    assert "model-00002" in error["message"]


def test_weights_of_another_size_are_refused(folder, tmp_path):
    checkpoint, _, _ = folder("llama")
    shutil.copytree(checkpoint, tmp_path / "wider")
    path = tmp_path / "wider" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "intermediate_size": 80}))
    error = refusal(tmp_path / "wider", tmp_path / "out", 5)
    assert error["code"] == "OP634"


def test_other_architectures_are_refused(tmp_path):
    checkpoint = checkpoints.save(checkpoints.build("mamba"), tmp_path / "mamba")
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert error["code"] == "OP651"
    assert "keys and values" in error["message"]
    config = checkpoints.build("llama").config
    config.rope_parameters = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    config.save_pretrained(checkpoint)
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert "depend on the length" in error["message"]
    path = checkpoint / "config.json"
    path.write_text(json.dumps({"model_type": "invented", "architectures": ["Invented"]}))
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert error["code"] == "OP651"
    assert "does not know" in error["message"]


def test_a_context_beyond_the_checkpoint_is_refused(folder, tmp_path):
    checkpoint, out, _ = folder("gpt2")
    error = refusal(checkpoint, tmp_path / "out", 2, "--context", "97")
    assert (error["code"], "96" in error["message"]) == ("OP001", True)
    error = refusal(checkpoint, out, 5)
    assert error["code"] == "OP601"


def test_without_pytorch_the_error_says_what_to_install(folder, tmp_path):
    checkpoint, _, _ = folder("gpt2")
    hidden = {"VIRTUAL_ENV", "CONDA_PREFIX", "PATH"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [binary(), "llm", checkpoint, "-o", tmp_path / "out", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"PATH": str(tmp_path)},
    )
    assert done.returncode == 6, done.stderr
    (error,) = json.loads(done.stdout)["diagnostics"]
    assert error["code"] == "OP653"
    assert "pip install torch transformers" in error["help"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("family", ["llama", "gemma2", "gpt2", "lfm2"])
def test_genai_generates_what_transformers_generates(folder, family):
    genai = pytest.importorskip("onnxruntime_genai")
    _, out, _ = folder(family)
    ids, mask = prompts()
    ids, mask = ids[:1], mask[:1]
    tokens, _ = expected(checkpoints.build(family), ids, mask)
    model = genai.Model(str(out))
    parameters = genai.GeneratorParams(model)
    parameters.set_search_options(max_length=64, do_sample=False)
    generator = genai.Generator(model, parameters)
    generator.append_tokens(ids.numpy().astype(np.int32))
    own = []
    while len(own) < STEPS and not generator.is_done():
        generator.generate_next_token()
        own.append(generator.get_next_tokens()[0])
    # Tokens that end a text are the last.
    assert own == tokens[0][: len(own)].tolist()
    assert own
