"""Ask OpenVINO which nodes it compiles and runs.

The nodes are those of the node tests of the `onnx` package, at each version of their operators that
accepts them. Inputs are inputs of the model; where the runtime refuses that, it is asked again with
constants. The inputs that share a type variable are cast to each type that ONNX allows.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection

import numpy as np
import onnx
import openvino
from onnx import ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper
from onnxruntime_kernels import NAMES, TYPES
from onnxruntime_probe import OPAQUE, Case, opset_of
from onnxruntime_probe import cases as node_tests

# Tests of an operator with which a type is tried.
TRIED = 2
# Tests of an operator that are tried with dynamic dimensions.
DYNAMIC = 4
# Versions of operators that models of older opsets have are not asked about.
FIRST = 13
# A question takes this many seconds at most.
PATIENCE = 10
BARE = {"FLOAT": "float", "DOUBLE": "double"}
CODES = {NAMES.get(name, name): code for name, code in TYPES.items() if code not in OPAQUE}
# Every type by its short name.
SHORT = {
    code: NAMES.get(name.lower(), NAMES.get(BARE.get(name, ""), name.lower()))
    for name, code in TensorProto.DataType.items()
}


# Nodes of operators without a node test of one node.
FURTHER = (
    "g () => (float[2, 3] y) { y = RandomNormal <shape = [2, 3]> () }",
    "g () => (float[2, 3] y) { y = RandomUniform <shape = [2, 3]> () }",
    "g (float[2, 3] x) => (float[2, 3] y) { y = RandomNormalLike (x) }",
    "g (float[2, 3] x) => (float[2, 3] y) { y = RandomUniformLike (x) }",
    "g (float[2, 3] x) => (int32[2, 4] y) { y = Multinomial <sample_size = 4> (x) }",
    "g (float[1, 2, 4, 4] x) => (float[1, 2, 1, 1] y) { y = GlobalLpPool (x) }",
    "g (float[1, 1, 4, 4] x, float[1, 5] r) => (float[1, 1, 2, 2] y)"
    " { y = MaxRoiPool <pooled_shape = [2, 2]> (x, r) }",
    "g (bool c) => (float[2] y) { y = If (c) <"
    "then_branch = t () => (float[2] a) { a = Constant <value_floats = [1.0, 2.0]> () },"
    "else_branch = e () => (float[2] b) { b = Constant <value_floats = [3.0, 4.0]> () }> }",
    "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop (n, c, x) <"
    "body = b (int64 i, bool d, float[2] a) => (bool e, float[2] z)"
    " { e = Identity (d) z = Add (a, a) }> }",
    "g (float[2] x, float[3, 2] s) => (float[2] y, float[3, 2] z) { y, z = Scan (x, s) <"
    "num_scan_inputs = 1, body = b (float[2] a, float[2] c) => (float[2] d, float[2] e)"
    " { d = Add (a, c) e = Identity (d) }> }",
)


@cache
def cases() -> dict[str, list[Case]]:
    """Return the node tests by operator, and the further nodes."""
    found = dict(node_tests())
    for text in FURTHER:
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {FIRST}]> {text}')
        inputs = []
        for declared in model.graph.input:
            tensor = declared.type.tensor_type
            kind = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            shape = [d.dim_value for d in tensor.shape.dim]
            inputs.append(numpy_helper.from_array(np.ones(shape, kind), declared.name))
        found.setdefault(model.graph.node[0].op_type, []).append(Case(model, inputs))
    return found


@dataclass
class Question:
    """A node, the types of its variables, and the inputs that are constants."""

    case: Case
    opset: int
    types: dict[str, int] = field(default_factory=dict)
    constants: frozenset[int] = frozenset()
    # The input and its axis whose size is dynamic.
    moving: tuple[int, int] | None = None

    @property
    def schema(self) -> defs.OpSchema:
        """The signature of the operator."""
        return defs.get_schema(self.case.node.op_type, self.opset)

    def model(self) -> ModelProto | None:
        """Return the model of the node; nothing where ONNX does not allow it."""
        node = NodeProto()
        node.CopyFrom(self.case.node)
        formals = self.schema.inputs
        if not formals and node.input:
            return None
        inputs, initializers = [], []
        for index, name in enumerate(node.input):
            if not name:
                continue
            tensor = self.case.inputs[name]
            to = self.types.get(formals[min(index, len(formals) - 1)].type_str, tensor.data_type)
            if to != tensor.data_type:
                if tensor.data_type in OPAQUE:
                    return None
                kind = helper.tensor_dtype_to_np_dtype(to)
                tensor = numpy_helper.from_array(numpy_helper.to_array(tensor).astype(kind), name)
            shape = list(tensor.dims)
            if self.moving and self.moving[0] == index:
                shape[self.moving[1]] = "n"
            if index in self.constants:
                initializers.append(tensor)
            else:
                inputs.append(helper.make_tensor_value_info(name, to, shape))
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and self.types.get("=") is not None:
                attribute.i = self.types["="]
        outputs = [self.output(index, name) for index, name in enumerate(node.output) if name]
        graph = helper.make_graph([node], "g", inputs, outputs, initializer=initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        try:
            inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
            onnx.checker.check_model(inferred)
        except Exception:  # it is not ONNX
            return None
        return inferred

    def output(self, index: int, name: str) -> onnx.ValueInfoProto:
        """Return the declaration of an output of any sizes, as the test has it otherwise."""
        formals = self.schema.outputs
        own = next((o for o in self.case.outputs if o.name == name), None)
        if own is None or not own.type.HasField("tensor_type"):
            return onnx.ValueInfoProto(name=name)
        variable = formals[min(index, len(formals) - 1)].type_str
        shared = {formal.type_str for formal in self.schema.inputs}
        chosen = self.types.get(variable if variable in shared else "=")
        kind = chosen or own.type.tensor_type.elem_type
        rank = len(own.type.tensor_type.shape.dim)
        return helper.make_tensor_value_info(name, kind, [f"{name}_{k}" for k in range(rank)])

    def record(self, answer: str) -> dict:
        """Return the requests and answers."""
        node, schema = self.case.node, self.schema
        formals = schema.inputs
        given, types = [], {}
        for index, name in enumerate(node.input):
            if not name:
                continue
            formal = formals[min(index, len(formals) - 1)]
            own = self.case.inputs[name].data_type
            types[formal.type_str] = SHORT.get(self.types.get(formal.type_str, own), "?")
            rank = len(self.case.inputs[name].dims)
            given.append((formal.name, rank, index in self.constants))
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if self.types.get("=") is not None:
            types["="] = SHORT[self.types["="]]
        elif own := next((attributes[n] for n in ("to", "dtype") if n in attributes), None):
            types["="] = SHORT.get(own, "?")
        for a in schema.attributes.values():
            if a.name not in attributes and a.default_value.ByteSize():
                attributes[a.name] = helper.get_attribute_value(a.default_value)
        return {
            "op": node.op_type,
            "version": schema.since_version,
            "opset": self.opset,
            "types": types,
            "attributes": {k: plain(v) for k, v in attributes.items()},
            "stated": [a.name for a in node.attribute],
            "inputs": given,
            "outputs": [bool(name) for name in node.output],
            "moving": self.moving,
            "answer": answer,
        }


def plain(value: object) -> object:
    """Return an attribute's value as JSON has it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    try:
        return [plain(v) for v in list(value)]
    except TypeError:
        return type(value).__name__


