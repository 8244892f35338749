"""The notebook view of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxport._onnx_program.program import ONNXProgram


def page(program: ONNXProgram) -> str:
    """Return the inputs and outputs as tables, and remarks."""
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
    if program.exported_program is not None:
        parts.append(_modules(program.exported_program))
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


def _modules(exported: Any) -> str:
    """Return the tree of the modules that were called, with their calls and parameters."""
    kinds: dict[str, str] = {}
    calls: Counter[str] = Counter()
    for node in exported.graph.nodes:
        around = (node.meta.get("nn_module_stack") or {}).values()
        # A module that is called again has a number after its path.
        for path, kind in {path.partition("@")[0]: kind for path, kind in around}.items():
            kinds.setdefault(path, kind if isinstance(kind, str) else kind.__qualname__)
            calls[path] += 1
    elements: Counter[str] = Counter()
    for name, tensor in exported.state_dict.items():
        for path in _outwards(name):
            elements[path] += tensor.numel()
    below: dict[str, list[str]] = {path: [] for path in kinds}
    for path in kinds:
        if path:
            parent = next((one for one in _outwards(path) if one in kinds), None)
            if parent is not None:
                below[parent].append(path)

    def branch(path: str) -> str:
        kind = kinds[path].rpartition(".")[2]
        facts = f"{calls[path]:,} calls, {elements[path]:,} parameters"
        title = f"<b>{escape(path or 'the model')}</b> {escape(kind)}: {facts}"
        inside = "".join(map(branch, below[path]))
        if not inside:
            return f"<div style='margin-left:1em'>{title}</div>"
        opened = "" if path else " open"
        summary = f"<summary>{title}</summary>{inside}"
        return f"<details{opened} style='margin-left:1em'>{summary}</details>"

    return branch("") if "" in kinds else ""


def _outwards(path: str) -> Iterable[str]:
    """Return the paths of the modules around a path, the innermost first and the root last."""
    parts = path.split(".")
    return [".".join(parts[:count]) for count in reversed(range(len(parts)))]
