"""Helpers on the PyTorch side of onnxport."""

from onnxport._program import SaveError
from onnxport._save import Inputs, save
from onnxport._sidecar import SIDECAR_FORMAT, sidecar_path

__all__ = ["SIDECAR_FORMAT", "Inputs", "SaveError", "save", "sidecar_path"]
