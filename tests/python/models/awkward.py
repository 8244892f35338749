"""Programs that are awkward to convert, one difficulty each."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from tests.python.models.registry import BATCH, Recipe, model


class Cond(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positive = nn.Linear(4, 4)
        self.negative = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(
            x.sum() > 0,
            lambda v: torch.relu(self.positive(v)),
            lambda v: self.negative(v) - 1,
            (x,),
        )


@model("cond")
def cond():
    return Recipe(Cond(), (torch.randn(3, 4),), shapes=({0: BATCH},))


class WhileLoop(nn.Module):
    def forward(self, steps: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return while_loop(
            lambda step, value: step > 0,
            lambda step, value: (step - 1, value * 1.5 + 1),
            (steps, x),
        )


@model("while_loop")
def while_loop_():
    return Recipe(WhileLoop(), (torch.tensor(4), torch.randn(2, 3)), shapes=(None, {0: BATCH}))


class Scan(nn.Module):
    def forward(self, start: Tensor, xs: Tensor) -> tuple[Tensor, Tensor]:
        def step(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            carry = torch.tanh(carry + x)
            return carry, carry * 2

        return scan(step, start, xs)


@model("scan", static="torch's scan specialises the scanned length; the width stays as traced")
def scan_():
    return Recipe(Scan(), (torch.randn(3), torch.randn(5, 3)))


class DataDependent(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch.nonzero(x[:, 0] > 0).squeeze(1)
        picked = x[rows]
        return picked * 2, torch.cat([picked.sum(0), x.mean(0)])


@model("data_dependent")
def data_dependent():
    return Recipe(DataDependent(), (torch.randn(6, 4),), shapes=({0: BATCH},))


class KwargsAndDicts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 3)

    def forward(
        self,
        x: Tensor,
        *,
        weights: dict[str, Tensor],
        scale: float = 1.0,
        bias: Tensor | None = None,
    ) -> dict[str, Tensor | list[Tensor]]:
        y = self.proj(x) * weights["outer"] * scale
        if bias is not None:
            y = y + bias
        return {"logits": y, "parts": [y[:, :1], y[:, 1:]], "input": x}


@model("kwargs_and_dicts")
def kwargs_and_dicts():
    kwargs = {"weights": {"outer": torch.randn(3)}, "scale": 0.5, "bias": torch.randn(3)}
    shapes = {"x": {0: BATCH}, "weights": {"outer": None}, "scale": None, "bias": None}
    return Recipe(KwargsAndDicts(), (torch.randn(2, 4),), kwargs, shapes)


def half_precision(dtype: torch.dtype) -> Recipe:
    """Return an MLP whose weights and input have `dtype`."""
    module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    return Recipe(module.to(dtype), (torch.randn(3, 8).to(dtype),), shapes=({0: BATCH},))


@model("linear_bf16")
def linear_bf16():
    return half_precision(torch.bfloat16)


@model("linear_fp16")
def linear_fp16():
    return half_precision(torch.float16)


class Integers(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> dict[str, Tensor]:
        return {
            "floor": x // y,
            "trunc": torch.div(x, y, rounding_mode="trunc"),
            "true": x / y,
            "remainder": x % y,
            "fmod": torch.fmod(x, y),
            "and": x & y,
            "xor": x ^ 5,
            "not": ~x,
            "shift": x << 2,
            "narrow": (x.to(torch.int32) * 3).to(torch.uint8),
            "max": torch.maximum(x, y).amax(1),
            "cumsum": x.cumsum(1),
            "mean": x.float().mean(1),
            "any": (x > y).any(1),
        }


@model("integers")
def integers():
    x, y = torch.randint(-50, 50, (3, 5)), torch.randint(1, 9, (3, 5))
    return Recipe(Integers(), (x, y), shapes=({0: BATCH}, {0: BATCH}))


class MutatedInput(nn.Module):
    def forward(self, x: Tensor, cache: Tensor) -> Tensor:
        cache[:, 0].copy_(x.sum(1))
        cache.narrow(1, 1, 2).add_(1)
        return x * cache.mean()


@model("mutated_input")
def mutated_input():
    return Recipe(
        MutatedInput(), (torch.randn(2, 4), torch.zeros(2, 3)), shapes=({0: BATCH}, {0: BATCH})
    )


class GradRegion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.outer = nn.Linear(4, 4)
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.outer(x)
        with torch.no_grad():
            x = torch.relu(self.inner(x)) + 1
        return x * 2


@model("grad_region")
def grad_region():
    return Recipe(GradRegion(), (torch.randn(2, 4),), shapes=({0: BATCH},))


class AutocastRegion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = torch.relu(self.first(x))
        return self.second(x.float())


# A float32 result of a bfloat16 layer has its precision: 8 bits. `verify` finds the narrower type
# and accepts the result.
@model("autocast_region", tolerance=80)
def autocast_region():
    return Recipe(AutocastRegion(), (torch.randn(2, 8),), shapes=({0: BATCH},))


class OnnxSymbolic(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.onnx.ops.symbolic(
            "LeakyRelu",
            (x,),
            {"alpha": 0.25},
            dtype=torch.float32,
            shape=x.shape,
            version=20,
        )
        return y + 1


class LeakyReluPlusOne(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.leaky_relu(x, 0.25) + 1


@model("onnx_symbolic")
def onnx_symbolic():
    return Recipe(
        OnnxSymbolic(), (torch.randn(2, 4),), shapes=({0: BATCH},), reference=LeakyReluPlusOne()
    )


class ComplexRope(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(32.0), 1e4 ** (-torch.arange(0, 8, 2) / 8))
        self.register_buffer("rotation", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        rotated = pairs * self.rotation[: x.shape[1]].unsqueeze(0)
        return torch.view_as_real(rotated).flatten(2)


@model("complex_rope")
def complex_rope():
    return Recipe(
        ComplexRope(), (torch.randn(2, 6, 8),), shapes=({0: BATCH, 1: Dim("sequence", max=32)},)
    )


class NoneAndIntegers(nn.Module):
    def forward(self, x: Tensor, unused: Tensor, n: int) -> tuple[Tensor, None, int, int, float]:
        return x * n, None, x.shape[0], 7, 2.5


@model("none_and_integers")
def none_and_integers():
    return Recipe(
        NoneAndIntegers(),
        (torch.randn(3, 2), torch.ones(2), 3),
        shapes=({0: BATCH}, None, None),
    )


class Quantifiers(nn.Module):
    """Reduces all elements of an empty tensor: a selection, and the rows of a batch."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        chosen = x[x > 9]
        return (chosen > 0).any(), (chosen > 0).all(), (x > 0).any(1), (x[:0] > 0).all()


@model("quantifiers")
def quantifiers():
    return Recipe(Quantifiers(), (torch.randn(3, 4),), shapes=({0: BATCH},))


class ClampedDoubles(nn.Module):
    """Clamps the result of `relu`, which ONNX Runtime would fuse in another type."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x).clamp(-1, 1)


@model("clamped_doubles")
def clamped_doubles():
    return Recipe(ClampedDoubles(), (torch.randn(3, 4).double(),), shapes=({0: BATCH},))
