"""The replacements that transformers has for its own exporters, as one patch."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from onnxport._diagnostics import Diagnostic
from onnxport._export.patches.patch import Patch, Used

NAME = "transformers"
_REASON = "transformers replaces it for its own exporters"
_EXPORTER = "transformers.exporters.exporter_dynamo"


def of(module: torch.nn.Module, own: Sequence[Patch]) -> Patch | None:
    """Return the replacements if a part of `module` is a model of transformers, else None.

    Those of functions that `own` replaces are left out. transformers has exporters since version
    5.23; it keeps their replacements in private tables, which another release may not have.
    """
    library = sys.modules.get("transformers")
    base = getattr(library, "PreTrainedModel", ())
    if not any(isinstance(part, base) for part in module.modules()):
        return None
    try:
        importlib.import_module(_EXPORTER)
        table = importlib.import_module("transformers.exporters.utils")._PATCHES["dynamo"]
    except (ImportError, AttributeError, KeyError):
        return None
    patch = Patch(NAME, version=library.__version__, reason=_REASON)
    known = {path for one in own for path in one.functions}
    for owner, name, factory in table:
        if (path := f"{owner}.{name}") not in known:
            patch.replaces(path)(_adapted(factory))
    return patch


def _adapted(factory: Callable[[Any], Any]) -> Callable[..., Any]:
    made = functools.cache(factory)
    return lambda original, *args, **kwargs: made(original)(*args, **kwargs)


@contextlib.contextmanager
def stateless(module: torch.nn.Module) -> Iterator[None]:
    """Clear the attributes in which transformers' models keep tensors of an earlier call.

    Such a tensor would be a constant of the program.
    """
    exporter = sys.modules.get(_EXPORTER)
    reset = getattr(exporter, "reset_model_state", lambda _: contextlib.nullcontext())
    with reset(module):
        yield


def findings(used: Sequence[Used]) -> tuple[Diagnostic, ...]:
    """Return a warning if the replacements were used.

    Not all are exact: one takes the images of a sequence to have equal sizes, another keeps more
    tokens in a cache.
    """
    for one in used:
        if one.name == NAME:
            paths = ", ".join(f"`{path}`" for path in one.functions)
            message = (
                f"the model is captured with replacements of transformers {one.version} that "
                f"onnxport has not compared with the originals: {paths}"
            )
            help = "compare it with the module at further inputs: `program.verify(args)`"
            return (Diagnostic("warning", "OP217", message, help=help),)
    return ()
