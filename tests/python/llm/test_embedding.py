"""Models of text with pooling, and rerankers, beside PyTorch and sentence-transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import safetensors.torch
import torch
import transformers
from transformers import PreTrainedModel

from tests.python.llm import checkpoints
from tests.python.llm.test_llm import llm, refusal

SIZES = {
    "vocab_size": checkpoints.VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}
ROBERTA = {**SIZES, "pad_token_id": 1, "type_vocab_size": 1}
DECODER = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
# The class, its configuration, the settings of pooling in either form, and whether vectors are
# normalized. A checkpoint may be that of a model with a head.
MODELS: dict[str, tuple[str, str, dict, dict | None, bool]] = {
    "bert": ("BertModel", "BertConfig", SIZES, {"pooling_mode_mean_tokens": True}, True),
    "mpnet": ("MPNetForMaskedLM", "MPNetConfig", ROBERTA, {"pooling_mode": "max"}, False),
    "xlm_roberta": ("XLMRobertaModel", "XLMRobertaConfig", ROBERTA, {"pooling_mode": "cls"}, True),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", DECODER, {"pooling_mode_lasttoken": True}, True),
    "modernbert": (
        "ModernBertModel",
        "ModernBertConfig",
        {**SIZES, "global_attn_every_n_layers": 2, "local_attention": 4},
        {"pooling_mode": "cls"},
        True,
    ),
    # Attention in both directions, and dense layers, as in EmbeddingGemma.
    "gemma3": (
        "Gemma3TextModel",
        "Gemma3TextConfig",
        {
            **DECODER,
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 6,
            "use_bidirectional_attention": True,
        },
        {"pooling_mode_mean_tokens": True},
        True,
    ),
    "several": (
        "BertModel",
        "BertConfig",
        SIZES,
        {"pooling_mode": ["mean_sqrt_len_tokens", "weightedmean"]},
        False,
    ),
    "bert_scores": ("BertForSequenceClassification", "BertConfig", SIZES, None, False),
    "xlm_roberta_scores": (
        "XLMRobertaForSequenceClassification",
        "XLMRobertaConfig",
        {**ROBERTA, "num_labels": 1},
        None,
        False,
    ),
    "qwen3_scores": ("Qwen3ForSequenceClassification", "Qwen3Config", DECODER, None, False),
}
# Dense layers behind the pooling: their sizes, activations, and whether they have a bias.
DENSE = {
    "gemma3": [(32, 48, "activation.Tanh", True), (48, 24, "linear.Identity", False)],
}
POOLED = [name for name, row in MODELS.items() if row[3] is not None]
CASES = ["model/texts", "model/token", "model/batch"]


def build(name: str) -> PreTrainedModel:
    """Return a model whose layers all matter."""
    kind, config, options, _, _ = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, kind)(getattr(transformers, config)(**options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn_like(parameter)
            parameter.copy_(noise * 0.3 if parameter.dim() > 1 else parameter + noise * 0.1)
    return model


def dense(name: str) -> list[torch.nn.Linear]:
    """Return the dense layers of a model."""
    torch.manual_seed(1)
    return [torch.nn.Linear(taken, made, bias) for taken, made, _, bias in DENSE.get(name, [])]


def save(name: str, checkpoint: Path) -> Path:
    """Write a checkpoint as sentence-transformers does."""
    *_, pooling, normalized = MODELS[name]
    checkpoints.save(build(name), checkpoint)
    if pooling is None:
        return checkpoint
    layers = DENSE.get(name, [])
    kinds = ["Transformer", "Pooling", *["Dense"] * len(layers)]
    kinds += ["Normalize"] if normalized else []
    modules = [
        {
            "idx": at,
            "name": str(at),
            "path": f"{at}_{kind}" if at else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for at, kind in enumerate(kinds)
    ]
    (checkpoint / "modules.json").write_text(json.dumps(modules))
    for at, kind in list(enumerate(kinds))[1:]:
        (checkpoint / f"{at}_{kind}").mkdir()
    for at, (layer, row) in enumerate(zip(dense(name), layers, strict=True)):
        taken, made, activation, bias = row
        path = checkpoint / f"{at + 2}_Dense"
        stored = {f"linear.{key}": one for key, one in layer.state_dict().items()}
        safetensors.torch.save_file(stored, path / "model.safetensors")
        settings = {"in_features": taken, "out_features": made, "bias": bias}
        settings["activation_function"] = f"torch.nn.modules.{activation}"
        (path / "config.json").write_text(json.dumps(settings))
    settings = {"word_embedding_dimension": 32, **pooling}
    (checkpoint / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    limits = {"max_seq_length": 38, "do_lower_case": False}
    (checkpoint / "sentence_bert_config.json").write_text(json.dumps(limits))
    return checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The converted folder of a model, made once, with its checkpoint."""
    made: dict[str, tuple[Path, Path, dict]] = {}

    def make(name: str) -> tuple[Path, Path, dict]:
        if name not in made:
            root = tmp_path_factory.mktemp(name)
            checkpoint = save(name, root / "checkpoint")
            made[name] = checkpoint, root / "out", llm(checkpoint, root / "out")
        return made[name]

    return make


