"""Write `plugins/aten/schemas.txt`: one operator per line, as PyTorch's dispatcher states it.

The table holds every `aten` overload that an exported program can name (functional, view and
in-place ones, and those that write into `out`), the `prims` operators, and those of quantised
programs and of modules. Kernels that no exporter emits (sparse, nested, vendor libraries,
autograd's own) are left out, and so are overloads with `out` without a functional twin, or that
PyTorch generates.

Facts about operators follow their schemas: those of `plugins/aten/facts.toml` and what pointwise
operators do. At the end stand the decompositions of `plugins/aten/decompositions`.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import facts
import pointwise
import torch
import torch._prims
import torch.ao.quantization.fx._decomposed
import torch.nn.modules.linear_cross_entropy

VENDOR_OR_LAYOUT = re.compile(
    r"foreach|_fused_(?!rms_norm$|moving_avg)|nested|jagged|sparse|mkldnn|miopen|mps|thnn"
    r"|cudnn(?!_batch_norm$)|fbgemm|cslt|cufft|nnpack|triton|dyn_quant|quantized_(lstm|gru|rnn)"
    r"|coalesce|hspmm|sspaddmm|smm$|spdiags|spsolve|(crow|ccol|col|row)_indices|to_padded_tensor"
)
AUTOGRAD_OR_RUNTIME = re.compile(
    r"_(jvp|backward)(_|$)|_backward_(data|input|elemt|reduce|weights|overrideable)|dirichlet"
    r"|^_(test|amp|sobol|autocast|make_(dual|per)|unpack_dual|fw_primal|standard_gamma_grad)"
    r"|^_(foobar|print|has|version|lazy|pin|remove_batch|add_batch|mixed_dtypes|linalg_check)"
    r"|^_(use_|transform_bias|wrapped|saturate|choose|resize_output|fake_quantize_learnable)"
    r"|^_(dim[IV]|indices|values|nnz|debug|masked_scale|validate|propagate_xla|cast_[A-Z])"
    r"|^(set|set_data|record_stream|retains?_grad|from_file|is_pinned)$"
    r"|^(pin_memory|output_nr|is_leaf|data|indices|values|dense_dim|choose_qparams\w*)$"
    r"|^(qscheme|q_\w+|chalf|is_vulkan_available|fake_quantize_\w+_cachemask)$"
)
NEEDED = {
    "_print",
    "_adaptive_avg_pool2d_backward",
    "_log_softmax_backward_data",
    "_prelu_kernel_backward",
    "_softmax_backward_data",
    "avg_pool2d_backward",
    "convolution_backward",
    "embedding_dense_backward",
    "hardtanh_backward",
    "leaky_relu_backward",
    "max_pool2d_with_indices_backward",
    "native_group_norm_backward",
    "native_layer_norm_backward",
    "rrelu_with_noise_backward",
    "sigmoid_backward",
    "select_backward",
    "slice_backward",
    "tanh_backward",
    "threshold_backward",
}
FACTORY = {"dtype", "layout", "device", "pin_memory"}
FACTS = Path(__file__).parents[2] / "plugins/aten/facts.toml"
DECOMPOSITIONS = Path(__file__).parents[2] / "plugins/aten/decompositions"
HEADER = """\
# Operator schemas of PyTorch {version}: one overload per line, sorted, `default` where unnamed.
# Written by `cargo xtask gen` (xtask/gen/aten_schemas.py). Do not edit.
"""


def registered_overloads() -> Iterator[tuple[str, str]]:
    """Yield (`namespace::op`, overload) of every operator known to the dispatcher."""
    for name in torch._C._dispatch_get_all_op_names():
        op, _, overload = name.partition(".")
        if op.startswith(("aten::", "prims::", "quantized_decomposed::", "torch_nn::")):
            yield op, overload


@functools.cache
def decomposed() -> set[str]:
    """Return the `aten` operators that have a decomposition."""
    texts = "".join(path.read_text() for path in sorted(DECOMPOSITIONS.glob("*.txt")))
    return set(re.findall(r"^decomposition aten\.(\w+)\.", texts, re.MULTILINE))


def is_wanted(op: str, schema: torch._C.FunctionSchema) -> bool:
    """Tell whether an exported program can hold this overload."""
    namespace, name = op.split("::")
    if any(argument.is_out for argument in schema.arguments) or "Dimname" in str(schema):
        return False
    if namespace in ("quantized_decomposed", "torch_nn"):
        return namespace == "torch_nn" or not name.startswith("_")
    if namespace == "prims" or name in NEEDED or name in decomposed():
        return True
    return not (VENDOR_OR_LAYOUT.search(name) or AUTOGRAD_OR_RUNTIME.search(name))


def line(op: str, overload: str, schema: torch._C.FunctionSchema) -> dict[str, str]:
    """Return the line of an overload, by its head."""
    text, head = str(schema), f"{op}.{overload or 'default'}"
    return {head: head + text[text.index("(") :] + "\n"}


def twin(schema: torch._C.FunctionSchema, others: list[torch._C.FunctionSchema]) -> str | None:
    """Return the functional overload of `schema`, which has `out` arguments, if any.

    It takes the same arguments; a factory also takes the type that `out` tells.
    """
    kept = [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]
    outs = len(schema.arguments) - len(kept)
    for other in others:
        taken = [(a.name, str(a.type)) for a in other.arguments]
        more = {name for name, _ in taken} - {name for name, _ in kept}
        is_factory = "dtype" in more and more <= FACTORY
        fits = [a for a in taken if a[0] not in more] == kept and (not more or is_factory)
        if fits and len(other.returns) == outs and not other.is_mutable:
            return other.overload_name or "default"
    return None


def table() -> str:
    """Return the sorted table, each head written as `namespace::op.overload`."""
    lines: dict[str, str] = {}
    overloads: dict[str, tuple[str, str]] = {}
    by_op: dict[str, list[torch._C.FunctionSchema]] = {}
    outs = []
    for op, overload in registered_overloads():
        schema = torch._C._get_schema(op, overload)
        if is_wanted(op, schema):
            lines |= line(op, overload, schema)
            overloads[f"{op}.{overload or 'default'}"] = op, overload
            by_op.setdefault(op, []).append(schema)
        elif any(argument.is_out for argument in schema.arguments):
            outs.append((op, overload, schema))
    lines |= facts.schemas(FACTS)
    stated = facts.stated(FACTS, lines, "aten")
    for op, overload, schema in outs:
        target = f"{op.replace('::', '.')}.{{}}"
        packet = getattr(torch.ops.aten, op.removeprefix("aten::"), None)
        tags = getattr(getattr(packet, overload, None), "tags", [torch.Tag.generated])
        plain = twin(schema, by_op.get(op, []))
        if plain and torch.Tag.generated not in tags:
            lines |= line(op, overload, schema)
            stated[f"{op}.{overload}"] = {"twin": f"out({target.format(plain)})"}
    found = {head: pointwise.facts(*names) for head, names in overloads.items()}
    return "".join(
        lines[head] + facts.line(found.get(head, {}) | stated.get(head, {}))
        for head in sorted(lines)
    )


def main() -> None:
    """Write the table to the path given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    version = torch.__version__.split("+")[0]
    text = HEADER.format(version=version) + table() + facts.programs(DECOMPOSITIONS)
    options.output.write_text(text)


if __name__ == "__main__":
    main()
