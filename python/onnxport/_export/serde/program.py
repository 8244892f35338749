"""The program around the graph."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch._export.serde import schema, serialize
from torch.export import ExportedProgram
from torch.export.graph_signature import SymBoolArgument

from onnxport._export.serde.graph import Walk


def to_json(program: ExportedProgram) -> bytes:
    """Return the program as `torch.export.save` writes it, without weights and sample inputs.

    Raises:
        UnknownError: It has something that only PyTorch's serializer knows.
    """
    with serialize._enable_graph_inputs_of_type_nn_module(program.example_inputs):
        return json.dumps(walked(program), allow_nan=False, check_circular=False).encode()


def walked(program: ExportedProgram) -> dict[str, Any]:
    """Return the program as the JSON has it.

    Raises:
        UnknownError: It has something that only PyTorch's serializer knows.
    """
    program.validate()
    around = _around(program)
    signature = around.serialize_signature(program.graph_signature)
    calls = around.serialize_module_call_graph(program.module_call_graph)
    parts = {
        "signature": signature,
        "module_call_graph": calls,
        "metadata": around.serialize_graph_module_metadata(program.graph_module.meta),
        "treespec_namedtuple_fields": around.treespec_namedtuple_fields,
    }
    ranges = serialize.serialize_range_constraints(program.range_constraints)
    return {
        "graph_module": {
            "graph": Walk().graph(program.graph_module),
            **serialize._dataclass_to_dict(parts),
        },
        "opset_version": {"aten": torch._C._get_max_operator_version()},
        "range_constraints": serialize._dataclass_to_dict(ranges),
        "schema_version": dict(zip(("major", "minor"), schema.SCHEMA_VERSION, strict=True)),
        "verifiers": [verifier.dialect for verifier in program.verifiers],
        "torch_version": torch.__version__,
        "guards_code": program._guards_code,
    }


def _around(program: ExportedProgram) -> Any:
    """Return PyTorch's serializer, which also accepts outputs that are Booleans of sizes."""
    around = serialize.GraphModuleSerializer(program.graph_signature, program.module_call_graph)
    known = around.serialize_argument_spec

    def argument_spec(x: Any) -> Any:
        if isinstance(x, SymBoolArgument):
            named = schema.SymBoolArgument.create(as_name=x.name)
            return schema.Argument.create(as_sym_bool=named)
        return known(x)

    around.serialize_argument_spec = argument_spec
    return around
