"""Adapters of peft: swapped at run time, or merged into the weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import safetensors.torch

import onnxport
from tests.python.llm import checkpoints, lora
from tests.python.llm.test_llm import STEPS, expected, generated, llm, prompts, refusal

# Two adapters of each family: other modules, ranks and scales; weights in both orders, tied ones,
# and modules that differ between layers.
ADAPTERS: dict[str, dict[str, dict[str, Any]]] = {
    "llama": {
        "one": {},
        "two": {
            "target_modules": r".*layers\.1\..*(q_proj|down_proj)",
            "r": 6,
            "use_rslora": True,
            "rank_pattern": {"down_proj": 3},
            "alpha_pattern": {r"layers\.\d+\.self_attn\.q_proj": 5},
        },
    },
    "gpt2": {
        "one": {"target_modules": ["c_attn", "c_proj"], "fan_in_fan_out": True},
        "two": {"target_modules": ["c_attn"], "r": 2, "fan_in_fan_out": True},
    },
    "qwen3": {
        "one": {"target_modules": ["lm_head", "k_proj"]},
        "two": {"target_modules": ["up_proj"]},
    },
}
CALLS = [f"adapter-{one}{step}" for one in (1, 2) for step in ("", "-token")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The checkpoint, two adapters and the folder of a family, made once."""
    done: dict[str, tuple[Path, Path, dict]] = {}

    def make(family: str) -> tuple[Path, Path, dict]:
        if family not in done:
            root = tmp_path_factory.mktemp(family)
            model = checkpoints.build(family)
            checkpoints.save(model, root / "checkpoint")
            options = []
            for seed, (name, settings) in enumerate(ADAPTERS[family].items()):
                lora.save(model, root / name, seed, **settings)
                options += ["--adapter", f"{name}={root / name}"]
            said = llm(root / "checkpoint", root / "out", "--context", "64", *options)
            done[family] = root, root / "out", said
        return done[family]

    return make


def loaded(out: Path, name: str) -> ort.LoraAdapter:
    adapter = ort.LoraAdapter()
    adapter.Load(str(out / f"{name}.onnx_adapter"))
    return adapter


@pytest.mark.parametrize("family", ADAPTERS)
def test_adapters_are_swapped_in_onnx_runtime(made, family):
    root, out, said = made(family)
    assert said["verification"]["values_compared"] is True
    names = [case["name"] for case in said["verification"]["cases"]]
    assert names[-len(CALLS) :] == CALLS
    files = {Path(path).name for path in said["files"]}
    assert {"one.onnx_adapter", "two.onnx_adapter"} < files
    ids, mask = prompts()
    texts = {}
    for name in ADAPTERS[family]:
        model = lora.merged(checkpoints.build(family), root / name)
        tokens, logits = expected(model, ids, mask)
        # The options do not keep the adapter.
        adapter, options = loaded(out, name), ort.RunOptions()
        options.add_active_adapter(adapter)
        own_tokens, own_logits = generated(out / "model.onnx", ids, mask, options)
        np.testing.assert_array_equal(own_tokens, tokens)
        np.testing.assert_allclose(own_logits, logits, rtol=1e-3, atol=1e-4)
        texts[name] = own_tokens
    assert (texts["one"] != texts["two"]).any()


