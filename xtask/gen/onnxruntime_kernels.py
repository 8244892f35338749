"""Write the kernels of ONNX Runtime's CPU provider, as the library reports them.

Kernels state their types, and run to show that they take them (`onnxruntime_probe.py`). What they
do not say is asked by making sessions of one node: which types the runtime casts by itself, and
which operators it takes apart because ONNX defines them as functions of others. What kernels are
listed for and do not do shows when such a model runs.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import onnxruntime_probe
from onnx import TensorProto, defs, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

TYPES = {
    "bool": TensorProto.BOOL,
    "bfloat16": TensorProto.BFLOAT16,
    "double": TensorProto.DOUBLE,
    "float": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "string": TensorProto.STRING,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "uint8": TensorProto.UINT8,
}
WIDTHS = (2, 4, 8, 16, 32, 64)
NAMES = {
    "bfloat16": "bf16",
    "double": "f64",
    "float": "f32",
    "float16": "f16",
    "complex64": "c64",
    "complex128": "c128",
    "float8e4m3fn": "f8e4m3fn",
    "float8e4m3fnuz": "f8e4m3fnuz",
    "float8e5m2": "f8e5m2",
    "float8e5m2fnuz": "f8e5m2fnuz",
    "float8e8m0": "f8e8m0",
    "float4e2m1": "f4e2m1",
}
NAMES |= {"float32": "f32", "float64": "f64"}
NAMES |= {
    f"{long}{n}": f"{short}{n}" for n in WIDTHS for long, short in (("int", "i"), ("uint", "u"))
}
FIRST = 18
NUMBERS = ("bfloat16", "float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64")
NUMBERS += ("uint8", "uint16", "uint32", "uint64")

# Not facts, but policy: the types in which an operator is computed where there is
# no kernel for its own.
POLICY = """\
compute f64 in f32
compute i8 in i32
compute i8 in i64
compute u8 in i32
compute u8 in i64
compute i16 in i32
compute i16 in i64
compute u16 in i32
compute u16 in i64
compute i32 in i64
compute u32 in i64
compute bool in u8
compute bool in i64
"""


def element(name: str) -> str | None:
    """Return `f32` for `tensor(float)`, and nothing if it is not a tensor."""
    if not name.startswith("tensor("):
        return None
    name = bare(name)
    return NAMES.get(name, name)


def bare(name: str) -> str:
    """Return `float` for `tensor(float)`."""
    return name[len("tensor(") : -1]


def attributes(schema: defs.OpSchema) -> dict:
    """Return some value for each attribute that must be given."""
    values = {"INT": 1, "FLOAT": 1.0, "STRING": "", "INTS": [1, 1], "FLOATS": [1.0]}
    required = (a for a in schema.attributes.values() if a.required)
    return {a.name: values.get(a.type.name, 1) for a in required}


class Question:
    """Whether an operator is taken when its first type variable is a certain type."""

    def __init__(self, schema: defs.OpSchema, opset: int, variable: str, element_type: int) -> None:
        self.schema, self.opset = schema, opset
        self.variable, self.element_type = variable, element_type

    def typed(self, formal: defs.OpSchema.FormalParameter) -> int:
        """Return the type of an input or output; 0 if it is not a tensor."""
        constraints = self.schema.type_constraints
        found = next((c for c in constraints if c.type_param_str == formal.type_str), None)
        if found is None:
            return TYPES.get(bare(formal.type_str), 0)
        if found.type_param_str == self.variable:
            return self.element_type
        allowed = list(found.allowed_type_strs)
        preferred = ["tensor(float)", "tensor(int64)", "tensor(bool)"]
        return TYPES.get(bare(next((t for t in preferred if t in allowed), allowed[0])), 0)

    def session(self, count: int) -> bool | None:
        """Return whether a session of one node with `count` inputs can be made.

        Nothing where it fails for another reason than a missing kernel.
        """
        inputs = [self.typed(formal) for formal in self.schema.inputs][:count]
        outputs = [self.typed(formal) for formal in self.schema.outputs]
        outputs = outputs[: max(self.schema.min_output, 1)]
        if 0 in inputs or 0 in outputs or len(inputs) < count:
            return None
        ins = [helper.make_tensor_value_info(f"i{k}", t, None) for k, t in enumerate(inputs)]
        outs = [helper.make_tensor_value_info(f"o{k}", t, None) for k, t in enumerate(outputs)]
        names = [v.name for v in ins], [v.name for v in outs]
        node = helper.make_node(self.schema.name, *names, **attributes(self.schema))
        opsets = [helper.make_opsetid("", self.opset)]
        graph = helper.make_graph([node], "g", ins, outs)
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        try:
            providers = ["CPUExecutionProvider"]
            onnxruntime.InferenceSession(model.SerializeToString(), providers=providers)
        except state.NotImplemented:
            return False
        except Exception:  # it says nothing about kernels
            return None
        return True

    def answer(self) -> bool | None:
        """Return whether it is taken with the fewest inputs and with all of them."""
        schema = self.schema
        answers = {self.session(count) for count in (schema.min_input, len(schema.inputs))}
        if False in answers:
            return False
        return True if True in answers else None


def newest_opset() -> int:
    """Return the newest opset that the runtime takes."""
    for opset in range(defs.onnx_opset_version(), FIRST, -1):
        if Question(defs.get_schema("Identity", opset), opset, "V", TensorProto.FLOAT).answer():
            return opset
    message = "no opset is taken"
    raise SystemExit(message)


def kernels(newest: int) -> Iterator[str]:
    """Yield a line for each set of types that is taken together."""
    lines = defaultdict(set)
    for kernel in state.get_all_opkernel_def():
        first, last = kernel.version_range
        # A kernel without an end is one of the version that it states only.
        versions = f"{first}-{last}" if first != last < 2**31 - 1 else f"{first}"
        types = []
        for variable, allowed in sorted(kernel.type_constraints.items()):
            known = sorted({element(t) for t in allowed} - {None})
            if known:
                types.append((variable, tuple(known)))
        name = f"{kernel.domain}::{kernel.op_name}" if kernel.domain else kernel.op_name
        lines[name, first, versions].add(tuple(types))
    for (name, first, versions), registered in sorted(lines.items()):
        last = int(versions.rpartition("-")[2])
        found = running(name, (first, last), sorted(registered), newest)
        # Kernels that differ in one variable only are one line.
        single = {form[0][0] for form in found if len(form) == 1}
        forms = found
        if len(single) == 1 and all(len(form) == 1 for form in found):
            union = tuple(sorted({t for form in found for t in form[0][1]}))
            forms = {((single.pop(), union),)}
        for form in sorted(forms):
            stated = (f"{variable}={','.join(types)}" for variable, types in form)
            yield " ".join(["kernel", name, versions, *stated])


def running(name: str, versions: tuple[int, int], rows: list, newest: int) -> set:
    """Return the rows without the types of which the kernel throws when it runs."""
    codes = {NAMES.get(name, name): code for name, code in TYPES.items()}
    asked = [[(v, [codes[t] for t in types if t in codes]) for v, types in row] for row in rows]
    asked = [[(v, types) for v, types in row if types] for row in asked]
    names = {code: name for name, code in codes.items()}
    thrown = onnxruntime_probe.throwing(name, versions, asked, newest)
    left = set()
    for at, row in enumerate(rows):
        fails = {(v, names[t]): alike for (row, v, t), alike in thrown.items() if row == at}
        kept = tuple((v, tuple(t for t in types if (v, t) not in fails)) for v, types in row)
        if all(types for _, types in kept):
            left.add(kept)
        for only in {t for (_, t), alike in fails.items() if alike}:
            left.add(tuple((v, (only,) if only in types else types) for v, types in row))
    return left


def ranges(opsets: Iterable[int]) -> Iterator[str]:
    """Yield `18-20` for 18, 19, 20."""
    for _, group in groupby(enumerate(opsets), lambda pair: pair[1] - pair[0]):
        run = [opset for _, opset in group]
        yield f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}"


def expansions(newest: int) -> Iterator[str]:
    """Yield a line for each range of opsets of the model in which an operator is taken apart."""
    for name in sorted({s.name for s in defs.get_all_schemas_with_history() if s.domain == ""}):
        found = defaultdict(list)
        for opset in range(FIRST, newest + 1):
            try:
                schema = defs.get_schema(name, opset)
            except defs.SchemaError:
                continue
            function = schema.has_function or schema.has_context_dependent_function
            if schema.deprecated or not function or not schema.type_constraints:
                continue
            constraint = schema.type_constraints[0]
            variable = constraint.type_param_str
            allowed = sorted({bare(t) for t in constraint.allowed_type_strs} & TYPES.keys())
            asked = {t: Question(schema, opset, variable, TYPES[t]).answer() for t in allowed}
            if all(answer is None for answer in asked.values()):
                found["any"].append(opset)
                continue
            taken = sorted(NAMES.get(t, t) for t, answer in asked.items() if answer)
            if taken:
                found[f"{variable}={','.join(taken)}"].append(opset)
        for types, opsets in sorted(found.items(), key=lambda item: item[1]):
            for run in ranges(opsets):
                yield f"expand {name} {run} {types}"


def computed(op: str, opset: int, inputs: list[np.ndarray], **attributes: object) -> object:
    """Return the result of a node, and nothing where it fails when it runs."""
    names = [f"i{k}" for k in range(len(inputs))]
    constants = [numpy_helper.from_array(x, name) for x, name in zip(inputs, names, strict=True)]
    node = helper.make_node(op, names, ["o"], **attributes)
    output = helper.make_tensor_value_info("o", constants[0].data_type, None)
    graph = helper.make_graph([node], "g", [], [output], initializer=constants)
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return session.run_with_ort_values(None, {})[0]
    except Exception:  # whatever the reason
        return None


def dropped() -> bool:
    """Return whether a `Dropout` in training mode drops something though its mask is not read."""
    constants = {"ratio": np.array(0.5, np.float32), "train": np.array(True)}
    nodes = [
        helper.make_node("Exp", ["i"], ["e"]),
        helper.make_node("Dropout", ["e", *constants], ["d"]),
        helper.make_node("Neg", ["d"], ["o"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [99]) for name in "io"]
    initializers = [numpy_helper.from_array(x, name) for name, x in constants.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], initializer=initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return 0 in session.run(None, {"i": np.ones(99, np.float32)})[0]


def gaps(newest: int) -> Iterator[str]:
    """Yield listed kernels that fail or are wrong when they run."""
    numbers = {NAMES.get(t, t): np.dtype(getattr(ml_dtypes, t, None) or t) for t in NUMBERS}
    for op in ("ScatterElements", "ScatterND"):
        index = np.array([0, 0, 1])[(...,) if op == "ScatterElements" else (..., None)]
        failing = defaultdict(list)
        for reduction in ("add", "mul", "max", "min"):
            for name, dtype in sorted(numbers.items()):
                data = np.ones(3).astype(dtype)
                if computed(op, 18, [data, index, data], reduction=reduction) is None:
                    failing[reduction].append(name)
        for types, group in groupby(failing.items(), lambda item: item[1]):
            reductions = ",".join(reduction for reduction, _ in group)
            yield f"lacks {op} 18 T={','.join(types)} reduction={reductions}"
    wrong = []
    for name in ("i64", "u64"):
        most = np.iinfo(numbers[name]).max
        pair = [np.array([n], numbers[name]) for n in (most - 1, 10)]
        result = computed("Mod", 13, pair, fmod=1)
        if result is None or int(result.numpy()[0]) != (int(most) - 1) % 10:
            wrong.append(name)
    if wrong:
        yield f"lacks Mod 13 T={','.join(wrong)} fmod=1"
    # The kernel takes another element for the largest one than NaN and infinity.
    result = computed("LogSoftmax", 13, [np.array([1, np.nan, 2])])
    if result is None or not np.isnan(result.numpy()).all():
        yield "lacks LogSoftmax 13 T=f64"
    if not dropped():
        yield "lacks Dropout 13 training_mode !mask"
        yield "lacks Dropout 22 training_mode !mask"
    row = np.ones((1, 1, 3), np.float32)
    window = {"dilations": [3], "strides": [2], "output_padding": [2], "pads": [0, 0]}
    for version in (11, 22):
        opset = min(max(version, FIRST), newest)
        if computed("ConvTranspose", opset, [row, row], **window) is None:
            yield f"lacks ConvTranspose {version} output_padding>=strides"


def itself() -> Iterator[str]:
    """Yield the types that the runtime casts by itself."""
    schema = defs.get_schema("Sin", 22)
    for name in ("float16", "bfloat16"):
        if Question(schema, 22, "T", TYPES[name]).answer():
            yield f"itself {NAMES[name]} in f32"


def main() -> None:
    """Write the table to the file that the first argument names."""
    onnxruntime.set_default_logger_severity(4)
    newest = newest_opset()
    lines = [
        "# @generated by `cargo xtask gen` (xtask/gen/onnxruntime_kernels.py)",
        f"# from onnxruntime {onnxruntime.__version__} and onnx {onnx.__version__}. Do not edit.",
        "target onnxruntime",
        f"version {onnxruntime.__version__}",
        "provider CPUExecutionProvider",
        f"opset {newest}",
        *itself(),
        "leave bf16",
        *POLICY.splitlines(),
        *kernels(newest),
        *gaps(newest),
        *expansions(newest),
    ]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
