"""Programs that are parts of one module: how they are exported and run.

The script of the decoder stands behind this one.
"""

import functools
import types
from typing import Any


def export_part(model: Any, call: Any, given: list[Any], shapes: tuple[Any, ...]) -> Any:
    """Export `call`, which takes the model, the model's own call, and inputs such as `given`."""
    import torch

    inner = type(model).forward

    def forward(model: Any, *arguments: Any) -> Any:
        return call(model, functools.partial(inner, model), list(arguments))

    model.forward = types.MethodType(forward, model)
    try:
        with torch.no_grad():
            return torch.export.export(model, tuple(given), dynamic_shapes=(shapes,), strict=False)
    finally:
        del model.forward


def runner(made: dict[str, dict[str, Any]], call: Any, running: Any) -> Any:
    """Return a function that calls a part, if a model runs, and keeps the call in `made`."""
    import torch

    def run(part: str, name: str, given: list[Any]) -> list[Any]:
        results: list[Any] = []
        if running is not None:
            with torch.no_grad():
                results = list(call(part, running, running, given))
        made[part][name] = given, results
        return results

    return run