def outcome(core: openvino.Core, model: ModelProto) -> str:
    """Return an empty text where the runtime compiles the model, else the reason."""
    try:
        core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    except Exception as error:  # whatever the reason
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return " | ".join(lines)[-300:] or type(error).__name__
    return ""


def serve(end: Connection) -> None:
    """Answer questions: the runtime may end the process."""
    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1})
    while True:
        model = ModelProto()
        model.ParseFromString(end.recv_bytes())
        end.send(outcome(core, model))


class Prober:
    """A process that compiles models, and another one when it ends."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("fork")
        self.end, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def ask(self, model: ModelProto) -> str:
        """Return the outcome of a model."""
        try:
            self.end.send_bytes(model.SerializeToString())
            if self.end.poll(PATIENCE):
                return self.end.recv()
        except (EOFError, OSError):
            pass
        self.process.kill()
        self.start()
        return "the process ended"


prober = cache(Prober)


def ask(question: Question) -> dict | None:
    """Return the record of a question; nothing where ONNX does not allow it."""
    model = question.model()
    return question.record(prober().ask(model)) if model else None


def needed(case: Case, opset: int) -> tuple[frozenset[int], list[dict]]:
    """Return the inputs that must be constants, and the records of the requests."""
    count = len(case.node.input)
    records = [ask(Question(case, opset))]
    if records[0] is None or not records[0]["answer"] or count < 2:
        return frozenset(), [r for r in records if r]
    constants = frozenset(range(1, count))
    everything = ask(Question(case, opset, constants=constants))
    if everything is None or everything["answer"]:
        return frozenset(), [records[0]]
    for index in range(1, count):
        fewer = constants - {index}
        found = ask(Question(case, opset, constants=fewer))
        if found and not found["answer"]:
            constants, everything = fewer, found
    return constants, [records[0], everything]


def kinds(schema: defs.OpSchema, case: Case) -> Iterator[tuple[str, int]]:
    """Yield each type variable of an input with each type, and those that an attribute chooses."""
    shared = {formal.type_str for formal in schema.inputs}
    for constraint in schema.type_constraints:
        allowed = constraint.allowed_type_strs
        bare = (t.removeprefix("tensor(").removesuffix(")") for t in allowed)
        codes = [CODES[NAMES.get(b, b)] for b in bare if NAMES.get(b, b) in CODES]
        chosen = any(a.name in ("to", "dtype") for a in case.node.attribute)
        if constraint.type_param_str in shared:
            yield from ((constraint.type_param_str, code) for code in codes)
        elif chosen:
            yield from (("=", code) for code in codes)


def moving(case: Case, opset: int, constants: frozenset[int]) -> Iterator[dict]:
    """Yield a record for each axis of each input, with a dynamic size."""
    for index, name in enumerate(case.node.input):
        if not name or index in constants:
            continue
        for axis in range(len(case.inputs[name].dims)):
            found = ask(Question(case, opset, {}, constants, (index, axis)))
            if found:
                yield found


def probe(op: str, newest: int) -> Iterator[dict]:
    """Yield a record for each question about an operator."""
    history = {
        s.since_version
        for s in defs.get_all_schemas_with_history()
        if s.name == op and not s.domain
    }
    for version in sorted(history):
        opset = opset_of(op, version, newest)
        if not opset or opset < FIRST or defs.get_schema(op, opset).deprecated:
            continue
        plain_cases = []
        for case in cases().get(op, []):
            constants, records = needed(case, opset)
            yield from records
            if records and not records[-1]["answer"]:
                plain_cases.append((case, constants))
                if len(plain_cases) <= DYNAMIC:
                    yield from moving(case, opset, constants)
        asked: dict[tuple[str, int], int] = {}
        for case, constants in plain_cases:
            for variable, code in kinds(defs.get_schema(op, opset), case):
                if asked.get((variable, code), 0) >= TRIED:
                    continue
                found = ask(Question(case, opset, {variable: code}, constants))
                if found:
                    asked[variable, code] = asked.get((variable, code), 0) + 1
                    yield found
