"""Helpers on the PyTorch side of onnxport."""

from onnxport._save import SIDECAR_FORMAT, Inputs, SaveError, save, sidecar_path

__all__ = ["SIDECAR_FORMAT", "Inputs", "SaveError", "save", "sidecar_path"]