@pytest.mark.parametrize("family", ADAPTERS)
def test_a_folder_without_an_active_adapter_is_the_checkpoint(made, family, tmp_path):
    root, out, _ = made(family)
    llm(root / "checkpoint", tmp_path / "plain", "--no-verify")
    ids, mask = prompts()
    own, plain = (
        generated(folder / "model.onnx", ids, mask) for folder in (out, tmp_path / "plain")
    )
    for one, other in zip(own, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_adapters_are_swapped_in_genai(made):
    genai = pytest.importorskip("onnxruntime_genai")
    root, out, _ = made("llama")
    ids, mask = prompts()
    ids, mask = ids[:1], mask[:1]
    model = genai.Model(str(out))
    adapters = genai.Adapters(model)
    for name in ADAPTERS["llama"]:
        adapters.load(str(out / f"{name}.onnx_adapter"), name)
    # Back and forth, and without one.
    for name in ["one", "two", "one", None]:
        checkpoint = checkpoints.build("llama")
        wanted = checkpoint if name is None else lora.merged(checkpoint, root / name)
        tokens, logits = expected(wanted, ids, mask)
        parameters = genai.GeneratorParams(model)
        parameters.set_search_options(max_length=64, do_sample=False)
        generator = genai.Generator(model, parameters)
        if name is not None:
            generator.set_active_adapter(adapters, name)
        generator.append_tokens(ids.numpy().astype(np.int32))
        own = []
        while len(own) < STEPS and not generator.is_done():
            last = np.asarray(generator.get_logits()).reshape(-1, checkpoints.VOCABULARY)[-1]
            np.testing.assert_allclose(last, logits[0, len(own)], rtol=1e-3, atol=1e-4)
            generator.generate_next_token()
            own.append(generator.get_next_tokens()[0])
        # Tokens that end a text are the last.
        assert own == tokens[0][: len(own)].tolist()
        assert own


def test_inputs_have_a_rank_of_their_own_and_a_default(made):
    _, out, _ = made("llama")
    graph = onnx.load(out / "model.onnx", load_external_data=False).graph
    inputs = {
        one.name: [dim.dim_param or dim.dim_value for dim in one.type.tensor_type.shape.dim]
        for one in graph.input
    }
    module = "model.layers.1.mlp.down_proj"
    rank = inputs[f"{module}.lora_A"][1]
    assert (inputs[f"{module}.lora_A"], inputs[f"{module}.lora_B"]) == ([64, rank], [rank, 32])
    ranks = [sizes[1] for name, sizes in inputs.items() if name.endswith("lora_A")]
    assert len(set(ranks)) == len(ranks) == 5
    defaults = {one.name: list(one.dims) for one in graph.initializer if "lora" in one.name}
    assert defaults[f"{module}.lora_A"] == [64, 0]
    assert set(defaults) == {name for name in inputs if "lora" in name}


def test_files_of_adapters_have_scaled_weights_and_are_the_same_each_time(made, tmp_path):
    root, out, _ = made("llama")
    module = "model.layers.1.mlp.down_proj"
    stored = safetensors.torch.load_file(root / "two" / "adapter_model.safetensors")
    a, b = (stored[f"base_model.model.{module}.lora_{part}.weight"].T for part in "AB")
    read = ort.AdapterFormat.read_adapter(str(out / "two.onnx_adapter")).get_parameters()
    np.testing.assert_array_equal(read[f"{module}.lora_A"].numpy(), a)
    # The scale of rslora, with the rank of this module.
    np.testing.assert_allclose(read[f"{module}.lora_B"].numpy(), b * 16 / 3**0.5, rtol=1e-6)
    again = onnxport.llm(
        root / "checkpoint",
        output=tmp_path / "out",
        context=64,
        adapter=[f"{name}={root / name}" for name in ADAPTERS["llama"]],
    )
    assert len(again.files) == len(list(out.iterdir()))
    for path in out.iterdir():
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_adapters_have_the_type_of_the_model(made, tmp_path):
    root, _, _ = made("llama")
    out = tmp_path / "out"
    llm(root / "checkpoint", out, "--dtype", "f16", "--adapter", f"one={root / 'one'}")
    read = ort.AdapterFormat.read_adapter(str(out / "one.onnx_adapter")).get_parameters()
    assert {value.data_type() for value in read.values()} == {"tensor(float16)"}


@pytest.mark.parametrize("name", ["one", "two"])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_merged_adapter_is_a_part_of_the_weights(made, family, name, tmp_path):
    root, _, _ = made(family)
    said = llm(root / "checkpoint", tmp_path / "out", "--merge-adapter", root / name)
    assert said["verification"]["values_compared"] is True
    model = lora.merged(checkpoints.build(family), root / name)
    ids, mask = prompts()
    tokens, logits = expected(model, ids, mask)
    own_tokens, own_logits = generated(tmp_path / "out" / "model.onnx", ids, mask)
    np.testing.assert_array_equal(own_tokens, tokens)
    np.testing.assert_allclose(own_logits, logits, rtol=1e-3, atol=1e-4)
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"The weights have the adapters: {name}." in card
    assert not list((tmp_path / "out").glob("*.onnx_adapter"))
    graph = onnx.load(tmp_path / "out" / "model.onnx", load_external_data=False).graph
    assert not [one.name for one in graph.input if "lora" in one.name]


def test_merged_weights_are_quantized(made, tmp_path):
    root, _, _ = made("llama")
    merged = lora.merged(checkpoints.build("llama"), root / "one")
    checkpoints.save(merged, tmp_path / "merged")
    # Without rounding of the other operand, which multiplies differences.
    options = ["--quantize", "int8", "--accuracy-level", "1", "--no-verify"]
    llm(tmp_path / "merged", tmp_path / "expected", *options)
    llm(root / "checkpoint", tmp_path / "out", "--merge-adapter", root / "one", *options)
    ids, mask = prompts()
    _, own = generated(tmp_path / "out" / "model.onnx", ids, mask)
    _, wanted = generated(tmp_path / "expected" / "model.onnx", ids, mask)
    np.testing.assert_allclose(own[:, 0], wanted[:, 0], rtol=1e-2, atol=1e-2)


def test_adapters_are_swapped_beside_caches_in_buffers_and_quantized_weights(made, tmp_path):
    root, _, _ = made("llama")
    options = ["--quantize", "int8", "--provider", "cuda", "--adapter", f"one={root / 'one'}"]
    said = llm(root / "checkpoint", tmp_path / "out", *options)
    assert "adapter-1" in [case["name"] for case in said["verification"]["cases"]]
    graph = onnx.load(tmp_path / "out" / "model.onnx", load_external_data=False).graph
    operators = {node.op_type for node in graph.node}
    assert {"GroupQueryAttention", "MatMulNBits"} < operators


def test_a_merged_adapter_of_dora_sets_the_lengths_of_weights(made, tmp_path):
    root, _, _ = made("gpt2")
    model = checkpoints.build("gpt2")
    settings = {"target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True, "use_dora": True}
    adapter = lora.save(model, tmp_path / "adapter", 7, **settings)
    said = llm(root / "checkpoint", tmp_path / "out", "--merge-adapter", adapter)
    assert said["verification"]["values_compared"] is True
    ids, mask = prompts()
    plain, _ = expected(model, ids, mask)
    tokens, logits = expected(lora.merged(model, adapter), ids, mask)
    assert (tokens != plain).any()
    own_tokens, own_logits = generated(tmp_path / "out" / "model.onnx", ids, mask)
    np.testing.assert_array_equal(own_tokens, tokens)
    np.testing.assert_allclose(own_logits, logits, rtol=1e-3, atol=1e-4)


def changed(root: Path, to: Path, settings: dict[str, Any], tensors: dict[str, Any]) -> Path:
    """Copy the adapter `one` with other settings and weights; `None` removes one."""
    config = json.loads((root / "one" / "adapter_config.json").read_text()) | settings
    stored = safetensors.torch.load_file(root / "one" / "adapter_model.safetensors") | tensors
    to.mkdir()
    stored = {name: value for name, value in stored.items() if value is not None}
    safetensors.torch.save_file(stored, to / "adapter_model.safetensors")
    (to / "adapter_config.json").write_text(json.dumps(config))
    return to


LAYER = "base_model.model.model.layers.{}.self_attn.{}.lora_{}.weight"
ONES = safetensors.torch.torch.ones


@pytest.mark.parametrize(
    ("settings", "tensors", "message"),
    [
        ({"use_dora": True}, {}, "`--merge-adapter` merges it"),
        ({"modules_to_save": ["lm_head"]}, {}, "`modules_to_save`"),
        ({"bias": "all"}, {}, "`bias`"),
        ({"init_lora_weights": "pissa"}, {}, "`init_lora_weights`"),
        ({"a_later_setting": 1}, {}, "`a_later_setting`"),
        ({"peft_type": "IA3"}, {}, "type IA3"),
        ({"r": 5}, {}, "has the shape"),
        ({"target_modules": ["q_proj"]}, {}, "leave out"),
        ({"target_modules": ["q_proj", "v_proj", "k_proj"]}, {}, "no weights for"),
        ({"target_modules": ["q_proj", "v_proj", "other"]}, {}, "no linear module `other`"),
        ({"target_modules": "("}, {}, "cannot be understood"),
        ({}, {LAYER.format(0, "q_proj", "A"): ONES(4, 33)}, "has the shape"),
        ({}, {LAYER.format(7, "q_proj", "A"): ONES(4, 32)}, "not a module of the model"),
        ({}, {LAYER.format(0, "q_proj", "B"): None}, "no weight lora_B"),
        (
            {"target_modules": ["q_proj", "v_proj", "embed_tokens"]},
            {"base_model.model.model.embed_tokens.lora_embedding_A": ONES(4, 128)},
            "is not a weight of LoRA",
        ),
        (
            {},
            {"base_model.model.model.embed_tokens.lora_A.weight": ONES(4, 128)},
            "which is not linear",
        ),
    ],
)
def test_an_adapter_that_does_not_fit_is_refused(made, tmp_path, settings, tensors, message):
    root, _, _ = made("llama")
    adapter = changed(root, tmp_path / "adapter", settings, tensors)
    error = refusal(root / "checkpoint", tmp_path / "out", 3, "--adapter", f"a={adapter}")
    assert (error["code"], message in error["message"]) == ("OP656", True), error["message"]
    assert "merge_and_unload" in error["help"]


def test_a_tied_weight_is_not_merged(made, tmp_path):
    root, _, _ = made("qwen3")
    error = refusal(root / "checkpoint", tmp_path / "out", 3, "--merge-adapter", root / "one")
    assert error["code"] == "OP656"
    assert "is also `model.embed_tokens.weight`" in error["message"]


def test_names_and_folders_of_adapters_are_checked_first(made, tmp_path):
    root, _, _ = made("llama")
    checkpoint, one = root / "checkpoint", root / "one"
    for code, options in {
        2: ["--adapter", f"../a={one}"],
        3: ["--adapter", f"a={checkpoint}"],
    }.items():
        refusal(checkpoint, tmp_path / "out", code, *options)
    twice = ["--adapter", f"a={one}", "--adapter", f"A={one}"]
    assert "two adapters" in refusal(checkpoint, tmp_path / "out", 2, *twice)["message"]
    standard = ["--adapter", f"a={one}", "--target", "onnx"]
    assert "--merge-adapter" in refusal(checkpoint, tmp_path / "out", 2, *standard)["help"]
