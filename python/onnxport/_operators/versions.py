"""Operators of a function that was written for one opset, in a model of another."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from onnxport._operators.refusal import Refusal

# Operators whose meaning changed without a change of their signature.
_REDEFINED = {"GroupNormalization"}


def check(node: Any, written: int, opset: int) -> None:
    """Refuse a node that means something else at `opset`."""
    check_name(node.op_type, {attribute.name for attribute in node.attribute}, written, opset)


def check_name(name: str, attributes: Collection[str], written: int, opset: int) -> None:
    """Refuse an operator that means something else at `opset` than in the version `written`.

    Two versions mean the same where the older one's inputs, outputs and attributes are in the newer
    one as well, with the same defaults: a newer version mostly takes more types.
    """
    import onnx

    if written == opset:
        return
    known = onnx.defs.onnx_opset_version()
    try:
        of = {
            version: onnx.defs.get_schema(name, min(version, known), "")
            for version in (written, opset)
        }
    except onnx.defs.SchemaError:
        raise Refusal(
            f"`{name}` is not in both opset {written}, which the function is for, and {opset}",
            help=f"convert with opset {written}, or write the function for {opset}",
        ) from None
    older, newer = (of[version] for version in sorted(of))
    if older.since_version == newer.since_version:
        return
    same = (
        not newer.deprecated
        and name not in _REDEFINED
        and _formals(newer.inputs)[: len(older.inputs)] == _formals(older.inputs)
        and _formals(newer.outputs)[: len(older.outputs)] == _formals(older.outputs)
        and all(
            _is_kept(kind, newer.attributes.get(kind.name)) for kind in older.attributes.values()
        )
        and not any(
            kind.required and name not in older.attributes
            for name, kind in newer.attributes.items()
        )
    )
    if not same:
        raise Refusal(
            f"`{name}` is not the same in opset {written}, which the function is for, and {opset}",
            help=f"convert with opset {written}, or write the function for {opset}",
        )


def _formals(formals: Any) -> list[tuple[str, Any]]:
    return [(formal.name, formal.option) for formal in formals]


def _is_kept(older: Any, newer: Any) -> bool:
    return (
        newer is not None
        and older.type == newer.type
        and older.required == newer.required
        and older.default_value.SerializeToString() == newer.default_value.SerializeToString()
    )
