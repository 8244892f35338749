"""Results of special functions that mpmath computes, where PyTorch's own are not exact."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import torch
from torch import Tensor

from tests.python.conformance.samples import Sample


def polygamma(sample: Sample, number: mpmath.mpf) -> mpmath.mpf:
    """Return a derivative of digamma; its poles are integers, which PyTorch's sine misses."""
    _, (order, *_), _ = sample.module.arguments(sample.tensors)
    if number <= 0 and number == mpmath.floor(number):
        return mpmath.inf if order % 2 else mpmath.nan
    return mpmath.polygamma(order, number)


def bessel(function: Callable[..., mpmath.mpf], order: int) -> Callable[..., mpmath.mpf]:
    """Return a Bessel function."""
    return lambda _, number: function(order, number)


FUNCTIONS: dict[str, Callable[[Sample, mpmath.mpf], mpmath.mpf]] = {
    **{f"polygamma.polygamma_n_{n}": polygamma for n in range(5)},
    "special.polygamma.special_polygamma_n_0": polygamma,
    "special.bessel_j0": bessel(mpmath.besselj, 0),
    "special.bessel_j1": bessel(mpmath.besselj, 1),
    "special.bessel_y0": bessel(mpmath.bessely, 0),
    "special.bessel_y1": bessel(mpmath.bessely, 1),
}
# Beyond this, mpmath takes minutes for a phase.
LARGEST = 1e6


def improved(sample: Sample, results: list[Tensor]) -> list[Tensor]:
    """Return PyTorch's results with exact ones in place of finite numbers, as far as known."""
    function = FUNCTIONS.get(sample.name)
    if function is None or len(sample.tensors) != 1 or results[0].dtype.is_complex:
        return results
    argument, result = sample.tensors[0], results[0].clone()
    for place in range(result.numel()):
        number = argument.reshape(-1)[place].item()
        is_pole = number <= 0 and number == int(number) if abs(number) < float("inf") else False
        if is_pole or abs(number) < LARGEST:
            with mpmath.workdps(30):
                try:
                    value = float(function(sample, mpmath.mpf(number)))
                except (ValueError, ZeroDivisionError):
                    continue
            result.reshape(-1)[place] = torch.tensor(value, dtype=torch.float64)
    return [result]
