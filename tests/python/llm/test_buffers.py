"""Caches in buffers: `GroupQueryAttention` generates the same tokens as transformers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from transformers import masking_utils as masks

from tests.python.llm import checkpoints, scripts
from tests.python.llm.test_llm import STEPS, expected, llm, refusal

BUFFER = 24
# All whose attention goes through the interface of transformers: grouped heads, norms of heads,
# softcaps, sliding windows in some and in all layers, fused projections, learned positions,
# rotations of neighbours, and of a part of each head.
FAMILIES = [
    *("llama", "qwen3", "gemma2", "gemma3", "mistral", "phi3", "gpt2"),
    *("cohere", "gpt_neox"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The converted folder of a family, made once."""
    made: dict[str, Path] = {}

    def make(family: str) -> Path:
        if family not in made:
            root = tmp_path_factory.mktemp(family)
            checkpoint = checkpoints.save(checkpoints.build(family), root / "checkpoint")
            said = llm(checkpoint, root / "out", "--provider", "cuda", "--context", "64")
            assert said["verification"]["values_compared"] is True
            made[family] = root / "out"
        return made[family]

    return make


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    """Two prompts, the second filled on the left, as `generate` wants it."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(4, checkpoints.VOCABULARY, (2, 9), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    return ids * mask, mask


def generated(path: Path, ids, mask, *, buffers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and logits of the model, whose texts are filled on the right."""
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    inputs = {one.name: one for one in session.get_inputs()}
    lengths = mask.sum(1).numpy()
    width = ids.shape[1]
    rows = np.zeros((len(ids), width), np.int64)
    seen = np.zeros((len(ids), width), np.int64)
    for row, length in enumerate(lengths):
        rows[row, :length] = ids[row, width - length :].numpy()
        seen[row, :length] = 1
    past = {
        name: np.full(
            (len(ids), one.shape[1], BUFFER if buffers else 0, one.shape[3]), 7, np.float32
        )
        for name, one in inputs.items()
        if name.startswith("past_key_values.")
    }
    last = lengths - 1
    tokens, logits = [], []
    for _ in range(STEPS):
        feeds = {"input_ids": rows, "attention_mask": seen, **past}
        if "position_ids" in inputs:
            positions = np.maximum(seen.cumsum(1) - 1, 0)
            feeds["position_ids"] = positions[:, -rows.shape[1] :]
        out = dict(zip(names, session.run(None, feeds), strict=True))
        logits.append(out["logits"][np.arange(len(rows)), last])
        rows = logits[-1].argmax(-1)[:, None]
        tokens.append(rows[:, 0])
        seen = np.concatenate([seen, np.ones_like(rows)], 1)
        last = np.zeros_like(lengths)
        past = {name: out[name.replace("past_key_values", "present")] for name in past}
        shapes = {one.shape[2] for one in past.values()}
        assert shapes == {BUFFER if buffers else seen.shape[1] - 1}
    return np.stack(tokens, 1), np.stack(logits, 1)


@pytest.mark.parametrize("buffers", [False, True], ids=["grown", "buffers"])
@pytest.mark.parametrize("family", FAMILIES)
def test_texts_of_several_lengths_are_generated(folder, family, buffers):
    ids, mask = texts()
    tokens, logits = expected(checkpoints.build(family), ids, mask)
    own_tokens, own_logits = generated(folder(family) / "model.onnx", ids, mask, buffers=buffers)
    np.testing.assert_array_equal(own_tokens, tokens)
    np.testing.assert_allclose(own_logits, logits, rtol=1e-3, atol=1e-4)


def test_each_layer_is_a_node_with_its_window(folder):
    def nodes(family: str) -> list[onnx.NodeProto]:
        model = onnx.load(folder(family) / "model.onnx", load_external_data=False)
        found = [node for node in model.graph.node if node.op_type == "GroupQueryAttention"]
        assert not [node for node in model.graph.node if node.op_type == "Softmax"]
        return found

    def stated(node: onnx.NodeProto) -> dict:
        return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}

    first, second = map(stated, nodes("gemma2"))
    assert (first["local_window_size"], "local_window_size" in second) == (4, False)
    assert (first["softcap"], second["softcap"]) == (50.0, 50.0)
    llama = stated(nodes("llama")[0])
    assert (llama["num_heads"], llama["kv_num_heads"]) == (4, 2)


