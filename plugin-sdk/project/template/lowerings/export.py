"""The operators in PyTorch, and a model that uses them, saved for onnxport."""

import torch

import onnxport


@torch.library.custom_op("myplugin::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    """Return `x * factor`."""
    return x * factor


@scaled.register_fake
def _(x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    return torch.empty_like(x)


class Model(torch.nn.Module):
    """A model that uses the operators."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scale and shift."""
        return torch.ops.myplugin.scaled(x, 2.5) + 1.0


if __name__ == "__main__":
    dynamic = {"x": {0: torch.export.Dim("batch")}}
    program = torch.export.export(Model(), (torch.randn(3, 4),), dynamic_shapes=dynamic)
    onnxport.save(program, "model.pt2")
