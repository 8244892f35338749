"""Write the table of a runtime whose published list has operators and remarks, but no types.

    python xtask/gen/listed_table.py coreml coreml_supported_mlprogram_ops.md OUTPUT \
        --version 1.25.0 --source URL --date DATE

- `coreml`: `tools/ci_build/github/apple/coreml_supported_mlprogram_ops.md` of
  https://github.com/microsoft/onnxruntime, under the MIT license.
- `litert`: `README.md` of https://github.com/PINTO0309/onnx2tf, which converts ONNX to LiteRT's
  format, under the MIT license.
- `rknn`: `doc/RKNNToolKit2_OP_Support-VERSION.md` of https://github.com/airockchip/rknn-toolkit2.
  Its license is for internal use, so onnxport has no such table: write one for yourself, and name
  the file as the target.

An operator of the list runs with 32-bit floats, or with the only type that it has. The list does
not decide other types, and a remark whose words are not below is written as `unsure`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onnx import defs
from onnxruntime_kernels import element
from tensorrt_table import variable

POOL = "Only 2D Pool is supported currently. 3D and 5D support can be added if needed."
# Remarks as conditions under which the runtime refuses a node.
CONDITIONS = {
    POOL: ["rank(X)!=4"],
    "Only 1D/2D Conv is supported.": ["rank(X)!=3,4"],
    "Bias if provided must be constant.": ["!const(B)"],
    "Weight and bias must be constant.": ["!const(W)", "!const(B)"],
    "padding_type of SAME_UPPER/SAME_LOWER is not supported.": ["auto_pad=SAME_UPPER,SAME_LOWER"],
    "output_shape is not supported.": ["output_shape"],
    "output_padding must have default values.": ["output_padding!=0"],
    "If 'mode' is 'CRD' the input must have a fixed shape.": ["mode=CRD !static(input)"],
    "Input B must be constant.": ["!const(B)"],
    "4D input.": ["rank(X)!=4"],
    "starts/ends/axes/steps must be constant initializers.": [
        "!const(starts)",
        "!const(ends)",
        "!const(axes)",
        "!const(steps)",
    ],
    "If provided, `splits` must be constant.": ["!const(split)"],
}
# Remarks about some nodes only: the words of `unsure`.
OPEN = {
    "kernel_shape must have default values.": "kernel_shape",
    "Only supports cases when both inputs are fp32.": "T1=f16,f64,i32,i64",
}
# Remarks that restrict no node: `MatMul` has no such attributes.
NOTHING = {"Only support for transA == 0, alpha == 1.0 and beta == 1.0 is currently implemented."}
# Operators under another name than ONNX's.
ALIASES = {"Argmax": "ArgMax", "Prelu": "PRelu"}


@dataclass
class Listed:
    """An operator of a list."""

    name: str
    # Whether it runs: yes, no, or for some nodes.
    runs: bool | None
    remarks: list[str]


def coreml(text: str) -> Iterator[Listed]:
    """Yield the operators of the CoreML provider."""
    for name, remarks in re.findall(r"^\|ai\.onnx:(\w+)\|(.*)\|$", text, re.M):
        yield Listed(name, True, [part for part in remarks.split("<br/>") if part])


def litert(text: str) -> Iterator[Listed]:
    """Yield the operators of onnx2tf."""
    states = {":heavy_check_mark:": True, ":white_check_mark:": None, "**Help wanted**": False}
    for name, state in re.findall(r"^\s*\|(\w+)\|([^|]+)\|$", text, re.M):
        if state in states:
            remarks = ["The list calls the support partial."] if states[state] is None else []
            yield Listed(name, states[state], remarks)


def rknn(text: str) -> Iterator[Listed]:
    """Yield the operators of RKNN."""
    table = text.partition("## ONNX OPs")[2].partition("\n## ")[0]
    for name, remark in re.findall(r"^\|\s*(\w+)\s*\|([^|]*)\|$", table, re.M):
        remark = remark.strip()
        runs = remark != "Not Supported"
        yield Listed(name, runs, [remark] if remark and runs else [])


# Each list, its newest opset, the runtime that runs the nodes which it does not have, and its
# authors.
LISTS = {
    "coreml": (
        coreml,
        25,
        "onnxruntime-cpu",
        "the documentation of ONNX Runtime, (c) Microsoft Corporation, MIT license",
    ),
    "litert": (litert, 25, None, "onnx2tf, (c) Katsuya Hyodo, MIT license"),
    "rknn": (rknn, 19, None, "the documentation of RKNN, (c) Rockchip, for internal use"),
}


def lines(listed: Listed, newest: int) -> Iterator[str]:
    """Yield the lines about an operator."""
    name = ALIASES.get(listed.name, listed.name)
    try:
        schema = defs.get_schema(name, newest)
    except defs.SchemaError:
        return
    if listed.runs is False:
        yield f"lacks {name} 1-{newest} : not supported"
        return
    about = variable(name, newest)
    constraint = next((c for c in schema.type_constraints if c.type_param_str == about), None)
    allowed = {element(t) for t in constraint.allowed_type_strs} - {None} if constraint else set()
    allowed = {t for t in allowed if not t.startswith("float6")}
    yield f"kernel {name} 1-{newest} " + (
        f"{about}={','.join(sorted(allowed))}" if allowed else "any"
    )
    # A single type is not a question.
    rest = sorted(allowed - {"f32"}) if "f32" in allowed or len(allowed) > 1 else []
    if rest:
        yield f"unsure {name} 1-{newest} {about}={','.join(rest)} : the list does not state types"
    known = {x.name for x in (*schema.inputs, *schema.outputs)} | set(schema.attributes)
    for remark in listed.remarks:
        reason = f": {remark.rstrip('.')}"
        if remark in CONDITIONS:
            for condition in CONDITIONS[remark]:
                for left in re.findall(r"\((\w+)\)|(?:^| )(\w+)(?=!=|=|$)", condition):
                    if (left[0] or left[1]) not in known:
                        raise SystemExit(f"{name} has no `{left[0] or left[1]}`")
                yield f"lacks {name} 1-{newest} {condition} {reason}"
        elif remark not in NOTHING:
            yield " ".join(filter(None, ["unsure", name, f"1-{newest}", OPEN.get(remark), reason]))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=LISTS)
    parser.add_argument("list", type=Path)
    parser.add_argument("output", type=Path)
    for name in ("version", "source", "date"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    read, newest, fallback, credit = LISTS[options.target]
    table = [
        "# @generated by xtask/gen/listed_table.py. Do not edit.",
        f"# From {credit}.",
        f"target {options.target}",
        f"version {options.version}",
        f"source {options.source}",
        f"date {options.date}",
        f"opset 1-{newest}",
        "partial",
    ]
    if fallback:
        table.append(f"fallback {fallback}")
    for listed in sorted(read(options.list.read_text()), key=lambda listed: listed.name):
        table.extend(lines(listed, newest))
    options.output.write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
