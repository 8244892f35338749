"""The operators of ONNX's own domain, with their inputs and attributes."""

from __future__ import annotations

from dataclasses import dataclass

import onnx
import onnx.defs

# Attributes that only older versions have are left out: no older model is written.
OLDEST = 11
KINDS = {
    onnx.defs.OpSchema.AttrType.INT: "int",
    onnx.defs.OpSchema.AttrType.FLOAT: "float",
    onnx.defs.OpSchema.AttrType.STRING: "str",
    onnx.defs.OpSchema.AttrType.INTS: "ints",
    onnx.defs.OpSchema.AttrType.FLOATS: "floats",
    onnx.defs.OpSchema.AttrType.STRINGS: "strs",
    onnx.defs.OpSchema.AttrType.TENSOR: "tensor",
    onnx.defs.OpSchema.AttrType.GRAPH: "block",
    # The host does not pass these on.
    onnx.defs.OpSchema.AttrType.SPARSE_TENSOR: None,
    onnx.defs.OpSchema.AttrType.TYPE_PROTO: None,
}


@dataclass(frozen=True)
class Attribute:
    """An attribute: its name, its kind, and its default as text."""

    name: str
    kind: str
    default: str | None


@dataclass(frozen=True)
class Definition:
    """An operator: its name, its inputs (`B?` and `inputs...`), and its attributes by name."""

    name: str
    inputs: list[str]
    outputs: int | None
    attributes: list[Attribute]


def formal(parameter: onnx.defs.OpSchema.FormalParameter) -> str:
    """Return the name of an input, with `?` if it is optional and `...` if it can be repeated."""
    option = parameter.option
    choice = onnx.defs.OpSchema.FormalParameterOption
    return parameter.name + {choice.Optional: "?", choice.Variadic: "..."}.get(option, "")


def default(attribute: onnx.defs.OpSchema.Attribute) -> str | None:
    """Return the default of an attribute as text; `None` if there is none."""
    if attribute.default_value is None or attribute.default_value.type == 0:
        return None
    return text(onnx.helper.get_attribute_value(attribute.default_value))


def text(value: object) -> str | None:
    """Return a default as it stands in documentation; `None` for tensors and empty texts."""
    if isinstance(value, bytes):
        return value.decode() or None
    if isinstance(value, float):
        return f"{value:.7g}"
    if isinstance(value, list):
        return f"[{', '.join(text(one) or '' for one in value)}]"
    return str(value) if isinstance(value, int) else None


def definitions() -> list[Definition]:
    """Return all operators by name, with the attributes of all versions from opset 11 on."""
    versions: dict[str, list[onnx.defs.OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, []).append(schema)
    found = []
    for name, schemas in sorted(versions.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        newest = schemas[-1]
        in_force = [
            schema
            for schema, later in zip(schemas, [*schemas[1:], None], strict=True)
            if later is None or later.since_version > OLDEST
        ]
        attributes: dict[str, Attribute] = {}
        for schema in in_force:
            for attribute in schema.attributes.values():
                kind = KINDS[attribute.type]
                if kind is not None:
                    attributes[attribute.name] = Attribute(attribute.name, kind, default(attribute))
        inputs = [formal(parameter) for parameter in newest.inputs]
        outputs = newest.max_output if newest.max_output == newest.min_output else None
        ordered = [attributes[key] for key in sorted(attributes)]
        found.append(Definition(name, inputs, outputs, ordered))
    return found
