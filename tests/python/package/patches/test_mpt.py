"""`mpt`: a bias that is sliced by the number of tokens."""

import copy

import pytest
import torch

import onnxport
from onnxport._export.patches import install, registry
from tests.python.package.patches import agrees, equal
from tests.python.zoo import generating

transformers = pytest.importorskip("transformers")


def small():
    torch.manual_seed(0)
    config = transformers.MptConfig(
        d_model=16, n_heads=2, n_layers=2, max_seq_len=24, vocab_size=128, expansion_ratio=2
    )
    return transformers.MptForCausalLM(config).eval()


@pytest.mark.parametrize("clip", [None, 0.01])
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("length", [1, 6, 24])
def test_results_are_those_of_the_original(clip, cached, length):
    model = small()
    for block in model.transformer.blocks:
        block.attn.clip_qkv = clip
    tokens = torch.randint(0, 128, (2, length))
    past = None
    if cached and length < 24:
        with torch.no_grad():
            past = model(torch.randint(0, 128, (2, 5)), use_cache=True).past_key_values

    def call():
        return model(tokens, past_key_values=copy.deepcopy(past), use_cache=cached).logits

    with torch.no_grad():
        agrees("mpt", call)


def test_more_tokens_than_the_bias_has_are_refused():
    patched = install.installed(registry.chosen(["mpt"]))
    with patched, torch.no_grad(), pytest.raises(RuntimeError, match="max_seq_len"):
        small()(torch.randint(0, 128, (1, 25)), use_cache=False)


def test_steps_of_other_calls_are_the_same(tmp_path):
    assert generating.problems(generating.prepare(small()), tmp_path / "models") == []


def test_a_prompt_is_exported_with_a_dynamic_length():
    model = small()
    options = {"use_cache": False}
    program = onnxport.export(
        model,
        kwargs={"input_ids": torch.randint(0, 128, (2, 5)), **options},
        dynamic_shapes={"input_ids": {0: "batch", 1: "length"}, "use_cache": None},
    )
    for shape in [(1, 3), (3, 11)]:
        tokens = torch.randint(0, 128, shape)
        with torch.no_grad():
            expected = model(tokens, **options).logits
        equal(program(input_ids=tokens)[0], expected, rtol=1e-4, atol=1e-5)
