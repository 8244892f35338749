"""Whether a model that was observed in calls of `generate` takes the steps of other calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

import onnxport

# The largest difference of a result, relative to the largest magnitude or to 1.
APART = 1e-4


def generate(model: nn.Module, batch: int, length: int, steps: int) -> None:
    """Call `generate` with random tokens."""
    generator = torch.Generator().manual_seed(100 * batch + length)
    tokens = torch.randint(3, 120, (batch, length), generator=generator)
    options: dict[str, Any] = {"max_new_tokens": steps, "do_sample": False, "num_beams": 1}
    with torch.no_grad():
        model.generate(tokens, attention_mask=torch.ones_like(tokens), **options)


def prepare(model: nn.Module) -> nn.Module:
    """Configure `generate`; sequences do not end early."""
    settings: Any = model.generation_config
    settings.eos_token_id, settings.pad_token_id, settings.use_cache = None, 0, True
    config: Any = model.config
    if config.is_encoder_decoder and settings.decoder_start_token_id is None:
        settings.decoder_start_token_id = 0
    if hasattr(config, "use_cache"):
        config.use_cache = True
    return model.eval()


def problems(model: nn.Module, folder: Path) -> list[str]:
    """Export two observed calls of `generate`, and return in which steps of others it differs."""
    with onnxport.observe(model) as seen:
        generate(model, 2, 5, 4)
        generate(model, 3, 7, 3)
    with onnxport.observe(model, calls=20) as others:
        generate(model, 2, 9, 7)
        generate(model, 1, 3, 2)
    models = seen.export_all(folder, set_batch_dimension_for=True)
    found = []
    for (phase, program), other in zip(models.items(), others.phases.values(), strict=True):
        rows = other.check_discrepancies(program, atol=APART, rtol=10)
        if not rows:
            found.append(f"{phase}: no call was compared")
        found += [f"{phase}: {row}" for row in rows if not row["SUCCESS"]]
    return found
