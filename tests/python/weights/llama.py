"""Write a program in the shape of Llama without weights, and sparse shards as large as its weights.

    python -m tests.python.weights.llama FOLDER --layers 80

The program is exported under `FakeTensorMode`, so that no parameter is ever allocated; the shards
are safetensors files of holes, which take no space on disk. The defaults are those of a model of 70
billion parameters in bfloat16.
"""

from __future__ import annotations

import argparse
import json
import struct
import time
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram, export, save
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

NAMES = {torch.bfloat16: "BF16", torch.float32: "F32", torch.int64: "I64"}


class Logits(torch.nn.Module):
    """Token ids to logits, without a cache."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Call the model."""
        return self.model(input_ids=ids, use_cache=False).logits


def program(config: LlamaConfig) -> ExportedProgram:
    """Export without parameters; only rotary frequencies, which no checkpoint holds, are real."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            model = LlamaForCausalLM(config).eval()
            ids = torch.zeros(1, 8, dtype=torch.int64)
    finally:
        torch.set_default_dtype(default)
    model.model.rotary_emb = LlamaRotaryEmbedding(config)
    return export(Logits(model), (ids,))


def write_shards(folder: Path, tensors: dict[str, torch.Tensor], shard_bytes: int) -> int:
    """Write shards of holes and their index; return the bytes of all tensors."""
    shards: list[dict[str, torch.Tensor]] = [{}]
    filled = 0
    for name, tensor in tensors.items():
        if filled + tensor.nbytes > shard_bytes and shards[-1]:
            shards.append({})
            filled = 0
        shards[-1][name] = tensor
        filled += tensor.nbytes
    total = 0
    weight_map = {}
    for number, shard in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        header: dict[str, object] = {}
        offset = 0
        for name, tensor in shard.items():
            end = offset + tensor.nbytes
            header[name] = {
                "dtype": NAMES[tensor.dtype],
                "shape": list(tensor.shape),
                "data_offsets": [offset, end],
            }
            weight_map[name] = file
            offset = end
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with (folder / file).open("wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            out.truncate(8 + len(text) + offset)
        total += offset
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return total


def write(folder: Path, config: LlamaConfig, shard_bytes: int) -> tuple[int, int]:
    """Write the program and its shards; return the number and the bytes of the tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    exported = program(config)
    save(exported, folder / "program.pt2")
    # The wrapper's name is not in a checkpoint.
    tensors = {name.removeprefix("model."): tensor for name, tensor in exported.state_dict.items()}
    return len(tensors), write_shards(folder, tensors, shard_bytes)


def main() -> None:
    """Parse arguments and write both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=80)
    parser.add_argument("--hidden", type=int, default=8192)
    parser.add_argument("--mlp", type=int, default=28672)
    parser.add_argument("--heads", type=int, default=64)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=128256)
    parser.add_argument("--shard-gb", type=float, default=5.0)
    arguments = parser.parse_args()
    config = LlamaConfig(
        num_hidden_layers=arguments.layers,
        hidden_size=arguments.hidden,
        intermediate_size=arguments.mlp,
        num_attention_heads=arguments.heads,
        num_key_value_heads=arguments.kv_heads,
        vocab_size=arguments.vocabulary,
        max_position_embeddings=8192,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
    )
    start = time.perf_counter()
    tensors, total = write(arguments.folder, config, int(arguments.shard_gb * 1e9))
    seconds = time.perf_counter() - start
    print(f"{tensors} tensors, {total / 1e9:.1f} GB of weights, {seconds:.0f} s to export")


if __name__ == "__main__":
    main()
