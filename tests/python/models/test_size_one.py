"""Models of transformers that PyTorch traced for sizes of at least 2, at a size of 1."""

import os
import subprocess

import onnx
import pytest
import torch
import transformers
from torch.export import Dim, export

from tests.python import forked
from tests.python.onnx_runtime import binary, library

ENVIRONMENT = {**os.environ, "VIRTUAL_ENV": str(forked.prefix()), "ORT_DYLIB_PATH": str(library())}

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}


def bert():
    return transformers.BertModel(transformers.BertConfig(**SMALL))


def llama():
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2, use_cache=False)
    return transformers.LlamaForCausalLM(config)


@pytest.fixture(scope="module", params=[bert, llama])
def program(request, tmp_path_factory):
    torch.manual_seed(0)
    module, ids = request.param().eval(), torch.randint(0, 100, (2, 7))
    shapes = {"input_ids": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}}
    exported = export(module, (), {"input_ids": ids}, dynamic_shapes=shapes, strict=False)
    path = tmp_path_factory.mktemp(request.param.__name__) / "m.pt2"
    torch.export.save(exported, path)
    return path


@pytest.mark.parametrize("axis", [0, 1])
def test_a_size_of_one_is_taken_and_verified(program, axis):
    model = program.with_suffix(f".{axis}.onnx")
    line = [binary(), "convert", program, "-o", model, "--dim", f"input_ids:{axis}=1"]
    line += ["--reference", "torch", "--require-verified"]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=600, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "OP309" in done.stderr
    (ids,) = onnx.load(model).graph.input
    assert ids.type.tensor_type.shape.dim[axis].dim_value == 1
