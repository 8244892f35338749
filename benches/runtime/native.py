"""Models of the exporter of transformers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree
from transformers import DynamicCache, PreTrainedModel

from tests.python.models.registry import Recipe
from tests.python.models.text import WithCache


def is_native(recipe: Recipe) -> bool:
    """Whether the module of a recipe is a model of transformers, or one with a cache around it."""
    return native(recipe) is not None


def native(recipe: Recipe) -> tuple[nn.Module, dict[str, Any], dict[str, Any]] | None:
    """Return the model in a recipe, its own arguments, and their shapes."""
    if isinstance(recipe.module, WithCache):
        tokens, mask, past = recipe.args
        lengths, masked, cached = recipe.shapes
        given = {"input_ids": tokens, "attention_mask": mask, "past_key_values": past}
        # A cache is a flat list to the capture: a key, a value, a key ...
        leaves = [axes for pair in cached for axes in pair]
        shapes = {"input_ids": lengths, "attention_mask": masked, "past_key_values": leaves}
        return recipe.module.inner, given, shapes
    if isinstance(recipe.module, PreTrainedModel) and recipe.kwargs:
        return recipe.module, dict(recipe.kwargs), recipe.shapes
    return None


def written(recipe: Recipe, opset: int, path: Path) -> tuple[Any, Any, Any]:
    """Write a model; return its inputs, its results and the model, to be fused."""
    from transformers.exporters.exporter_dynamo import register_cache_pytrees_for_model
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter

    found = native(recipe)
    if found is None:
        raise ValueError("no model of transformers")
    model, given, shapes = found
    register_cache_pytrees_for_model(model)
    if "past_key_values" in given:
        given = {**given, "past_key_values": DynamicCache(given["past_key_values"])}
    config = OnnxConfig(opset_version=opset, dynamic_shapes=shapes)
    made = OnnxExporter().export(model, copy.deepcopy(given), config=config)
    OnnxExporter.save_program(made.program, path)
    with torch.no_grad():
        results = model(**copy.deepcopy(given))
    return given, pytree.tree_leaves(dict(results)), made.program


def fused(model: Any, path: Path) -> None:
    """Write the model with the fusions for ONNX Runtime on the CPU."""
    from transformers.exporters.exporter_onnx import OnnxExporter
    from transformers.exporters.onnxruntime_fusions import fuse_for_onnxruntime

    fuse_for_onnxruntime(model, "cpu")
    OnnxExporter.save_program(model, path)
