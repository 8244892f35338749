"""A layer of a mixture of experts: ours beside ONNX Runtime's `MoE` and `QMoE`.

    python -m benches.runtime.experts [--rounds 15] [--sizes 512x1024x32x2] [--tokens 1 8 64 512]

A size is the width, the width inside, the experts, and how many of them a token has. The layer is
that of transformers' Qwen 3 with random weights, exported with any number of tokens and converted
in f32 and with quantised weights: as `MatMulNBits`, which rounds the other operand or does not
(`level 1`), or behind `DequantizeLinear`, of which the runtime makes the first of both. The
operators of the runtime are written by hand from the same weights, quantised ones with the nearest
codes in blocks of 32, as the converter has them. One process holds all sessions, with one thread,
and runs them in rounds, in another order each time: CPU milliseconds of a run, medians. *apart* is
how far the result is from PyTorch's, in parts of the largest number.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .__main__ import ROOT, SESSIONS, distance, in_rounds, session

BLOCK = 32
MICROSOFT = "com.microsoft"
SIZES = ("512x1024x8x2", "512x1024x32x2", "2048x768x128x8")


def layer(width: int, inside: int, experts: int, chosen: int) -> Any:
    """Return a layer of Qwen 3 with random weights."""
    import torch
    from transformers import Qwen3MoeConfig
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

    torch.manual_seed(0)
    config = Qwen3MoeConfig(
        hidden_size=width,
        moe_intermediate_size=inside,
        num_experts=experts,
        num_experts_per_tok=chosen,
        norm_topk_prob=True,
    )
    config._experts_implementation = "grouped_mm"
    made = Qwen3MoeSparseMoeBlock(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(std=weight.shape[-1] ** -0.5)
    return made


def exported(made: Any, width: int, folder: Path) -> Path:
    """Save the layer for any number of tokens."""
    import torch
    from torch.export import Dim

    with torch.no_grad():
        call = (torch.randn(1, 5, width),)
        program = torch.export.export(made, call, dynamic_shapes=({1: Dim("tokens", max=4096)},))
    torch.export.save(program, folder / "layer.pt2")
    return folder / "layer.pt2"


MATMULNBITS = ("--quantize-form", "matmulnbits", "--accuracy-level")
FORMS: dict[str, tuple[str, ...]] = {
    "f32": (),
    "int8": ("--quantize", "int8", *MATMULNBITS, "4"),
    "int4": ("--quantize", "int4", *MATMULNBITS, "4"),
    "int4, level 1": ("--quantize", "int4", *MATMULNBITS, "1"),
    "int4, dequantize": ("--quantize", "int4", "--opset", "21"),
}


def converted(binary: str, program: Path, form: str, folder: Path) -> Path:
    """Convert the layer to a form, at the level `target`."""
    target = folder / f"{form.replace(', ', '-').replace(' ', '')}.onnx"
    command = [binary, "convert", program, "-o", target, "--no-verify", "--quiet"]
    command += ["--optimize", "target", *FORMS[form]]
    if FORMS[form]:
        # The operators of the runtime leave the router as it is.
        command += ["--quantize-skip", "gate.weight"]
    subprocess.run(command, check=True)
    return target


def codes(weight: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes, two in a byte where they have four bits, and scales in blocks of rows."""
    blocks = weight.reshape(*weight.shape[:-1], -1, BLOCK)
    most = 2 ** (bits - 1)
    scales = np.abs(blocks).max(-1) / (most - 1)
    found = np.clip(np.round(blocks / scales[..., None]), -most, most - 1) + most
    found = found.astype(np.uint8).reshape(weight.shape)
    return found if bits == 8 else found[..., ::2] | (found[..., 1::2] << 4), scales