def texts(name: str, side: str) -> dict[str, torch.Tensor]:
    """Texts of several lengths, in another batch and length than those of the capture."""
    pad = build(name).config.pad_token_id
    lengths = torch.tensor([11, 3, 1, 7, 9])[:, None]
    ids = torch.randint(
        4, checkpoints.VOCABULARY, (5, 11), generator=torch.Generator().manual_seed(2)
    )
    mask = (torch.arange(11) < lengths).long()
    mask = mask.flip(1) if side == "left" else mask
    kinds = (torch.arange(11) > 4).long() * mask
    return {
        "input_ids": torch.where(mask > 0, ids, pad),
        "attention_mask": mask,
        "token_type_ids": kinds,
    }


def vectors(states: np.ndarray, mask: np.ndarray, name: str) -> np.ndarray:
    """Pool the states of each text by itself."""
    pooling, normalized = MODELS[name][3:]
    kinds = pooling.get("pooling_mode") or list(pooling)
    rows = []
    for text, counted in zip(states, mask, strict=True):
        own = text[counted > 0]
        places = np.arange(1, len(own) + 1)[:, None]
        ways = {
            "pooling_mode_mean_tokens": own.mean(0),
            "pooling_mode_lasttoken": own[-1],
            "max": own.max(0),
            "cls": own[0],
            "mean_sqrt_len_tokens": own.sum(0) / np.sqrt(len(own)),
            "weightedmean": (own * places).sum(0) / places.sum(),
        }
        wanted = [kinds] if isinstance(kinds, str) else kinds
        row = np.concatenate([ways[kind] for kind in wanted])
        for layer, (_, _, activation, _) in zip(dense(name), DENSE.get(name, []), strict=True):
            row = layer(torch.from_numpy(row)).detach().numpy()
            row = np.tanh(row) if activation.endswith("Tanh") else row
        rows.append(row / np.linalg.norm(row) if normalized else row)
    return np.stack(rows)


