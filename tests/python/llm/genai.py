"""Generation with onnxruntime-genai, which is not a dependency of the tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models


def generated(
    folder: Path, ids: np.ndarray, given: dict[str, np.ndarray], wanted: np.ndarray, context: int
) -> np.ndarray:
    """Return as many greedy tokens as are wanted, behind a prompt with further inputs."""
    library = pytest.importorskip("onnxruntime_genai")
    path = folder / "genai_config.json"
    config = json.loads(path.read_text())
    # No token of the text ends it.
    unused = set(range(config["model"]["vocab_size"])) - set(wanted.ravel().tolist())
    config["model"]["eos_token_id"] = [min(unused)]
    path.write_text(json.dumps(config))
    model = library.Model(str(folder))
    parameters = library.GeneratorParams(model)
    parameters.set_search_options(max_length=context, do_sample=False, batch_size=len(ids))
    generator = library.Generator(model, parameters)
    tensors = library.NamedTensors()
    for name, array in {"input_ids": ids.astype(np.int32), **given}.items():
        tensors[name] = np.ascontiguousarray(array)
    generator.set_inputs(tensors)
    for _ in range(wanted.shape[1]):
        generator.generate_next_token()
    rows = [generator.get_sequence(at) for at in range(len(ids))]
    return np.stack(rows)[:, ids.shape[1] :]


def use_tokenizer(folder: Path, *special: str) -> None:
    """Write a tokenizer of a kind that onnxruntime-genai has, with these special tokens."""
    tokenizer = Tokenizer(models.BPE({"a": 4, "b": 5, "ab": 6}, [("a", "b")]))
    tokenizer.add_special_tokens(list(special))
    tokenizer.save(str(folder / "tokenizer.json"))
