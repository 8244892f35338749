"""Write the archives that the reader's tests look into: `python -m tests.python.data.make`.

Needs torch and transformers; the archives are committed.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export
from transformers import DynamicCache
from transformers.integrations.executorch import register_dynamic_cache_export_support

import onnxport

HERE = Path(__file__).resolve().parents[2] / "files/data"


class Awkward(nn.Module):
    """Weights with every layout and unusual dtypes, and inputs of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.transposed = nn.Parameter(torch.arange(24.0).view(4, 6).t())
        self.tied = self.transposed
        self.expanded = nn.Parameter(torch.arange(3.0).expand(2, 3))
        self.register_buffer("part", self.transposed.detach()[1:3])
        self.register_buffer("scalar", torch.tensor(3), persistent=False)
        self.register_buffer("empty", torch.zeros(0, 5))
        self.u16 = torch.tensor([1, 2, 65535]).to(torch.uint16)
        self.f8 = torch.ones(2, dtype=torch.float8_e4m3fn)
        self.c64 = torch.full((2,), 1 + 2j, dtype=torch.complex64)

    def forward(
        self,
        x: Tensor,
        tree: dict[str, Tensor | list[Tensor]],
        *,
        flag: bool,
        nothing: None = None,
        text: str = "s",
    ) -> tuple[Tensor, Tensor, int, None]:
        """Use everything once; one output has a size that depends on data."""
        y = (
            x @ self.transposed
            + self.tied.sum()
            + self.part.sum()
            + self.scalar
            + self.expanded.sum()
        )
        y = (
            y
            + self.u16.float().sum()
            + self.f8.float().sum()
            + self.c64.real.sum()
            + self.empty.sum()
        )
        y = y + (tree["b"] if flag else 0) + tree["a"][0].float()
        y = y.masked_fill(y > float("inf"), float("nan"))
        return y, torch.nonzero(x), 3, None


class Cached(nn.Module):
    """Takes a key-value cache."""

    def forward(self, x: Tensor, cache: DynamicCache) -> Tensor:
        """Return the sum of x and of the keys, less the values."""
        for layer in cache.layers:
            x = x + layer.keys - layer.values
        return x


class Twins(nn.Module):
    """Two matrices of 1 KiB with equal elements, which nothing ties, a third one, and a state."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(16, 16, bias=False)
        self.b = nn.Linear(16, 16, bias=False)
        self.c = nn.Linear(16, 16, bias=False)
        with torch.no_grad():
            self.b.weight.copy_(self.a.weight)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Count the rows; return two results of one type."""
        self.seen.add_(x.shape[0])
        return self.b(self.a(x).relu()) + self.seen, self.c(x)


def save(program: ExportedProgram, name: str, *, recorded: bool = False) -> None:
    """Save without stack traces, which would hold the paths of this machine."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("stack_trace", None)
    (onnxport.save if recorded else torch.export.save)(program, HERE / name)


def main() -> None:
    """Export all programs."""
    tree = {"b": torch.randn(4), "a": [torch.zeros(1, dtype=torch.uint32)]}
    shapes = {
        "x": {0: Dim.AUTO},
        "tree": {"b": None, "a": [None]},
        "flag": None,
        "nothing": None,
        "text": None,
    }
    given = {"text": "t", "flag": True, "nothing": None}
    save(export(Awkward(), (torch.randn(3, 6), tree), given, dynamic_shapes=shapes), "awkward.pt2")

    register_dynamic_cache_export_support()
    cache = DynamicCache()
    for at in range(2):
        cache.update(torch.full((1, 2, 3, 4), 1.0 + at), torch.full((1, 2, 3, 4), 10.0 + at), at)
    save(export(Cached(), (torch.zeros(1, 2, 3, 4), cache)), "dynamic_cache.pt2")

    torch.manual_seed(0)
    twins = export(Twins(), (torch.randn(3, 16),), dynamic_shapes={"x": {0: Dim("batch")}})
    save(twins, "twins.pt2", recorded=True)


if __name__ == "__main__":
    main()
