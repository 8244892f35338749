"""Why PyTorch cannot export a module, from the errors of its attempts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from onnxport._diagnostics import Diagnostic
from onnxport._export import branches, classes, kernels, places, serialize, trees
from onnxport._export.attempts import BY_DATA, Attempt, first_line, table

_NO_KERNEL = re.compile(r"no fake impl registered for <CustomOpDef\((?P<name>[\w.:]+)\)>")


def diagnostics(
    module: Any,
    name: str,
    args: trees.Args,
    kwargs: trees.Kwargs,
    attempts: Sequence[Attempt],
) -> tuple[Diagnostic, ...]:
    """Return the diagnostic for the module `name`, whose `attempts` all failed."""
    errors = [attempt.error for attempt in attempts if attempt.error is not None]
    found = classes.problem(module, args, kwargs) or _by_kernel(errors)
    if found is not None:
        return (found,)
    if unreadable := tuple(_unreadable(module)):
        return unreadable
    return (_by_data(name, attempts) or _general(name, attempts),)


def _by_kernel(errors: Iterable[BaseException]) -> Diagnostic | None:
    """Look for a custom operator whose results PyTorch cannot infer."""
    for error in errors:
        func = getattr(error, "func", None)
        if type(error).__name__ == "UnsupportedOperatorException" and func is not None:
            return kernels.problem("error", str(func))
        if found := _NO_KERNEL.search(str(error)):
            return kernels.problem("error", found["name"])
    return None


def _unreadable(module: Any) -> Iterator[Diagnostic]:
    """Weights of a kind that PyTorch does not trace."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    for path, part in module.named_modules():
        plain = ((name, one) for name, one in vars(part).items() if isinstance(one, torch.Tensor))
        tensors += [(f"{path}.{name}" if path else name, one) for name, one in plain]
    for name, tensor in tensors:
        if tensor.is_quantized or tensor.layout is not torch.strided:
            yield serialize.problem(name, serialize.unreadable(tensor) or "")


def _by_data(name: str, attempts: Sequence[Attempt]) -> Diagnostic | None:
    """Look for a decision in Python that depends on values."""
    for error in (attempt.error for attempt in attempts):
        if error is not None and BY_DATA.search(str(error)):
            place = places.of_error(error)
            help = branches.help(place.get("source"))
            message = (
                f"PyTorch cannot export {name}: this line branches on a value, "
                "and tracing has no values"
            )
            return Diagnostic(
                "error",
                "OP214",
                message,
                **place,
                notes=(*places.within_library(error), table(attempts, help)),
                help=help,
            )
    return None


def _general(name: str, attempts: Sequence[Attempt]) -> Diagnostic:
    first = attempts[0].error
    return Diagnostic(
        "error",
        "OP210",
        f"PyTorch cannot export {name}: {type(first).__name__}: {first_line(first)}",
        **places.of_error(first),
        notes=(*places.within_library(first), table(attempts)),
        help="first make sure that calling the module with these arguments works; then change "
        "the code in the table (`.attempts` of this error has PyTorch's full messages)",
    )
