"""Operators that ONNX Runtime defines in a domain of its own, as the library itself states them.

They are those that fusions and quantization emit, and those that the runtime's optimizer writes
into the models that it saves. The page of all of them:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import onnx
import onnxruntime
from onnx_definitions import Attribute, Definition, text
from onnxruntime.capi import onnxruntime_pybind11_state as state

DOMAIN = "com.microsoft"
SOURCE = f"onnxruntime {onnxruntime.__version__}"
OPERATORS = (
    "Attention",
    "BiasGelu",
    "BiasSoftmax",
    "DynamicQuantizeMatMul",
    "EmbedLayerNormalization",
    "FastGelu",
    "FusedConv",
    "FusedGemm",
    "FusedMatMul",
    "GatherBlockQuantized",
    "Gelu",
    "GroupQueryAttention",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "MoE",
    "MultiHeadAttention",
    "QAttention",
    "QEmbedLayerNormalization",
    "QGemm",
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QMoE",
    "QuickGelu",
    "RotaryEmbedding",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
)
KINDS = {
    "INT": "int",
    "FLOAT": "float",
    "STRING": "str",
    "INTS": "ints",
    "FLOATS": "floats",
    "STRINGS": "strs",
    "TENSOR": "tensor",
    "GRAPH": "block",
}
MARKS = {"Single": "", "Optional": "?", "Variadic": "..."}


@dataclass(frozen=True)
class Parameter:
    """A formal input or output, with the fields of those of the `onnx` package."""

    name: str
    option: state.schemadef.OpSchema.FormalParameterOption
    type_str: str
    is_homogeneous: bool


@dataclass(frozen=True)
class Value:
    """An attribute, with the fields of those of the `onnx` package."""

    name: str
    type: state.schemadef.OpSchema.AttrType
    required: bool
    default_value: onnx.AttributeProto


@dataclass(frozen=True)
class Signature:
    """An operator, with the fields of schemas of the `onnx` package."""

    name: str
    since_version: int
    deprecated: bool
    inputs: list[Parameter]
    outputs: list[Parameter]
    min_input: int
    max_input: int
    min_output: int
    max_output: int
    attributes: dict[str, Value]
    type_constraints: list[state.schemadef.OpSchema.TypeConstraintParam]

    @property
    def definition(self) -> Definition:
        """The operator as documentation lists it."""
        stated = [
            Attribute(name, KINDS[one.type.name], default(one.default_value))
            for name, one in sorted(self.attributes.items())
        ]
        inputs = [one.name + MARKS[one.option.name] for one in self.inputs]
        outputs = self.max_output if self.max_output == self.min_output else None
        return Definition(self.name, inputs, outputs, stated)


def default(proto: onnx.AttributeProto) -> str | None:
    """Return a default as text; `None` if there is none."""
    return text(onnx.helper.get_attribute_value(proto)) if proto.type else None


def parameters(formals: Iterable[state.schemadef.OpSchema.FormalParameter]) -> list[Parameter]:
    """Return formal inputs or outputs."""
    return [Parameter(one.name, one.option, one.typeStr, one.isHomogeneous) for one in formals]


def signature(schema: state.schemadef.OpSchema) -> Signature:
    """Return an operator as its schema defines it."""
    attributes = {
        name: Value(
            name, one.type, one.required, onnx.AttributeProto.FromString(one._default_value)
        )
        for name, one in schema.attributes.items()
    }
    return Signature(
        schema.name,
        schema.since_version,
        schema.deprecated,
        parameters(schema.inputs),
        parameters(schema.outputs),
        schema.min_input,
        schema.max_input,
        schema.min_output,
        schema.max_output,
        attributes,
        schema.type_constraints,
    )


def schemas() -> dict[str, state.schemadef.OpSchema]:
    """Return the schemas of the domain by name, sorted."""
    found = [one for one in state.get_all_operator_schema() if one.domain == DOMAIN]
    return {one.name: one for one in sorted(found, key=lambda one: (one.name, one.since_version))}


def signatures() -> list[Signature]:
    """Return the operators of the list, sorted by name."""
    known = schemas()
    return [signature(known[name]) for name in sorted(OPERATORS)]
