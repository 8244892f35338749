"""Why PyTorch cannot export a module, from the errors of its attempts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from onnxport._diagnostics import Diagnostic
from onnxport._export import branches, classes, kernels, places, serialize, trees

_NO_KERNEL = re.compile(r"no fake impl registered for <CustomOpDef\((?P<name>[\w.:]+)\)>")
_BY_DATA = re.compile(r"data-dependent (expression|branching)|Data-dependent", re.IGNORECASE)


def diagnostics(
    module: Any,
    name: str,
    args: trees.Args,
    kwargs: trees.Kwargs,
    attempts: Sequence[Any],
) -> tuple[Diagnostic, ...]:
    """Return the diagnostic for the module `name`, whose `attempts` all failed."""
    errors = [attempt.error for attempt in attempts if attempt.error is not None]
    found = classes.problem(module, args, kwargs) or _by_kernel(errors)
    if found is not None:
        return (found,)
    if unreadable := tuple(_unreadable(module)):
        return unreadable
    return (_by_data(name, errors) or _general(name, attempts),)


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


def _by_data(name: str, errors: Iterable[BaseException]) -> Diagnostic | None:
    """Look for a decision in Python that depends on values."""
    for error in errors:
        if _BY_DATA.search(str(error)):
            place = places.of_error(error)
            message = (
                f"PyTorch cannot export {name}: this line branches on a value, "
                "and tracing has no values"
            )
            return Diagnostic(
                "error",
                "OP214",
                message,
                **place,
                notes=places.within_library(error),
                help=branches.help(place.get("source")),
            )
    return None


def _general(name: str, attempts: Sequence[Any]) -> Diagnostic:
    first = attempts[0].error
    return Diagnostic(
        "error",
        "OP210",
        f"PyTorch cannot export {name}: {_reason(first)}",
        **places.of_error(first),
        notes=(*places.within_library(first), *_notes(attempts, _reason(first))),
        help="first make sure that calling the module with these arguments works; then change "
        "the code in the notes (`.attempts` of this error has PyTorch's full messages)",
    )


def _notes(attempts: Sequence[Any], stated: str) -> tuple[str, ...]:
    """Return the errors of the strategies, each once; `stated` is in the message."""
    strategies: dict[str, list[str]] = {}
    for attempt in attempts:
        error = f"{_reason(attempt.error)}{_explained(attempt.error)}"
        strategies.setdefault(error, []).append(attempt.strategy)
    return tuple(
        f"{', '.join(alike)}: {'failed with this error' if error == stated else error}"
        for error, alike in strategies.items()
    )


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().split("\n", 1)[0]


def _explained(error: BaseException | None) -> str:
    """Return Dynamo's explanation below its first line."""
    found = re.search(r"^\s*Explanation: (.+)$", str(error), re.MULTILINE)
    return f": {found[1].strip()}" if found else ""
