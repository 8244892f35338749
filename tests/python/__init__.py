"""Suites that run the release binary on real programs; they use the `onnxport` of this tree."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
