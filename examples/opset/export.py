"""Export the model with a batch of any size: `python export.py model.pt2 [--decompose]`.

Decomposed, the operator that writes becomes an `auto_functionalized_v2`.
"""

from __future__ import annotations

import sys

import torch
from ops import Model
from torch.export import Dim

batch = {0: Dim("batch")}
program = torch.export.export(Model().eval(), (torch.randn(3, 8),), dynamic_shapes=(batch,))
if "--decompose" in sys.argv:
    program = program.run_decompositions()
torch.export.save(program, sys.argv[1])
