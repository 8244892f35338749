"""Architectures of transformers that generate text, exported from two plain calls of `generate`.

Each phase of the observed calls becomes a model. It then has to compute what the module computes in
every step of other calls of `generate`, with other batches and lengths.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import onnxport
from tests.python import known_failures
from tests.python.zoo.registry import load_zoo

KNOWN = known_failures.load(Path(__file__).with_name("generate_failures.toml"))
NAMES = [name for name in load_zoo() if name.startswith("hf_")]


def generate(model: torch.nn.Module, batch: int, length: int, steps: int) -> None:
    """Call `generate` with random tokens."""
    generator = torch.Generator().manual_seed(100 * batch + length)
    tokens = torch.randint(3, 120, (batch, length), generator=generator)
    mask = torch.ones_like(tokens)
    options = {"max_new_tokens": steps, "do_sample": False, "num_beams": 1}
    with torch.no_grad():
        model.generate(tokens, attention_mask=mask, **options)


def ready(name: str) -> torch.nn.Module:
    """Return the module of an architecture, or skip."""
    torch.manual_seed(0)
    module = load_zoo()[name].build().module
    module = getattr(module, "inner", module).eval()
    if not hasattr(module, "generate") or not module.can_generate():
        pytest.skip("it does not generate")
    if module.main_input_name != "input_ids":
        pytest.skip("it generates from something else than tokens")
    settings = module.generation_config
    settings.eos_token_id, settings.pad_token_id, settings.use_cache = None, 0, True
    if module.config.is_encoder_decoder and settings.decoder_start_token_id is None:
        settings.decoder_start_token_id = 0
    if hasattr(module.config, "use_cache"):
        module.config.use_cache = True
    return module


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=known_failures.marks(KNOWN, name)) for name in NAMES]
)
def test_every_step_of_other_calls_is_the_same(name, tmp_path):
    model = ready(name)
    with onnxport.observe(model) as seen:
        generate(model, 2, 5, 4)
        generate(model, 3, 7, 3)
    with onnxport.observe(model, calls=20) as others:
        generate(model, 2, 9, 7)
        generate(model, 1, 3, 2)
    models = seen.export_all(tmp_path / "models", set_batch_dimension_for=True)
    for (phase, program), other in zip(models.items(), others.phases.values(), strict=True):
        rows = other.check_discrepancies(program, atol=1e-4, rtol=10)
        assert rows
        assert all(row["SUCCESS"] for row in rows), (phase, rows)


def test_the_list_of_failures_has_no_strays():
    assert not known_failures.strays(KNOWN, set(NAMES))
