"""A large program whose model points at its weights: nothing of them is read."""

from __future__ import annotations

import sys

import pytest
from transformers import LlamaConfig

from benches.reference import measure
from tests.python.onnx_runtime import binary
from tests.python.weights.llama import write


@pytest.mark.skipif(sys.platform != "linux", reason="pages and memory are read from Linux")
def test_no_weight_is_read(tmp_path):
    config = LlamaConfig(
        num_hidden_layers=2,
        hidden_size=1024,
        intermediate_size=4096,
        num_attention_heads=8,
        num_key_value_heads=2,
        vocab_size=8000,
        tie_word_embeddings=False,
    )
    _, total = write(tmp_path, config, 20_000_000)
    assert total > 80_000_000
    found = measure(binary(), tmp_path)
    assert found["data"] == 0
    assert found["read"] <= 64 * 1024 * found["shards"] < 1_000_000
    assert found["model"] < 200_000
    # A debug build takes 40 MiB for 80 layers.
    assert found["peak"] < 32 << 20
