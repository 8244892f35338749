"""Run ONNX Runtime's kernels, one node of each type: some are registered for types they throw on.

The nodes are those of the node tests of the `onnx` package. The inputs that share a type variable
are cast to the type in question. A kernel throws where some test fails when it runs with that type,
and none passes.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections import defaultdict
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

# Tests of an operator that are tried.
TRIED = 12
# Types that values cannot be cast to.
OPAQUE = {TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128}
# Runs of kernels that never return or that end the process are cut off after so many seconds.
PATIENCE = 20

# The type variables of a kernel, or inputs and outputs, and the types that it is registered for.
Row = list[tuple[str, list[int]]]


class Case:
    """A node test: a model of one node, and its inputs."""

    def __init__(self, model: ModelProto, inputs: list[Any]) -> None:
        (self.node,) = model.graph.node
        names = [declared.name for declared in model.graph.input]
        self.inputs = dict(zip(names, inputs, strict=False))
        self.outputs = list(model.graph.output)
        self.opset = next(o.version for o in model.opset_import if not o.domain)

    def own(self, opset: int, variable: str) -> int | None:
        """Return the type that a type variable stands for in the test."""
        schema = defs.get_schema(self.node.op_type, opset)
        for index, name in enumerate(self.node.input):
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            if name and formal.type_str == variable:
                return self.inputs[name].data_type
        return None

    def model(self, opset: int, variables: dict[str, int]) -> ModelProto | None:
        """Return the model at an opset with type variables that stand for other types."""
        schema = defs.get_schema(self.node.op_type, opset)
        node = NodeProto()
        node.CopyFrom(self.node)
        nodes, values = [], []
        for index, name in enumerate(node.input):
            if not name:
                continue
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            tensor = self.inputs[name]
            to = variables.get(formal.type_str)
            if to is not None and tensor.data_type != to:
                if tensor.data_type in OPAQUE or to in OPAQUE:
                    return None
                node.input[index] = f"{name} of the type"
                nodes.append(helper.make_node("Cast", [name], [node.input[index]], to=to))
            values.append(tensor)
        last = schema.outputs[-1]
        formals = [*schema.outputs, *[last] * len(node.output)]
        by_place = zip(node.output, formals, strict=False)
        types = {name: variables.get(formal.type_str) for name, formal in by_place if name}
        ends = []
        for declared in self.outputs:
            own = declared.type.tensor_type.elem_type
            kind = types.get(declared.name) or own
            ends.append(helper.make_tensor_value_info(declared.name, kind, None))
        graph = helper.make_graph([*nodes, node], "g", [], ends, initializer=values)
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@cache
def cases() -> dict[str, list[Case]]:
    """Return the node tests by operator."""
    warnings.filterwarnings("ignore")
    from onnx.backend.test.loader import load_model_tests

    found = defaultdict(list)
    for test in load_model_tests(kind="node"):
        if test.model is None or len(test.model.graph.node) != 1 or not test.data_sets:
            continue
        node = test.model.graph.node[0]
        if node.domain or any(a.type == a.GRAPH for a in node.attribute):
            continue
        inputs = []
        for declared, given in zip(test.model.graph.input, test.data_sets[0][0], strict=False):
            if not declared.type.HasField("tensor_type"):
                break
            tensor = given
            if not isinstance(given, TensorProto):
                tensor = numpy_helper.from_array(np.asarray(given))
            tensor.name = declared.name
            inputs.append(tensor)
        else:
            found[node.op_type].append(Case(test.model, inputs))
    return found


def outcome(model: ModelProto) -> str:
    """Return `runs`, `throws` or `invalid`."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        session.run_with_ort_values(None, {})
    except (state.NotImplemented, state.RuntimeException, state.Fail) as error:
        return "throws" if "while running" in str(error) else "invalid"
    except Exception:  # the request is wrong
        return "invalid"
    return "runs"


def serve(end: Connection) -> None:
    """Answer questions: kernels may end the process."""
    onnxruntime.set_default_logger_severity(4)
    while True:
        model = ModelProto()
        model.ParseFromString(end.recv_bytes())
        end.send(outcome(model))


class Prober:
    """A process that runs models, and another one when it ends."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process."""
        self.end, other = multiprocessing.get_context("fork").Pipe()
        self.process = multiprocessing.get_context("fork").Process(
            target=serve, args=(other,), daemon=True
        )
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
        return "invalid"


prober = cache(Prober)


def opset_of(op: str, version: int, newest: int) -> int | None:
    """Return the newest opset of which `version` is the version of an operator."""
    for opset in range(newest, 0, -1):
        try:
            schema = defs.get_schema(op, opset)
        except defs.SchemaError:
            continue
        if schema.since_version == version:
            return opset
    return None


def assigned(
    case: Case, opset: int, row: Row, variable: str, kind: int, *, alike: bool
) -> dict[str, int]:
    """Return types of a row's variables, `kind` for one of them.

    The others get the same type if they are to be alike and the row has it, else that of the test.
    """
    chosen = {variable: kind}
    for other, allowed in row:
        if other != variable:
            own = case.own(opset, other)
            usual = own if own in allowed else allowed[0]
            chosen[other] = kind if alike and kind in allowed else usual
    return chosen


def throws(
    plain: list[Case], opset: int, row: Row, variable: str, kind: int, *, alike: bool
) -> bool:
    """Return whether a kernel throws in some tests and runs in none."""
    said = set()
    for case in plain:
        model = case.model(opset, assigned(case, opset, row, variable, kind, alike=alike))
        said.add(prober().ask(model) if model else "invalid")
        if "runs" in said:
            return False
    return "throws" in said


def throwing(
    op: str, versions: tuple[int, int], rows: list[Row], newest: int
) -> dict[tuple[int, str, int], bool]:
    """Return the types that a kernel of these versions throws on, by row, variable and type.

    The value is whether it runs where the other variables stand for the same type.
    """
    found = {}
    known = {s.since_version for s in defs.get_all_schemas_with_history() if s.name == op}
    version = max((v for v in known if versions[0] <= v <= versions[1]), default=None)
    opset = opset_of(op, version, newest) if version else None
    if not opset:
        return found
    plain = (case for case in cases().get(op, []) if prober().ask(case.model(opset, {})) == "runs")
    plain = list(islice(plain, TRIED))
    for at, row in enumerate(rows):
        for variable, allowed in row:
            for kind in allowed:
                mixed, alike = (
                    throws(plain, opset, row, variable, kind, alike=alike)
                    for alike in (False, True)
                )
                if mixed:
                    found[at, variable, kind] = not alike
    return found
