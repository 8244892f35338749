"""Views, slices, and writes through views."""

import torch
from torch import nn
from torch.export import Dim

from tests.python.contracts.registry import contract, f, i


@contract((f(5, 3),), (f(8, 3),), dynamic=({0: "n"},), export="export_slice_maxsize")
def a_slice_up_to_the_end(x):
    return torch.ops.aten.slice.Tensor(x, 0, 1, 9223372036854775807)


@contract(
    (f(6, 5),), (f(9, 5),), dynamic=({0: Dim.AUTO},), export="reshape_view_backed_size_oblivious"
)
def stacked_slices_are_reshaped(x):
    return torch.stack([x[:-1, :]] * 3, dim=0).reshape(-1, 3, 5)


@contract(
    (f(2, 1, 3, 6), f(2, 1, 3, 4)),
    (f(2, 1, 3, 8), f(2, 1, 3, 5)),
    dynamic=({3: "m"}, {3: "k"}),
    export="issue_157289",
)
def a_write_to_a_slice_of_dynamic_length(mask, fill):
    mask = mask.clone()
    mask[:, :, :, : fill.shape[-1]] = fill
    return mask


@contract(
    (f(4, 5), f(4, 2)),
    (f(3, 5), f(5, 2)),
    dynamic=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
    export="export_statically_known_true",
)
def a_slice_by_a_polynomial(x, y):
    end = y.shape[0] ** 2 - 3 * y.shape[0]
    return x[:, :end]


@contract((f(7, 6), f(5, 4)), (f(7, 6), f(5, 4)), export="ends_of_bounds_oblivious")
class WritesToTheFrontOfABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(8, 6))

    def forward(self, x, y):
        self.kept[0 : x.shape[0]] = x
        return x + 2, y[:, ::1]


INDICES = "more_multidimensional_slicing"


def indices(y, x):
    """Return three indices, which are known to be in range."""
    found = x.tolist()
    for axis, at in enumerate(found):
        torch._check(at >= 0)
        torch._check(at < y.shape[axis])
    return found


@contract((f(4, 5, 6), i(2, 3, 4)), (f(4, 5, 6), i(0, 0, 5)), export=INDICES)
def one_element(y, x):
    a, b, c = indices(y, x)
    return y[a, b, c]


@contract((f(4, 5, 6), i(2, 3, 4)), (f(4, 5, 6), i(1, 2, 2)), export=INDICES)
def slices(y, x):
    a, b, c = indices(y, x)
    return y[:a, :b, :c]


@contract((f(4, 5, 6), i(2, 3, 4)), (f(4, 5, 6), i(3, 1, 2)), export=INDICES)
def slices_and_an_index(y, x):
    a, b, c = indices(y, x)
    return y[:a, b, :c]


@contract((f(4, 5, 6), i(2, 3, 4)), (f(4, 5, 6), i(3, 1, 2)), export=INDICES)
def new_axes_and_an_index(y, x):
    a, b, c = indices(y, x)
    return y[None, a, None], y[None, ..., None, b]


@contract((f(4, 5, 6), i(2, 3, 4)), (f(4, 5, 6), i(3, 2, 2)), export=INDICES)
def new_axes_and_slices(y, x):
    a, b, c = indices(y, x)
    return y[:a, None, :b, None, None, :c], y[:a, None, ..., None, b]
