"""Constant folding changes no result, and makes no model larger than was allowed."""

import pytest
import torch

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import convert, load_model, read_cases, reported

MODELS = load_all()
# The default of `--fold-budget`.
BUDGET = 16 << 10
# The allowed growth of derived weights: this fraction of all weights, or this many bytes.
PART, GROWTH = 64, 64 << 10


@pytest.mark.parametrize(
    ("name", "folds"),
    [
        ("resnet18", False),
        ("distilbert", True),
        ("llama_cache", True),
        ("deberta_v2", True),
        ("recommender", True),
        ("fcos_resnet18", True),
        ("whisper_tiny", True),
    ],
)
def test_folding_changes_no_result(name, folds, tmp_path):
    archive = MODELS[name].make()
    folded, plain = tmp_path / "folded.onnx", tmp_path / "plain.onnx"
    said = reported("convert", archive, "-o", folded, "--no-verify", "--validate")
    assert (said.get("optimised", {}).get("folded", 0) > 0) == folds
    convert(archive, plain, "--fold-budget", "0")
    sizes = [sum(f.stat().st_size for f in tmp_path.glob(f"{p.name}*")) for p in (folded, plain)]
    assert sizes[0] <= sizes[1] + BUDGET + max(GROWTH, sizes[1] // PART)
    one, other = load_model(folded), load_model(plain)
    for case in read_cases(archive):
        for got, expected in zip(one.run(case.inputs), other.run(case.inputs), strict=True):
            # Means and products of weights are added up in another order than in the runtime.
            assert torch.allclose(got, expected, rtol=1e-4, atol=1e-5)
