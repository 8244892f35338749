"""More models of `torch.onnx`, all through `torch.export`, which few changes need to see.

PyTorch's own samples of operators, small networks of torchvision and timm, control flow, and
operators of somebody's own, with a function for them or in a domain that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tests.python.importing.exported import Call, Export, block, x

# Of PyTorch's operators; the first sample whose input is a tensor is exported.
OPERATORS = """
    __getitem__ __rmatmul__ acos acosh add addcdiv addcmul addmm all any argmin asinh atan2
    atanh baddbmm bitwise_and bitwise_not block_diag bmm broadcast_to ceil clamp_max clone
    constant_pad_nd cos cosh diag_embed diagonal diff dist div empty_like eq expm1 fill flatten
    floor_divide fmod frac full_like gather ge heaviside index_add index_select isfinite kron
    lerp linalg.vector_norm log1p log2 logaddexp logical_xor masked_fill maximum meshgrid
    minimum movedim mul multinomial native_layer_norm new_zeros nn.functional.avg_pool1d
    nn.functional.cosine_similarity nn.functional.embedding nn.functional.glu
    nn.functional.grid_sample nn.functional.huber_loss nn.functional.interpolate
    nn.functional.linear nn.functional.local_response_norm nn.functional.max_pool1d
    nn.functional.normalize nn.functional.pixel_unshuffle nn.functional.softmin
    nn.functional.threshold nn.functional.unfold nonzero permute pow prod rad2deg reciprocal
    remainder repeat repeat_interleave rot90 rsqrt scatter scatter_add sinc split square squeeze
    std sub take_along_dim tanh tensordot tile tril trunc unbind unflatten var_mean view_as
    where xlogy
"""

VISION = ("efficientnet_b0", "mnasnet0_5", "regnet_y_400mf", "googlenet", "vit_b_32")

TIMM = (
    "convnextv2_atto",
    "ghostnet_100",
    "levit_128s",
    "mobilenetv4_conv_small",
    "repvit_m0_9",
    "tinynet_e",
)


@torch.library.custom_op("importing::twice", mutates_args=())
def twice(t: Tensor) -> Tensor:
    """Return the double."""
    return t * 2


@twice.register_fake
def _(t: Tensor) -> Tensor:
    return torch.empty_like(t)


def sample(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return PyTorch's first sample of an operator; its other arguments are part of the module."""
    from torch.testing._internal.common_methods_invocations import op_db

    info = next(op for op in op_db if op.name == name)
    dtype = torch.float32 if torch.float32 in info.dtypes else torch.int64
    for found in info.sample_inputs("cpu", dtype):
        if isinstance(found.input, Tensor) and found.input.numel():
            break
    else:
        raise LookupError(name)
    return Call(lambda t: info.op(t, *found.args, **found.kwargs)), (found.input.detach(),)


def vision(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a network of torchvision with few classes."""
    import torchvision

    size = 224 if name.startswith("vit") else 64
    return torchvision.models.get_model(name, weights=None, num_classes=4), (x(1, 3, size, size),)


def timm_network(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a network of timm with few classes."""
    import timm

    size = 224 if name.startswith("levit") else 64
    return timm.create_model(name, num_classes=4), (x(1, 3, size, size),)


class Conditional(nn.Module):
    """Branches that capture weights."""

    def __init__(self) -> None:
        """Make the weights."""
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, t: Tensor) -> Tensor:
        """Call one of both."""
        return torch.cond(t.sum() > 0, lambda t: self.one(t).relu(), lambda t: self.other(t), (t,))


class Nested(nn.Module):
    """Branches inside of a branch."""

    def forward(self, t: Tensor) -> Tensor:
        """Decide twice."""

        def inner(t: Tensor) -> Tensor:
            return torch.cond((t * t).sum() > 9, lambda t: t - 1, lambda t: t + 1, (t,))

        return torch.cond(t.sum() > 0, inner, lambda t: t.neg(), (t,))


class Scanned(nn.Module):
    """A running sum, written as a scan."""

    def forward(self, t: Tensor) -> tuple[Tensor, ...]:
        """Scan the first axis."""
        from torch._higher_order_ops.scan import scan

        def step(total: Tensor, item: Tensor) -> tuple[Tensor, Tensor]:
            total = total + item
            return total, total * 2

        return scan(step, t[0] * 0, t)


def control(module: type[nn.Module]) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a module with control flow."""
    return module(), (x(3, 4),)


def own() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a module with an operator of its own, called twice."""
    return Call(lambda t: twice(twice(t).relu())), (x(2, 3),)


def foreign() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return a module with an operator of a domain that nobody knows."""

    def call(t: Tensor) -> Tensor:
        return torch.onnx.ops.symbolic(
            "importing.own::Twice", [t], {"level": 2}, dtype=t.dtype, shape=t.shape, version=1
        )

    return Call(call), (x(2, 3),)


def table() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the function that the operator becomes."""
    from onnxscript import opset18 as op

    def function(t):  # noqa: ANN001, ANN202
        return op.Add(t, t)

    return {torch.ops.importing.twice.default: function}


def exports() -> Iterator[Export]:
    """Yield every model."""
    for name in OPERATORS.split():
        called = "sample_" + name.replace("nn.functional.", "").replace(".", "_")
        yield Export(called, partial(sample, name), "dynamo", 18 + len(name) % 6)
    for name in VISION:
        yield Export(f"tv_{name}", partial(vision, name), "dynamo", 20)
    for name in TIMM:
        yield Export(f"timm_{name}", partial(timm_network, name), "dynamo", 20)
    for module in (Conditional, Nested, Scanned):
        yield Export(module.__name__.lower(), partial(control, module), "dynamo", 20)
    for name in ("encoder", "lstm", "conv"):
        options = partial(dict, optimize=False)
        yield Export(f"plain_{name}", partial(block, name), "dynamo", 20, options=options)
    options = partial(dict, custom_translation_table=table())
    yield Export("own", own, "dynamo", 18, options=options)
    yield Export("foreign", foreign, "dynamo", 20)
