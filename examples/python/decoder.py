"""A decoder of transformers with its cache: nothing has to be registered.

python examples/python/decoder.py decoder.onnx
"""

import sys

import torch
import transformers

import onnxport
from onnxport.testing import assert_onnx_program

CONFIG = transformers.LlamaConfig(
    vocab_size=100,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
)


def call(batch: int, tokens: int, past: int) -> dict[str, object]:
    """Return the arguments of a step that continues `past` tokens."""
    cache = transformers.DynamicCache(config=CONFIG)
    for layer in range(CONFIG.num_hidden_layers):
        shape = (batch, CONFIG.num_key_value_heads, past, CONFIG.head_dim)
        cache.update(torch.randn(shape), torch.randn(shape), layer)
    return {
        "input_ids": torch.randint(0, CONFIG.vocab_size, (batch, tokens)),
        "attention_mask": torch.ones(batch, past + tokens, dtype=torch.int64),
        "past_key_values": cache,
    }


def main(path: str) -> None:
    """Write the model to `path`."""
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(CONFIG).eval()
    layer = {0: "batch", 2: "past"}
    program = onnxport.export(
        model,
        (),
        path,
        kwargs=call(batch=2, tokens=3, past=5),
        dynamic_shapes={
            "input_ids": {0: "batch", 1: "tokens"},
            "attention_mask": {0: "batch", 1: "total"},
            "past_key_values": [[layer, layer] for _ in range(CONFIG.num_hidden_layers)],
        },
    )
    assert_onnx_program(program, kwargs=call(batch=3, tokens=1, past=9), rtol=1e-4, atol=1e-5)
    print(f"{len(program.model_proto.graph.input)} inputs")


if __name__ == "__main__":
    main(sys.argv[1])
