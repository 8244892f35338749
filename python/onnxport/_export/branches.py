"""Replacements for data-dependent branches."""

from __future__ import annotations

import ast

_GENERAL = (
    "compute with tensors instead of Python numbers: leave `int(x)`, `float(x)`, `x.item()` "
    "and `x.tolist()` out, or let the number be an argument of the module"
)


def help(source: str | None) -> str:
    """Return the next step for a line that decides by data."""
    node = _parsed(source)
    if isinstance(node, ast.If):
        test = ast.unparse(node.test)
        return (
            f"write `torch.where({test}, yes, no)` with the results of both sides, "
            f"or `torch.cond({test}, yes, no, (x,))` with functions of the tensors that they use; "
            f"if it holds for all inputs, assert it: `holds = ({test}).item()`, "
            "`torch._check(holds)`, and then `if holds:`"
        )
    if isinstance(node, ast.While):
        test = ast.unparse(node.test)
        return (
            f"write `torch.while_loop(lambda x: {test}, body, (x,))` with all tensors that the "
            "loop changes, or give it a fixed number of steps"
        )
    chosen = (
        next((one for one in ast.walk(node) if isinstance(one, ast.IfExp)), None) if node else None
    )
    if chosen is not None:
        parts = ", ".join(map(ast.unparse, (chosen.test, chosen.body, chosen.orelse)))
        return f"write `torch.where({parts})`, which computes both sides and chooses"
    return _GENERAL


def _parsed(source: str | None) -> ast.AST | None:
    """Return the statement that begins with this line, None if it is not complete."""
    line = (source or "").strip()
    line = "if " + line[5:] if line.startswith("elif ") else line
    for text in (line, f"{line} pass", f"def f():\n {line}", f"async def f():\n {line}"):
        try:
            return ast.parse(text).body[0]
        except (SyntaxError, IndexError):
            continue
    return None