def run(out: Path, given: dict[str, torch.Tensor]) -> np.ndarray:
    """Run the model on the inputs that it has."""
    session = ort.InferenceSession(out / "model.onnx", providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return session.run(None, {name: given[name].numpy() for name in names})[0]


def called(model: PreTrainedModel, given: dict[str, torch.Tensor]) -> object:
    """Call a model with the inputs that it has."""
    if not getattr(model.config, "type_vocab_size", 0) > 1:
        given = {name: one for name, one in given.items() if name != "token_type_ids"}
    with torch.no_grad():
        return model(**given)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", MODELS)
def test_vectors_and_scores_are_those_of_pytorch(folder, name, side):
    _, out, said = folder(name)
    assert said["verification"]["values_compared"] is True
    assert [case["name"] for case in said["verification"]["cases"]] == CASES
    given, model = texts(name, side), build(name)
    if name in POOLED:
        states = called(getattr(model, model.base_model_prefix, model), given).last_hidden_state
        wanted = vectors(states.numpy(), given["attention_mask"].numpy(), name)
    else:
        wanted = called(model, given).logits.numpy()
    own = run(out, given)
    assert own.shape == wanted.shape
    np.testing.assert_allclose(own, wanted, atol=2e-5)
    # The values of a text do not depend on the padding.
    one = {key: value[:1] for key, value in given.items()}
    np.testing.assert_allclose(run(out, one), wanted[:1], atol=2e-5)


@pytest.mark.parametrize("name", POOLED)
def test_vectors_are_those_of_sentence_transformers(folder, name):
    library = pytest.importorskip("sentence_transformers")
    checkpoint, out, _ = folder(name)
    model = library.SentenceTransformer(str(checkpoint), device="cpu", local_files_only=True)
    given = texts(name, "right")
    features = {key: one.clone() for key, one in given.items()}
    if name not in ("bert", "several"):
        del features["token_type_ids"]
    with torch.no_grad():
        wanted = model(features)["sentence_embedding"].numpy()
    np.testing.assert_allclose(run(out, given), wanted, atol=2e-5)


def test_the_interface_has_names_and_dynamic_sizes(folder):
    _, out, said = folder("bert")
    session = ort.InferenceSession(out / "model.onnx")
    sizes = ["batch_size", "sequence_length"]
    inputs = {one.name: one.shape for one in session.get_inputs()}
    assert inputs == dict.fromkeys(["input_ids", "attention_mask", "token_type_ids"], sizes)
    (output,) = session.get_outputs()
    assert (output.name, output.shape) == ("sentence_embedding", ["batch_size", 32])
    assert (said["decoder"]["pooling"], said["decoder"]["normalized"]) == (["mean"], True)
    names = {path.name for path in out.iterdir()}
    assert names == {Path(path).name for path in said["files"]}
    copied = {"config.json", "sentence_bert_config.json", "tokenizer.json", "README.md"}
    assert copied < names
    assert "genai_config.json" not in names
    card = (out / "README.md").read_text()
    assert "| context | 38 tokens |" in card
    assert "the pooling `mean` of the states of all tokens, normalized" in card
    assert "those of PyTorch" in card
    _, out, said = folder("xlm_roberta_scores")
    session = ort.InferenceSession(out / "model.onnx")
    assert [one.name for one in session.get_inputs()] == ["input_ids", "attention_mask"]
    (output,) = session.get_outputs()
    assert (output.name, output.shape) == ("logits", ["batch_size", 1])
    assert said["decoder"]["pooling"] == []


def test_a_text_may_be_as_long_as_the_table_of_positions(folder):
    _, out, _ = folder("bert")
    ids = torch.randint(4, checkpoints.VOCABULARY, (1, SIZES["max_position_embeddings"]))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    given["token_type_ids"] = torch.zeros_like(ids)
    states = called(build("bert"), given).last_hidden_state.numpy()
    wanted = vectors(states, given["attention_mask"].numpy(), "bert")
    np.testing.assert_allclose(run(out, given), wanted, atol=2e-5)


def test_an_option_names_the_pooling(tmp_path):
    checkpoint = checkpoints.save(build("bert"), tmp_path / "checkpoint")
    # The provider makes no difference to a model without caches.
    options = "--pooling", "cls", "--quantize", "int8", "--provider", "cuda"
    said = llm(checkpoint, tmp_path / "out", *options)
    assert said["decoder"]["pooling"] == ["cls"]
    assert said["verification"]["measured"] is True
    given = texts("bert", "right")
    states = called(build("bert"), given).last_hidden_state.numpy()
    own, wanted = run(tmp_path / "out", given).ravel(), states[:, 0].ravel()
    assert own @ wanted > 0.99 * np.linalg.norm(own) * np.linalg.norm(wanted)


def test_dense_layers_are_counted_and_checked(folder, tmp_path):
    _, out, said = folder("gemma3")
    assert (said["decoder"]["dense"], said["decoder"]["normalized"]) == (2, True)
    (output,) = ort.InferenceSession(out / "model.onnx").get_outputs()
    assert output.shape == ["batch_size", 24]
    assert "all tokens, and 2 dense layers, normalized" in (out / "README.md").read_text()
    checkpoint = save("gemma3", tmp_path / "checkpoint")
    path = checkpoint / "2_Dense" / "config.json"
    settings = json.loads(path.read_text())
    for change, code, says in (
        ({"use_residual": True}, "OP651", "further inputs"),
        ({"activation_function": "mine.Tanh"}, "OP651", "`mine.Tanh`"),
        ({"bias": False}, "OP650", "lacks a tensor"),
    ):
        path.write_text(json.dumps({**settings, **change}))
        error = refusal(checkpoint, tmp_path / "out", 3 if code == "OP651" else 5)
        assert (error["code"], says in error["message"]) == (code, True)


def test_other_modules_and_poolings_are_refused(folder, tmp_path):
    checkpoint = save("several", tmp_path / "checkpoint")
    settings = checkpoint / "1_Pooling" / "config.json"
    settings.write_text(json.dumps({"pooling_mode": "mean", "include_prompt": False}))
    error = refusal(checkpoint, tmp_path / "out", 3)
    assert (error["code"], "prompt" in error["message"]) == ("OP651", True)
    settings.write_text(json.dumps({"pooling_mode": "median"}))
    assert "`median` is not known" in refusal(checkpoint, tmp_path / "out", 3)["message"]
    modules = json.loads((checkpoint / "modules.json").read_text())
    modules[1]["type"] = "sentence_transformers.models.LSTM"
    (checkpoint / "modules.json").write_text(json.dumps(modules))
    assert "the module `LSTM`" in refusal(checkpoint, tmp_path / "out", 3)["message"]
    config = transformers.T5Config(vocab_size=checkpoints.VOCABULARY, d_model=32, num_layers=1)
    model = transformers.T5ForConditionalGeneration(config)
    checkpoint = checkpoints.save(model, tmp_path / "t5")
    error = refusal(checkpoint, tmp_path / "out", 3, "--pooling", "mean")
    assert "states are not pooled" in error["message"]
    checkpoint, _, _ = folder("bert")
    error = refusal(checkpoint, tmp_path / "out", 3, "--last-logits")
    assert "no logits of tokens" in error["message"]
