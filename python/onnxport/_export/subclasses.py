"""Weights of tensor subclasses, such as the quantised ones of torchao."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


def taken_apart(program: ExportedProgram) -> ExportedProgram:
    """Return the program with its weights flattened to plain tensors.

    If PyTorch cannot flatten them, or there are none, that is `program` itself.
    """
    tensors = (*program.state_dict.values(), *program.constants.values())
    if not any(isinstance(t, torch.Tensor) and is_traceable_wrapper_subclass(t) for t in tensors):
        return program
    try:
        return program.run_decompositions({})
    except Exception:
        return program