def written(made: Any, bits: int | None, chosen: int, folder: Path) -> Path:
    """Write `MoE`, or `QMoE` with codes of so many bits, behind the product of the router."""
    up, down, gate = (
        weight.detach().numpy()
        for weight in (made.experts.gate_up_proj, made.experts.down_proj, made.gate.weight)
    )
    experts, double, width = up.shape
    # The operator takes rows of the gate and of the other half in turn.
    up = up.reshape(experts, 2, double // 2, width).swapaxes(1, 2).reshape(up.shape)
    stored = {"gate": gate.T.copy()}
    attributes: dict[str, Any] = {
        "k": chosen,
        "activation_type": "swiglu",
        "swiglu_fusion": 1,
        "activation_alpha": 1.0,
        "activation_beta": 0.0,
        "normalize_routing_weights": 1,
    }
    if bits is None:
        stored |= {"up": up, "down": down}
        operator, inputs = "MoE", ["x", "logits", "up", "", "down"]
    else:
        (stored["up"], stored["up_scale"]) = codes(up, bits)
        (stored["down"], stored["down_scale"]) = codes(down, bits)
        operator = "QMoE"
        inputs = ["x", "logits", "up", "up_scale", "", "down", "down_scale"]
        attributes |= {"expert_weight_bits": bits, "block_size": BLOCK}
    nodes = [
        helper.make_node("MatMul", ["x", "gate"], ["logits"]),
        helper.make_node(operator, inputs, ["y"], domain=MICROSOFT, **attributes),
    ]
    value = helper.make_tensor_value_info
    shape = ["tokens", width]
    graph = helper.make_graph(
        nodes,
        "experts",
        [value("x", TensorProto.FLOAT, shape)],
        [value("y", TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(np.ascontiguousarray(data), name)
            for name, data in stored.items()
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    path = folder / f"{operator}{bits or ''}.onnx"
    onnx.save(model, path, save_as_external_data=True, location=f"{path.name}.data")
    return path


def measured(
    what: str, paths: dict[str, Path], made: Any, width: int, tokens: int, rounds: int
) -> None:
    """Print a row for each model."""
    import torch

    x = np.random.default_rng(tokens).standard_normal((tokens, width)).astype(np.float32)
    with torch.no_grad():
        wanted = made(torch.from_numpy(x)[None]).numpy()
    spent: dict[str, list[float]] = {}
    apart: dict[str, float] = {}
    order, repeat = list(paths), max(1, 32 // tokens)
    for _ in range(SESSIONS):
        order.reverse()
        ready = {name: session(paths[name], 1) for name in order}
        given = {}
        for name, one in ready.items():
            (place,) = one.get_inputs()
            given[name] = {place.name: x if len(place.shape) == 2 else x[None]}
            (found,) = one.run(None, given[name])
            apart[name] = distance([found.reshape(wanted.shape)], [wanted])
        calls = {name: functools.partial(ready[name].run, None, given[name]) for name in order}
        in_rounds(calls, -(-rounds // SESSIONS), repeat, spent)
        del ready, calls
    for name in paths:
        milliseconds = statistics.median(spent[name]) * 1e3
        print(
            f"| {what} | {tokens} | {name} | {milliseconds:.2f} | {apart[name]:.2g} |", flush=True
        )


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.runtime.experts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--onnxport", default=str(ROOT / "target" / "release" / "onnxport"))
    parser.add_argument("--sizes", nargs="*", default=SIZES)
    parser.add_argument("--tokens", type=int, nargs="*", default=[1, 8, 64, 512])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print("| size | tokens | model | ms | apart |\n|---|--:|---|--:|--:|")
    for size in options.sizes:
        width, inside, experts, chosen = (int(number) for number in size.split("x"))
        made = layer(width, inside, experts, chosen)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            program = exported(made, width, folder)
            paths = {form: converted(options.onnxport, program, form, folder) for form in FORMS}
            paths["MoE"] = written(made, None, chosen, folder)
            paths |= {f"QMoE, {bits} bits": written(made, bits, chosen, folder) for bits in (8, 4)}
            for tokens in options.tokens:
                measured(size, paths, made, width, tokens, options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