@pytest.mark.parametrize(
    ("family", "width", "interleaved"),
    [("qwen3", 8, 0), ("cohere", 8, 1), ("gpt_neox", 8, 0), ("llama", None, None)],
)
def test_rotary_embeddings_are_part_of_the_operator(folder, family, width, interleaved):
    """`width` is the number of rotated pairs, None where the operator does not take so few."""
    model = onnx.load(folder(family) / "model.onnx", load_external_data=False)
    nodes = [node for node in model.graph.node if node.op_type == "GroupQueryAttention"]
    stated = [
        {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute} for node in nodes
    ]
    inputs = {one.name for one in model.graph.input}
    assert ("position_ids" in inputs) == (width is None)
    assert [one.get("rotary_interleaved") for one in stated] == [interleaved] * len(nodes)
    if width is not None:
        shapes = {one.name: list(one.dims) for one in model.graph.initializer}
        assert {name for node in nodes for name in node.input[7:9]} <= shapes.keys()
        assert all(shapes[node.input[7]] == [96, width] for node in nodes)
        # All layers share the tables.
        assert len({tuple(node.input[7:9]) for node in nodes}) == 1


def test_a_rotation_that_the_operator_does_not_compute_stays_outside():
    script = scripts.load("rotary")

    class Turned(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("inv_freq", torch.rand(8))

        def forward(self, x, position_ids):
            angles = torch.cat([position_ids[..., None] * self.inv_freq] * 2, -1)
            return angles.cos(), angles.sin()

    def half(x):
        return torch.cat([-x[..., 8:], x[..., :8]], -1)

    def rotation(q, k, cos, sin):
        return tuple(x * cos[:, None] + half(x) * sin[:, None] for x in (q, k))

    def other(q, k, cos, sin):
        return tuple(x * cos[:, None] - half(x) * sin[:, None] for x in (q, k))

    turned = Turned()
    forward = turned.forward
    rotary = script.Rotary(torch.nn.Sequential(turned), 32)
    cos, _, interleaved = rotary.probed(rotation, forward, 16, torch.float32)
    assert (cos.shape, interleaved) == ((32, 8), False)
    assert rotary.probed(other, forward, 16, torch.float32) is None

    def narrow(_q, _k, cos, _sin):
        return cos.reshape(3, -1)

    with rotary.call():
        cos, sin = turned(torch.zeros(1, 1), torch.arange(4)[None])
        assert rotary._table(narrow, cos, sin, torch.zeros(1, 2, 4, 16)) is None
        assert rotary._table(rotation, cos, sin, torch.zeros(1, 2, 4, 16)) is not None


def test_dependence_is_followed():
    script = scripts.load("rotary")
    source = torch.zeros(3)
    assert script.depends(lambda: ((source + 1)[:2], None), source)
    assert not script.depends(lambda: torch.ones(3) + 1, source)


def test_the_configuration_shares_buffers(folder):
    config = json.loads((folder("llama") / "genai_config.json").read_text())
    assert config["search"]["past_present_share_buffer"] is True
    assert config["model"]["decoder"]["session_options"]["provider_options"] == [{"cuda": {}}]
    assert "filled up at their end" in (folder("llama") / "README.md").read_text()


def test_attention_that_the_operator_does_not_compute_is_refused(tmp_path):
    checkpoint = checkpoints.save(checkpoints.build("bloom"), tmp_path / "bloom")
    error = refusal(checkpoint, tmp_path / "out", 3, "--provider", "cuda")
    assert error["code"] == "OP651"
    assert "interface of transformers" in error["message"]
    error = refusal(checkpoint, tmp_path / "out", 2, "--provider", "cuda", "--target", "onnx")
    assert error["code"] == "OP001"


def test_windows_are_found_in_masks():
    script = scripts.load("group_query")
    assert script.window_of(masks.causal_mask_function) == 0
    for window in (1, 2, 4, 100, 4096, 40000):
        assert script.window_of(masks.sliding_window_causal_mask_function(window)) == window


def test_a_mask_that_no_layer_uses_is_not_refused():
    script = scripts.load("group_query")
    mask = script.mask_of(mask_function=masks.bidirectional_mask_function)
    assert isinstance(mask.problem, scripts.Refused)
    with pytest.raises(scripts.Refused, match="`dtype` of its mask"):
        _ = mask.dtype


@pytest.mark.parametrize(
    "mask",
    [
        masks.bidirectional_mask_function,
        masks.chunked_causal_mask_function(64, torch.zeros(1, dtype=torch.int64)),
        masks.or_masks(masks.causal_mask_function, lambda _b, _h, q, kv: (q < 8) & (kv < 8)),
        masks.and_masks(
            masks.causal_mask_function, lambda _b, _h, q, kv: (kv % 2 == 0) | (q == kv)
        ),
        masks.and_masks(masks.causal_mask_function, lambda _b, _h, q, kv: kv < 5000),
        masks.sliding_window_causal_mask_function(200_000),
    ],
    ids=["bidirectional", "chunks", "prefix", "holes", "a limit", "a window behind all queries"],
)
def test_other_masks_are_refused(mask):
    script = scripts.load("group_query")
    with pytest.raises(scripts.Refused):
        script.window_of(mask)
