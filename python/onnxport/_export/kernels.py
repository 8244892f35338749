"""Operators whose results PyTorch cannot infer."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable
from typing import Any

import torch

from onnxport._diagnostics import Diagnostic, Severity, Suggestion
from onnxport._export import places


def problem(
    severity: Severity, target: str, reason: str | None = None, profiles: Iterable[Any] = ()
) -> Diagnostic:
    """Return the diagnostic for `target`, whose fake kernel is missing or wrong."""
    name = _qualified(target)
    where, after = _definition(name)
    if reason is not None:
        message = f"the fake kernel of `{name}` is wrong: {reason}"
        help = "make the function under `register_fake` return the operator's types and shapes"
        return Diagnostic(severity, "OP215", message, **where, target=target, help=help)
    suggestion = _stub(target, name, list(profiles), after)
    return Diagnostic(
        severity,
        "OP215",
        f"`{name}` has no fake kernel: its output shapes are known for the example only",
        **where,
        target=target,
        help="register one below the operator, with `torch.library.register_fake`",
        suggestions=(suggestion,) if suggestion else (),
    )


def _qualified(target: str) -> str:
    parts = target.replace("::", ".").split(".")
    overload = f".{parts[2]}" if len(parts) > 2 and parts[2] != "default" else ""
    return f"{'::'.join(parts[:2])}{overload}"


def _schema(target: str) -> Any:
    found: Any = torch.ops
    parts = target.replace("::", ".").split(".")
    for part in parts if len(parts) > 2 else (*parts, "default"):
        found = getattr(found, part, None)
    return getattr(found, "_schema", None)


def _definition(name: str) -> tuple[dict[str, Any], tuple[str, int] | None]:
    """Return the line of the function that implements a custom operator, and the line below it."""
    definitions = getattr(getattr(torch._library, "custom_ops", None), "OPDEFS", {})
    function = getattr(definitions.get(name), "_init_fn", None)
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function)
    except (TypeError, OSError):
        return {}, None
    if file is None:
        return {}, None
    return places.at(file, first), (file, first + len(lines))


def _stub(
    target: str, name: str, profiles: list[Any], after: tuple[str, int] | None
) -> Suggestion | None:
    """Return a kernel that is right for results of these ranks, if not as exact as could be."""
    schema = _schema(target)
    if schema is None or len(profiles) != 1:
        return None
    results = profiles[0].out_profile
    several = isinstance(results, (list, tuple))
    results = list(results) if several else [results]
    arguments = [
        f"{one.name}_" if keyword.iskeyword(one.name) else one.name for one in schema.arguments
    ]
    tensors = [one.name for one in schema.arguments if isinstance(one.type, torch.TensorType)]
    if not all(hasattr(one, "rank") for one in results) or not tensors:
        return None
    lines = [f'@torch.library.register_fake("{name}")', f"def _({', '.join(arguments)}):"]
    lines.append("    context = torch.library.get_ctx()")
    made = []
    for number, result in enumerate(results):
        sizes = ", ".join(["context.new_dynamic_size()"] * result.rank)
        made.append(f"{tensors[0]}.new_empty([{sizes}], dtype={result.dtype})")
        if result.rank and number == 0:
            lines.append(
                f"    # Use the sizes of arguments where they are meant: `{tensors[0]}.shape[0]`."
            )
    lines.append(f"    return {made[0] if not several else '(' + ', '.join(made) + ',)'}")
    title = f"a fake kernel for `{name}`, below the operator"
    file, line = after or (None, None)
    return Suggestion("kernel", title, "\n".join(["", "", *lines]).strip("\n"), file, line)
