"""Write TensorRT's table of operators from the list that its ONNX parser publishes.

    python xtask/gen/tensorrt_table.py operators.md core/src/legalise/targets/tensorrt.txt \
        --commit COMMIT --date DATE

`operators.md` is `docs/operators.md` of https://github.com/onnx/onnx-tensorrt at that commit. A
restriction whose words are not below is written as `unsure`: the table says nothing that the list
does not say.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from onnx import defs

REPOSITORY = "https://github.com/onnx/onnx-tensorrt"

TYPES = {
    "FP32": "f32",
    "FP16": "f16",
    "BF16": "bf16",
    "FP8": "f8e4m3fn",
    "INT4": "i4",
    "INT8": "i8",
    "UINT8": "u8",
    "INT32": "i32",
    "INT64": "i64",
    # As the list has it for `ConstantOfShape`.
    "INF64": "i64",
    "BOOL": "bool",
}

# The type variable that the listed types are about, where it is not that of the output or of the
# first input.
VARIABLES = {"ConstantOfShape": "T2", "DequantizeLinear": "T1", "EyeLike": "T2"}

# The types that `Cast` takes, for those that an operator does not: not facts, but what is done
# about them.
POLICY = """\
compute f64 in f32
compute u8 in i32
compute bool in i32
"""

# Restrictions as conditions under which the parser refuses a node. Each has one line for each
# condition; a condition is words of `lacks`.
CONDITIONS = {
    "2D or 3D Pooling only.": ["rank(X)!=4,5"],
    "2D or 3D pooling only.": ["rank(X)!=4,5"],
    "`dilations` must be empty or all ones": ["dilations!=1"],
    "`Indices` output tensor unsupported.": ["Indices"],
    "`axis` must be an initializer": ["!const(axis)"],
    "`axes` must be an initializer": ["!const(axes)"],
    "`axes` must be a constant tensor": ["!const(axes)"],
    "`depth` must be a build-time constant": ["!const(depth)"],
    "`x_zero_point` must be zero": ["value(x_zero_point)!=0"],
    "`y_zero_point` must be 0": ["value(y_zero_point)!=0"],
    "Input must be 4D input.": ["rank(X)!=4"],
    "`input` must have static dimensions": ["!static(input)"],
    "Only the first output `Y` is supported.": ["Mean", "InvStdDev", "InvStdVar"],
    "`reduction` is not supported": ["reduction!=none"],
    "`sorted` must be 1.": ["sorted!=1"],
    "`K` input must be less than 3840.": ["value(K)>=3840"],
    "`input_forget` attribute must be 0.": ["input_forget!=0"],
    "`layout` attribute must be 0.": ["layout!=0"],
    "`input` must have 1D or 2D spatial dimensions.": ["rank(X)!=3,4"],
    "Antialiasing is not supported.": ["antialias!=0"],
    "Supported aspect ratio policy: `stretch`.": ["keep_aspect_ratio_policy!=stretch"],
    "Supported resize modes: `nearest`, `linear`.": ["mode!=nearest,linear"],
    "Supported nearest modes: `floor`, `ceil`, `round_prefer_floor`, `round_prefer_ceil`.": [
        "mode=nearest nearest_mode!=floor,ceil,round_prefer_floor,round_prefer_ceil"
    ],
    "Supported resize transformation modes: `half_pixel`, `pytorch_half_pixel`, "
    "`tf_half_pixel_for_nn`, `asymmetric`, and `align_corners`.": [
        "coordinate_transformation_mode!="
        "half_pixel,pytorch_half_pixel,tf_half_pixel_for_nn,asymmetric,align_corners"
    ],
    "`sparse_value`, `value_string`, and `value_strings` attributes are unsupported.": [
        "sparse_value",
        "value_string",
        "value_strings",
    ],
}

# Restrictions about some nodes only: the words of `unsure`.
OPEN = {
    "`seed` value is ignored by TensorRT": "seed",
    "When `scales` is a tensor input, `axes` must be an iota vector of length rank(input).": (
        "scales axes"
    ),
    "`is_traning` must be an initializer and evaluate to False.": "training_mode",
}
BIDIRECTIONAL = "For bidirectional "


def rows(text: str) -> Iterator[tuple[str, bool, list[str], str]]:
    """Yield each operator of the list: whether it is supported, its types, and the restrictions."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 2 or not cells[1].startswith(("Y", "N")) or not cells[0].isalnum():
            continue
        types = re.split(r",\s*", cells[2].strip(", ")) if len(cells) > 2 and cells[2] else []
        yield cells[0], cells[1][0] == "Y", types, cells[3] if len(cells) > 3 else ""


