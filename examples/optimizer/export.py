"""Export a vision model with a batch of any size: `python export.py squeezenet1_1 model.pt2`."""

from __future__ import annotations

import sys

import torch
import torchvision

name, path = sys.argv[1:]
torch.manual_seed(0)
model = torchvision.models.get_model(name, weights=None).eval()
batch = {0: torch.export.Dim("batch", min=1, max=64)}
program = torch.export.export(model, (torch.randn(2, 3, 64, 64),), dynamic_shapes=(batch,))
torch.export.save(program, path)
