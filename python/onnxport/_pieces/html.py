"""The notebook view of the pieces of a model."""

from __future__ import annotations

from html import escape

from onnxport._pieces.tree import UNSEEN, Node, Pieces, said, seen


def page(pieces: Pieces) -> str:
    """Return the tree as nested lists that can be opened; the path to a failure is open."""
    return f"<div>{_node(pieces.root)}<p>conversions: {pieces.conversions}</p></div>"


def _node(node: Node) -> str:
    name = f"<code>{escape(node.path or '(the model)')}</code> <i>{escape(node.kind)}</i>"
    line = f"{name}: {escape(said(node))}"
    if node.begins:
        line = f"<b>{line}</b>"
    notes = "".join(f"<pre>{escape(str(one))}</pre>" for one in node.diagnostics if node.begins)
    shown, others = seen(node)
    inner = "".join(f"<li>{_node(child)}</li>" for child in shown)
    if others and shown:
        inner += f"<li>{others} more: {UNSEEN}</li>"
    if not inner:
        return line + notes
    state = " open" if node.is_bad else ""
    return f"<details{state}><summary>{line}</summary>{notes}<ul>{inner}</ul></details>"
