"""Models of a program: by onnxport, by `torch.onnx`, and by optimizers of the latter."""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import torch
from torch.utils import _pytree as pytree

import onnxport
from tests.python.models.registry import Recipe

from . import native
from .recipes import RECIPES

# Where the optimizer knows the model by another name than BERT; that of U-Nets is for GPUs.
MODEL_TYPES = {"gpt2": "gpt2", "gpt2_900": "gpt2", "vit": "vit", "t5": "t5"}


# The opset at which the exporter writes `Attention`, `RMSNormalization` and `RotaryEmbedding`.
NEWEST = 23


def count(path: Path) -> int:
    """Return the nodes of a model, those of functions and subgraphs included, constants not."""
    model = ir.load(path)
    graphs = [model.graph, *model.functions.values()]
    nodes = (node for graph in graphs for node in ir.traversal.RecursiveGraphIterator(graph))
    return sum(node.op_type != "Constant" for node in nodes)


def record(folder: Path, given: Any, results: Any) -> None:
    """Write inputs and outputs to `io.npz`, in the order of their leaves."""
    named = {f"i{at}": value.numpy() for at, value in enumerate(pytree.tree_leaves(given))}
    wanted = pytree.tree_leaves(dict(results) if isinstance(results, dict) else results)
    wanted = [value for value in wanted if isinstance(value, torch.Tensor)]
    named |= {f"o{at}": value.detach().numpy() for at, value in enumerate(wanted)}
    np.savez(folder / "io.npz", **named)


def drawn(module: torch.nn.Module) -> torch.nn.Module:
    """Draw weights of one number, as biases and scales are at first: some drop zeros and ones."""
    with torch.no_grad():
        for weight in module.parameters():
            if weight.numel() and (weight == weight.flatten()[0]).all():
                weight.normal_(mean=weight.flatten()[0].item(), std=0.02)
    return module.eval()


def capture(recipe: Recipe, folder: Path) -> torch.export.ExportedProgram:
    """Capture a model. Writes `program.pt2`, and its inputs and outputs."""
    module = drawn(recipe.module)
    with torch.no_grad():
        program = torch.export.export(
            module, recipe.args, dict(recipe.kwargs), dynamic_shapes=recipe.shapes, strict=False
        )
        results = module(*recipe.args, **recipe.kwargs)
    record(folder, (recipe.args, dict(recipe.kwargs)), results)
    onnxport.save(program, folder / "program.pt2")
    return program


def ours(binary: Path, opset: int, level: str, folder: Path) -> Path:
    """Convert `program.pt2` at a level."""
    path = folder / f"onnxport_{level}" / "model.onnx"
    path.parent.mkdir(exist_ok=True)
    command = [binary, "convert", folder / "program.pt2", "-o", path, "--no-verify"]
    command += ["--opset", str(opset), "--target", "onnxruntime", "--optimize", level]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return path


def exported(program: torch.export.ExportedProgram, opset: int, path: Path) -> None:
    """Let `torch.onnx.export` write the program, optimised."""
    torch.onnx.export(
        program, f=path, dynamo=True, optimize=True, opset_version=opset, verbose=False
    )


def fused(source: Path, name: str, path: Path) -> None:
    """Let the optimizer for transformers that comes with ONNX Runtime rewrite a model."""
    from onnxruntime.transformers import optimizer

    kind = MODEL_TYPES.get(name, "bert")
    model = optimizer.optimize_model(str(source), model_type=kind, opt_level=0)
    model.save_model_to_file(str(path), use_external_data_format=True)


def rewritten(source: Path, path: Path) -> None:
    """Let onnxscript's optimizer rewrite a model with its fusions for ONNX Runtime."""
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    model, _ = optimize_for_ort(ir.load(source))
    ir.save(model, path, external_data="model.onnx.data")


def slimmed(source: Path, path: Path) -> None:
    """Let onnxslim rewrite a model."""
    import onnxslim

    onnxslim.slim(str(source), str(path), save_as_external_data=True)


def prepare(
    name: str,
    folder: Path,
    binary: Path,
    opset: int,
    levels: list[str],
    peers: list[str] | None = None,
) -> dict[str, Path | str]:
    """Write every variant of a model. A failure is stored as its reason, a text.

    With `peers`, only these variants of others are written, beside `torch`.
    What the others write is not written again where `folder` holds it.
    """
    listed = folder / "others.json"
    if not listed.exists():
        found = others(name, folder, opset, peers)
        listed.write_text(json.dumps({variant: str(it) for variant, it in found.items()}))
    made: dict[str, Path | str] = {}
    for variant, it in json.loads(listed.read_text()).items():
        path = folder / variant / "model.onnx"
        made[variant] = path if path.exists() else it
    return made | {f"onnxport_{level}": ours(binary, opset, level, folder) for level in levels}


def others(
    name: str, folder: Path, opset: int, peers: list[str] | None = None
) -> dict[str, Path | str]:
    """Capture a model, and write the variants of other tools."""
    warnings.simplefilter("ignore")
    # Threads that spin while they wait count as time of others.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    recipe = RECIPES[name]()
    program = capture(recipe, folder)
    made: dict[str, Path | str] = {}

    def attempt(variant: str, write: Callable[[Path], Any]) -> None:
        if peers is not None and variant not in ("torch", *peers):
            return
        path = folder / variant / "model.onnx"
        path.parent.mkdir(exist_ok=True)
        try:
            write(path)
            made[variant] = path
        except Exception as error:  # whatever a peer raises, the others are still timed
            path.unlink(missing_ok=True)
            made[variant] = f"{type(error).__name__}: {error}".splitlines()[0]

    attempt("torch", lambda path: exported(program, opset, path))
    if opset < NEWEST:
        attempt("torch_23", lambda path: exported(program, NEWEST, path))
    source = made["torch"]
    if isinstance(source, Path):
        inputs = [put.name for put in ir.load(source).graph.inputs]
        (folder / "inputs.json").write_text(json.dumps(inputs))
        attempt("ort", lambda path: fused(source, name, path))
        attempt("slim", lambda path: slimmed(source, path))
        attempt("script", lambda path: rewritten(source, path))
    if native.is_native(recipe) and (peers is None or {"hf", "hf_ort"} & {*peers}):
        kept: list[Any] = []

        def plain(path: Path) -> None:
            given, results, model = native.written(recipe, opset, path)
            record(path.parent, given, results)
            kept.extend([given, results, model])

        def for_runtime(path: Path) -> None:
            given, results, model = kept
            native.fused(model, path)
            record(path.parent, given, results)

        attempt("hf", plain)
        attempt("hf_ort", for_runtime)
    return made
