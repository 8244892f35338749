"""Replacements, during the capture only, for functions that PyTorch cannot trace.

Each patch has its own file, which `registry` lists.
"""

from onnxport._export.patches.patch import Patch, Used
from onnxport._export.patches.registry import register_patch

__all__ = ["Patch", "Used", "register_patch"]
