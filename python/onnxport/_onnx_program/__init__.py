"""Models in memory: to be called, looked into, changed and saved."""

from onnxport._onnx_program.package import save_package
from onnxport._onnx_program.program import ONNXProgram

__all__ = ["ONNXProgram", "save_package"]
