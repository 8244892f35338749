"""The samples of PyTorch's operator and module tests, by kind.

A sample is named by its kind, its operator and its index, as `float32/add/0`. The generator of
random numbers is seeded for each operator.
"""

from __future__ import annotations

import copy
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import ModuleInfo, module_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

DTYPES = {
    "float32": torch.float32,
    "dynamic": torch.float32,
    "in-place": torch.float32,
    "extremal": torch.float32,
    "int64": torch.int64,
    "int32": torch.int32,
    "bool": torch.bool,
    "float16": torch.float16,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "complex": torch.complex64,
}
KINDS = (*DTYPES, "modules")
# Modules cover the functions of layers. PyTorch's CPU library hangs in factorizations of NaN.
NOT_EXTREMAL = (
    "nn.functional",
    "linalg.",
    "svd",
    "pca_lowrank",
    "lu",
    "lobpcg",
    "pinverse",
    "matrix_exp",
    "ormqr",
    "geqrf",
    "qr",
    "norm.nuc",
    "logdet",
    "cholesky",
    "triangular_solve",
)
EXTREMES = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e30, -1e30, 1e-30, -1e-30, 1.0, -1.0, 0.5)


class Call(nn.Module):
    """An operator with everything but its tensors bound."""

    def __init__(
        self, function: Callable[..., Any], sample: SampleInput, in_place: bool = False
    ) -> None:
        super().__init__()
        self.function = function
        self.in_place = in_place
        leaves, self.spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.leaves = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self.tensors = tuple(_dense(leaves[i].detach()) for i in self.positions)

    def arguments(self, tensors: Sequence[Tensor]) -> Any:
        """Return the first argument, the other positional ones, and the named ones."""
        leaves = list(self.leaves)
        for position, tensor in zip(self.positions, tensors, strict=True):
            leaves[position] = tensor
        return pytree.tree_unflatten(leaves, self.spec)

    def forward(self, *tensors: Tensor) -> Any:
        """Call the operator."""
        first, args, kwargs = self.arguments(tensors)
        if self.in_place:
            first = first.clone()
        return self.function(first, *args, **kwargs)


def _dense(tensor: Tensor) -> Tensor:
    """Return a row-major copy; sparse tensors have none."""
    return tensor.contiguous() if tensor.layout is torch.strided else tensor


@dataclass(frozen=True)
class Sample:
    """One call of an operator or a module."""

    kind: str
    name: str
    index: int
    module: nn.Module
    tensors: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def id(self) -> str:
        """The name of the sample."""
        return f"{self.kind}/{self.name}/{self.index}"

    def widened(self) -> Sample:
        """Return the sample in float64."""

        def wide(leaf: Any) -> Any:
            floating = isinstance(leaf, Tensor) and leaf.is_floating_point()
            return leaf.double() if floating else leaf

        tensors, kwargs = pytree.tree_map(wide, (self.tensors, self.kwargs))
        return replace(
            self, module=copy.deepcopy(self.module).double(), tensors=tensors, kwargs=kwargs
        )


def full_name(op: OpInfo) -> str:
    """Return the name of an operator with its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


@functools.cache
def operators() -> dict[str, OpInfo]:
    """Return PyTorch's operators by name."""
    return {full_name(op): op for op in op_db}


@functools.cache
def modules() -> dict[str, ModuleInfo]:
    """Return PyTorch's modules by name."""
    return {info.name: info for info in module_db}


def names(kind: str) -> list[str]:
    """Return the names of the operators or modules that have samples of a kind."""
    if kind == "modules":
        return sorted(modules())
    dtype = DTYPES[kind]
    able = {name: op for name, op in operators().items() if dtype in op.supported_dtypes("cpu")}
    if kind == "in-place":
        able = {name: op for name, op in able.items() if op.inplace_variant}
    if kind == "extremal":
        able = {name: op for name, op in able.items() if not op.name.startswith(NOT_EXTREMAL)}
    return sorted(able)


def samples(kind: str, name: str, limit: int) -> Iterator[Sample]:
    """Yield at most `limit` samples of one operator, spread evenly over those that there are."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "modules":
            yield from _modules(name, limit)
            return
        op = operators()[name]
        made = list(op.sample_inputs("cpu", DTYPES[kind]))
    function = op.inplace_variant if kind == "in-place" else op.op
    for index in spread(len(made), limit):
        call = Call(function, made[index], kind == "in-place")
        tensors = call.tensors
        if kind == "extremal":
            tensors = tuple(extreme(tensor, shift) for shift, tensor in enumerate(tensors))
        yield Sample(kind, name, index, call.eval(), tensors, {})


def _modules(name: str, limit: int) -> Iterator[Sample]:
    info = modules()[name]
    found = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=False
    )
    made = [entry for entry in found if entry.forward_input is not None]
    for index in spread(len(made), limit):
        built, called = made[index].constructor_input, made[index].forward_input
        module = info.module_cls(*built.args, **built.kwargs).eval()
        yield Sample("modules", name, index, module, called.args, called.kwargs)


def spread(count: int, limit: int) -> Sequence[int]:
    """Return `limit` indices below `count`, evenly spaced, with the first and the last.

    >>> spread(9, 3)
    [0, 4, 8]
    """
    if count <= limit:
        return range(count)
    return sorted({round(i * (count - 1) / max(limit - 1, 1)) for i in range(limit)})


def extreme(tensor: Tensor, shift: int) -> Tensor:
    """Return a tensor of that shape with infinities, NaN, zeros, tiny and huge numbers."""
    if tensor.dtype is not torch.float32:
        return tensor
    values = torch.tensor(EXTREMES).roll(5 * shift)
    return values.repeat(tensor.numel() // len(values) + 1)[: tensor.numel()].view(tensor.shape)
