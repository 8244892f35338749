"""Adapters as peft writes them, and models with an adapter, in plain PyTorch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import transformers

CONFIG: dict[str, Any] = {
    "alpha_pattern": {},
    "auto_mapping": None,
    "base_model_name_or_path": "none",
    "bias": "none",
    "eva_config": None,
    "exclude_modules": None,
    "fan_in_fan_out": False,
    "inference_mode": True,
    "init_lora_weights": True,
    "layers_to_transform": None,
    "lora_alpha": 16,
    "lora_dropout": 0.1,
    "modules_to_save": None,
    "peft_type": "LORA",
    "r": 4,
    "rank_pattern": {},
    "target_modules": ["q_proj", "v_proj"],
    "task_type": "CAUSAL_LM",
    "use_dora": False,
    "use_rslora": False,
}


def is_transposed(module: torch.nn.Module) -> bool:
    """Whether the weight is `[in, out]`."""
    return isinstance(module, transformers.pytorch_utils.Conv1D)


def targets(model: torch.nn.Module, config: dict[str, Any]) -> list[str]:
    """Return the modules that an adapter changes."""
    wanted = config["target_modules"]

    def is_target(name: str) -> bool:
        if isinstance(wanted, str):
            return re.fullmatch(wanted, name) is not None
        return name.rpartition(".")[2] in wanted

    return [name for name, _ in model.named_modules() if name and is_target(name)]


def setting(patterns: dict[str, Any], name: str, default: Any) -> Any:
    """Return the value for a module."""
    for pattern, value in patterns.items():
        if re.search(rf"(^|\.)({pattern})$", name):
            return value
    return default


def save(model: torch.nn.Module, folder: Path, seed: int, **changed: Any) -> Path:
    """Write an adapter with random weights."""
    config = {**CONFIG, **changed}
    random = torch.Generator().manual_seed(seed)
    tensors = {}
    for name in targets(model, config):
        module = model.get_submodule(name)
        made, taken = module.weight.shape
        if is_transposed(module):
            made, taken = taken, made
        rank = setting(config["rank_pattern"], name, config["r"])
        shapes = {"A": (rank, taken), "B": (made, rank)}
        for part, shape in shapes.items():
            key = f"base_model.model.{name}.lora_{part}.weight"
            tensors[key] = torch.randn(shape, generator=random) * 0.1
        if config["use_dora"]:
            lengths = torch.rand(made, generator=random) + 0.5
            tensors[f"base_model.model.{name}.lora_magnitude_vector"] = lengths
    folder.mkdir(parents=True)
    safetensors.torch.save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def merged(model: torch.nn.Module, folder: Path) -> torch.nn.Module:
    """Add an adapter to the weights of a model."""
    config = json.loads((folder / "adapter_config.json").read_text())
    tensors = safetensors.torch.load_file(folder / "adapter_model.safetensors")
    for name in targets(model, config):
        a, b = (tensors[f"base_model.model.{name}.lora_{part}.weight"] for part in "AB")
        alpha = setting(config["alpha_pattern"], name, config["lora_alpha"])
        scale = alpha / (len(a) ** 0.5 if config["use_rslora"] else len(a))
        module = model.get_submodule(name)
        weight = module.weight.detach()
        weight = (weight.T if is_transposed(module) else weight) + (b @ a) * scale
        if config["use_dora"]:
            lengths = tensors[f"base_model.model.{name}.lora_magnitude_vector"]
            weight = weight * (lengths / torch.linalg.norm(weight, dim=1))[:, None]
        # A weight of its own: another module that has the same one keeps it.
        weight = weight.T.contiguous() if is_transposed(module) else weight
        module.weight = torch.nn.Parameter(weight)
    return model
