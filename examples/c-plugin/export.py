"""Export the model with a batch of any size: `python export.py model.pt2`."""

from __future__ import annotations

import sys

import torch
from model import Model
from torch.export import Dim

batch = {0: Dim("batch")}
program = torch.export.export(Model().eval(), (torch.randn(3, 8),), dynamic_shapes=(batch,))
torch.export.save(program, sys.argv[1])