def sentences(restriction: str) -> list[str]:
    """Return the parts of a cell that restrict separately."""
    text = restriction.replace("<br />", " ").strip()
    if text in CONDITIONS or text in OPEN or text.startswith(BIDIRECTIONAL):
        split = re.split(r"(?<=reverse pass)\.? +", text)
        first, rest = split[0], " ".join(split[1:])
        return [first, *sentences(rest)] if rest else [first]
    return [part.strip() for part in re.split(r"(?<=\.) +(?=[`A-Z2])", text) if part.strip()]


def variable(name: str, opset: int) -> str | None:
    """Return the type variable that the listed types are about."""
    if name in VARIABLES:
        return VARIABLES[name]
    schema = defs.get_schema(name, opset)
    inputs = [formal.type_str for formal in schema.inputs]
    outputs = [formal.type_str for formal in schema.outputs]
    variables = {constraint.type_param_str for constraint in schema.type_constraints}
    first = [
        v for v in (*outputs[:1], *inputs[:1]) if v in variables and (v in inputs or not inputs)
    ]
    return first[0] if first else next((v for v in inputs if v in variables), None)


def operator(name: str, types: list[str], restriction: str, opset: int) -> Iterator[str]:
    """Yield the lines about a supported operator."""
    words = ",".join(sorted({TYPES[t] for t in types}))
    about = variable(name, opset)
    if name == "Cast":
        yield f"kernel Cast 1-{opset} T1={words} T2={words}"
    else:
        yield (
            f"kernel {name} 1-{opset} {about}={words}"
            if about and words
            else (f"kernel {name} 1-{opset} any")
        )
    schema = defs.get_schema(name, opset)
    known = {x.name for x in (*schema.inputs, *schema.outputs)} | set(schema.attributes)
    for sentence in sentences(restriction):
        conditions = CONDITIONS.get(sentence)
        reason = f": {sentence.rstrip('.')}"
        if sentence.startswith(BIDIRECTIONAL):
            yield f"unsure {name} 1-{opset} direction=bidirectional {reason}"
        elif sentence in OPEN:
            yield f"unsure {name} 1-{opset} {OPEN[sentence]} {reason}"
        elif conditions:
            for condition in conditions:
                for left in re.findall(r"\((\w+)\)|(?:^| )(\w+)(?=!=|=|$)", condition):
                    named = left[0] or left[1]
                    if named not in known and len(conditions) == 1:
                        raise SystemExit(f"{name} has no `{named}`")
                if not re.fullmatch(r"\w+", condition) or condition in known:
                    yield f"lacks {name} 1-{opset} {condition} {reason}"
        else:
            yield f"unsure {name} 1-{opset} {reason}"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--date", required=True)
    options = parser.parse_args()
    text = options.list.read_text()
    found = re.search(
        r"TensorRT ([\d.]+) supports operators in the inclusive range of opset (\d+) to "
        r"opset (\d+)",
        text,
    )
    if found is None:
        raise SystemExit("the list does not state its opsets")
    version, first, last = found[1], int(found[2]), int(found[3])
    lines = [
        "# @generated by xtask/gen/tensorrt_table.py. Do not edit.",
        "target tensorrt",
        f"version {version}",
        f"source {REPOSITORY}/blob/{options.commit}/docs/operators.md",
        f"date {options.date}",
        f"opset {first}-{last}",
        "partial",
        *POLICY.splitlines(),
    ]
    names = {s.name for s in defs.get_all_schemas_with_history() if not s.domain}
    for name, supported, types, restriction in rows(text):
        if name not in names:
            continue
        try:
            defs.get_schema(name, last)
        except defs.SchemaError:
            continue
        if supported:
            lines.extend(operator(name, types, restriction, last))
        else:
            lines.append(f"lacks {name} 1-{last} : not supported")
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
