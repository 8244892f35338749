"""What a notebook shows of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxport._onnx_program.program import ONNXProgram


def page(program: ONNXProgram) -> str:
    """Return the inputs and outputs as tables, and what is to be known."""
    report = program.report
    parts = ["<div><b>ONNXProgram</b>"]
    for title in ("inputs", "outputs", "states"):
        rows = [_row(one) for one in report.get(title, ())]
        if rows:
            parts.append(_table(title, rows))
    facts = {
        name: report[name]
        for name in ("opset", "nodes", "initializers", "weight_bytes")
        if name in report
    }
    if facts:
        parts.append(
            "<p>" + ", ".join(f"{escape(k)}: {escape(str(v))}" for k, v in facts.items()) + "</p>"
        )
    if program.capture is not None:
        parts.append(f"<pre>{escape(str(program.capture))}</pre>")
    parts += [f"<pre>{escape(str(one))}</pre>" for one in program.diagnostics]
    return "".join([*parts, "</div>"])


def _row(port: dict[str, Any]) -> tuple[str, str]:
    if "type" in port:
        return str(port["name"]), str(port["type"])
    return str(port["name"]), f"{port['input']} → {port['output']}"


def _table(title: str, rows: Iterable[Sequence[str]]) -> str:
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{escape(title)}</caption>{body}</table>"
