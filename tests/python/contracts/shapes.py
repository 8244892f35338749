"""Dynamic sizes: named and derived dimensions, hints, ranges and branches on sizes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.python.contracts.captures import functional, without
from tests.python.contracts.registry import Call, contract, f

N = Dim("n", min=3, max=6)


@contract((f(4, 5),), export="export_assume_static_by_default")
def a_branch_on_a_static_size(x):
    return x + 1 if x.shape[0] == 4 else x


@contract(
    (f(2, 3),),
    (f(4, 5),),
    dynamic=({0: "n", 1: "m"},),
    export="symint_output",
)
def sizes_are_results(x):
    n, m = x.size()
    return n + m + x[0], n


@contract(
    (f(2, 3, 6, 6), f(2, 4, 6, 6)),
    (f(5, 3, 6, 6), f(5, 4, 6, 6)),
    dynamic=({0: "n"}, {0: "n"}),
    export="conv_dynamic",
)
class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3, padding=1)
        self.pool = nn.MaxPool2d(3)

    def forward(self, x, y):
        a = self.layer(x)
        a.add_(y)
        return self.pool(F.relu(a))


@contract(
    (f(5), [f(5), f(5)], {"a": f(5), "b": f(5)}, f(4)),
    (f(7), [f(7), f(7)], {"a": f(7), "b": f(7)}, f(4)),
    dynamic=(
        {0: Dim("k", min=3)},
        [{0: Dim("k", min=3)}, {0: Dim("k", min=3)}],
        {"a": {0: Dim("k", min=3)}, "b": {0: Dim("k", min=3)}},
        None,
    ),
    export="non_strict_dynamic_shapes",
)
class NestedInputsAndABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.u, self.v = nn.Buffer(torch.ones(1)), nn.Buffer(torch.ones(1))

    def forward(self, x, ys, zs, c):
        y = ys[0] + ys[1] + zs["a"] - zs["b"]
        self.v.add_(2)
        w = self.u - self.v
        if x.shape[0] < 3 and c.shape[0] != 4:
            return x + w, x + y
        return x - w, x - y


@contract(
    (f(4, 4), f(4, 4)),
    (f(7, 5), f(7, 5)),
    dynamic=({0: Dim.AUTO, 1: Dim("d1", min=3)}, {0: Dim("d0", max=8), 1: Dim.DYNAMIC}),
    export="dim_auto_and_dim",
)
def hints_and_names(x, y):
    return x - y


@contract(
    (f(4), f(13), f(4)),
    (f(5), f(16), f(5)),
    dynamic=({0: N}, {0: 3 * N + 1}, {0: Dim.AUTO}),
    export="dim_auto_and_dim",
)
def a_hint_equals_a_derived_dimension(x, y, z):
    return x + y[1::3] * z


@contract(
    (f(6, 4), f(6, 4)),
    (f(8, 5), f(8, 5)),
    dynamic=(
        {0: Dim.AUTO(min=4), 1: Dim.AUTO},
        {0: Dim.DYNAMIC(max=16), 1: Dim.AUTO(max=32)},
    ),
    export="dim_hint_ranges",
)
def hints_with_ranges(x, y):
    return x + y


@contract((f(6),), (f(9),), dynamic=({0: "n"},), export="hoo_inline_users_issue")
def numbers_without_gradients(x):
    a = x.shape[0] + 2
    with torch.no_grad():
        y = a * 4
    return a + 2, y, x * a


@contract((f(5), f(6)), (f(4), f(5)), dynamic=({0: N}, {0: N + 1}), export="derived_dim_basic")
def one_longer(x, y):
    return x + y[1:]


@contract(
    (f(5), f(11)), (f(4), f(9)), dynamic=({0: N}, {0: 2 * N + 1}), export="derived_dim_nested"
)
def twice_and_one(x, y):
    return x - y[1::2]


@contract(
    (f(6), f(11)), (f(5), f(9)), dynamic=({0: N + 1}, {0: 2 * N + 1}), export="derived_dim_nested"
)
def two_derived_dimensions(z, y):
    return z[1:] + y[1::2]


@contract((f(10),), (f(8),), dynamic=({0: 2 * N},), export="derived_dim_integer")
def an_even_size(w):
    return w[::2] if w.shape[0] % 2 == 0 else w[1:-1:2]


@contract(
    (f(10), f(10)),
    (f(8), f(8)),
    dynamic=({0: 2 * N}, {0: 2 * N}),
    export="derived_dim_repeat_derived",
)
def a_derived_dimension_twice(u, v):
    return u[::2] * v[::2]


M = Dim("m", min=5, max=7)


@contract(
    (f(5), f(6), f(7)),
    (f(4), f(5), f(6)),
    dynamic=({0: M - 1}, {0: M}, {0: M + 1}),
    export="derived_dim_out_of_order derived_dim_out_of_order_simplified",
)
def derived_before_its_root(x, y, z):
    return x + y[1:] - z[2:]


@contract(
    (f(5), f(6), f(7), f(5), f(5)),
    (f(6), f(7), f(8), f(6), f(6)),
    dynamic=({0: M - 1}, {0: M}, {0: M + 1}, {0: M - 1}, {0: M + 1 - 2}),
    export="derived_dim_out_of_order_repeat_derived",
)
def derived_twice_before_its_root(x, y, z, a, b):
    return x + y[1:] + z[2:] - a * b


@contract(
    (f(5), f(6), f(6), f(7)),
    (f(4), f(5), f(5), f(6)),
    dynamic=({0: M - 1}, {0: M}, {0: M}, {0: M + 1}),
    export="derived_dim_out_of_order_simplified_repeat_non_derived",
)
def a_root_twice(x, y, y1, z):
    return x + y[1:] * y1[1:] + z[2:]


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x, y, z):
        return self.layer(x) + y[1:], z * 2.0


@contract(
    (f(4, 6), f(5, 4), f(3, 3)),
    (f(3, 6), f(4, 4), f(6, 3)),
    dynamic=((N, 6), (N + 1, 4), (Dim("k", min=3, max=6), None)),
    export="static_dim_constraints",
)
class RowsOfDynamicNumber(Rows):
    pass


@contract(
    (f(4, 6), f(5, 4), f(3, 3)),
    dynamic=((4, 6), {0: None, 1: 4}, (Dim.STATIC, Dim.STATIC)),
    export="static_dim_constraints",
)
class RowsOfStaticNumber(Rows):
    pass


@contract((f(2, 2),), (f(1, 2),), dynamic=({0: Dim("n", min=1, max=2)},), export="dim_1_2")
def one_or_two(x):
    return x * 2


@contract(
    (f(2, 2), f(3, 2)),
    dynamic=({0: Dim("n", min=1, max=2)}, {0: Dim("n", min=1, max=2) + 1}),
    export="derived_dim_1_2",
)
def two_or_three(x, y):
    return x + y[1:]


@contract(
    (f(4), f(4)),
    (f(7), f(7)),
    dynamic=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
    export="range_constraints_with_replacement",
)
def the_first_three(x, y):
    return (x + y)[:3]


@contract(
    (f(2, 5), f(2, 5)),
    (f(6, 5), f(6, 5)),
    dynamic=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
    export="dynamic_shapes_wrapped_with_shape_guards",
)
class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x, y):
        return torch.sigmoid(self.layer(x + y))


@contract(
    (f(2, 5), f(2, 5)),
    (f(6, 5), f(6, 5)),
    dynamic={"args": ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})},
    export="dynamic_shapes_wrapped_with_shape_guards",
)
class WrappedNeuron(Neuron):
    def forward(self, *args):
        return super().forward(*args)


def collected(module, call, _):
    """Export with dimensions that are given by tensor."""
    x, y, z = (dict(call.kwargs).get(k, v) for k, v in zip("xyz", call.args + (None,) * 2))
    shapes, n = torch.export.ShapesCollection(), Dim("n", max=10)
    shapes[x] = (n,)
    shapes[y[0]] = (n,)
    shapes[z["k"]][0] = n
    return torch.export.export(module, call.args, dict(call.kwargs), dynamic_shapes=shapes)


@contract(
    (f(4), [f(4)], {"k": f(4)}),
    (f(6), [f(6)], {"k": f(6)}),
    capture=collected,
    export="dynamic_shapes_builder_basic",
)
def shapes_by_tensor(x, y, z):
    return x + y[0] * z["k"]


@contract(
    Call((f(4),), {"z": {"k": f(4)}, "y": [f(4)]}),
    Call((f(6),), {"z": {"k": f(6)}, "y": [f(6)]}),
    capture=collected,
    export="dynamic_shapes_builder_kwargs",
)
def shapes_by_keyword(x, y, z):
    return x + y[0] * z["k"]


def inferred(module, call, other):
    """Export with dimensions that are inferred from a second call."""
    further = torch.export.AdditionalInputs()
    further.add(other)
    return torch.export.export(module, call.args, dynamic_shapes=further)


@contract(
    (f(4), [f(4)], {"k": f(3)}),
    (f(5), [f(5)], {"k": f(3)}),
    (f(9), [f(9)], {"k": f(3)}),
    dynamic=(f(5), [f(5)], {"k": f(3)}),
    capture=inferred,
    export="dynamic_shapes_inferred_basic",
)
def shapes_of_a_second_call(x, y, z):
    return (x + y[0])[:3] * z["k"]


@contract(
    ({"k": {"k": [f(4), f(4)]}},),
    ({"k": {"k": [f(6), f(6)]}},),
    dynamic=({"k": {"k": [(Dim("n"),), (Dim("n"),)]}},),
    export="mismatched_dynamic_shapes",
)
def dimensions_of_nested_inputs(x):
    return x["k"]["k"][0] + x["k"]["k"][1]


@contract(
    (f(1, 1, 8, 8), f(1, 1, 8, 8)),
    (f(1, 1, 12, 6), f(1, 1, 12, 6)),
    dynamic=({2: Dim.AUTO, 3: Dim.AUTO}, {2: Dim.AUTO, 3: Dim.AUTO}),
    export="solver_unsupported_sympy_function",
)
def halved_and_doubled(x, y):
    x = F.interpolate(x, scale_factor=0.5, mode="bilinear")
    return F.interpolate(x, scale_factor=2.0, mode="bilinear") + y


@contract(
    (torch.arange(6).reshape(2, 3), torch.arange(6).reshape(3, 2)),
    (torch.arange(8).reshape(2, 4), torch.arange(9).reshape(3, 3)),
    dynamic=({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}),
    export="export_max_onnx_reported",
)
def padded_to_the_larger(x, y):
    z = torch.zeros((max(x.shape[0], y.shape[0]), max(x.shape[1], y.shape[1])), dtype=x.dtype)
    z[: x.shape[0], : x.shape[1]] = x
    z[: y.shape[0], : y.shape[1]] += y
    return z


@contract(
    (f(4, 4), f(6, 4)),
    (f(3, 4), f(8, 4)),
    dynamic=({0: Dim.AUTO}, {0: Dim.AUTO}),
    export="export_max_nonstrict",
)
def the_larger_size(x, y):
    sizes = [x.shape[0], y.shape[0], x.shape[0]]
    return torch.sym_max(sizes[0], sizes[1]) + torch.sym_min(sizes[1], sizes[2])


@contract(
    (f(3, 4),),
    (f(3, 6),),
    dynamic=({1: 2 * Dim("half", max=4000)},),
    export="export_mod_constraints",
)
def a_view_by_a_smaller_size(x):
    return x.view(x.shape[0] - 1, -1)


@contract(
    (f(4, 4), f(5, 4)),
    (f(6, 3), f(7, 4)),
    dynamic=({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO}),
    export="dont_duck_size_for_auto_dynamic",
)
def equal_examples_of_different_sizes(x, y):
    assert y.shape[1] == 4
    assert x.shape[0] == y.shape[0] - 1
    return x * 2, y * 2


@contract((f(4),), (f(6),), dynamic=({0: Dim.DYNAMIC},), export="dim_dynamic_divisibility")
def even_or_odd(x):
    return x.clone() * 2 if x.size(0) % 2 == 0 else x.clone() * 0


def deferred(module, call, dynamic):
    """Export with assertions instead of guards."""
    return torch.export.export(
        module,
        call.args,
        dynamic_shapes=dynamic,
        prefer_deferred_runtime_asserts_over_guards=True,
    )


@contract(
    (f(10, 72),),
    (f(8, 7),),
    dynamic=({0: Dim("a"), 1: Dim("b")},),
    capture=deferred,
    export="disable_forced_specializations_ok",
)
def a_reshape_that_is_asserted(x):
    return x.reshape(x.shape[0] - 1, 4, -1)


@contract(
    (f(6, 8), f(3, 16), f(48)),
    (f(5, 8), f(4, 10), f(40)),
    dynamic=({0: "a", 1: "b"}, {0: "c", 1: "d"}, {0: Dim("e", min=4)}),
    export="disable_forced_specializations_ok",
)
def equal_products_of_sizes(x, y, z):
    return x.reshape([-1]) + y.reshape([-1]) * z


@contract(
    (f(4, 3, 2), f(24)),
    (f(5, 7, 2), f(70)),
    dynamic=({0: Dim("a", min=2), 1: Dim("b", min=2), 2: Dim("c", min=2)}, {0: Dim("d", min=8)}),
    capture=deferred,
    export="disable_forced_specializations_ok",
)
def a_product_of_three_sizes(x, y):
    return x.reshape([-1]) + y


@contract(
    (f(24, 6, 4),),
    (f(10, 6, 4),),
    dynamic=({0: Dim("n")},),
    capture=deferred,
    export="reshape_view_helper",
)
def a_view_by_another_size(x):
    return F.softmax(x.view(x.size(1), -1), dim=0)


@contract(
    (f(6), f(12)),
    (f(9), f(27)),
    dynamic=({0: Dim("a", min=4)}, {0: Dim("b", min=4)}),
    capture=deferred,
    export="allow_explicit_guards_as_runtime_asserts",
)
def guards_that_are_asserted(x, y):
    if x.shape[0] == y.shape[0]:
        return x + y, y
    if x.shape[0] == y.shape[0] ** 3:
        return x + 2, y + 3
    return x * 2.0, y * 3.0


@contract(
    (f(5), f(3)),
    (f(5), f(3)),
    dynamic=({0: Dim("a")}, {0: Dim("b")}),
    capture=deferred,
    export="cse_for_symint",
)
def differences_of_squares(x, y):
    if 4 <= x.shape[0] ** 2 - y.shape[0] ** 2 <= 20 and x.shape[0] ** 2 - y.shape[0] ** 2 != 15:
        return x * 2, y * 2
    return x, y


@contract(
    (f(6), f(4)),
    (f(3), f(5)),
    dynamic=({0: Dim("n")}, {0: Dim("m")}),
    capture=functional,
    export="intermediate_shape_comp",
)
def a_size_of_an_unused_tensor(x, y):
    z = torch.cat([x, x], dim=0).repeat(y.shape[0])
    return z.shape[0] + x.shape[0]


@contract(
    (f(5, 4),),
    (f(3, 4),),
    (f(7, 4),),
    dynamic=({0: Dim("n")},),
    capture=without(torch.ops.aten.linear.default),
    export="export_linear_preserve_dynamic_shape",
)
class KeptLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


AUTO = Dim.AUTO


@contract(
    (f(6, 3), f(6, 3), f(6, 3)),
    (f(4, 4), f(4, 4), f(4, 4)),
    dynamic=((AUTO, AUTO), (AUTO, AUTO), (AUTO, AUTO)),
    export="automatic_dynamic_shapes_simple_equality",
)
def equal_sizes(x, y, z):
    return x + y * z


@contract(
    (f(6, 3), f(6, 3), f(6, 3)),
    (f(4, 3), f(4, 3), f(4, 3)),
    dynamic=((AUTO, AUTO), (AUTO, AUTO), (AUTO, None)),
    export="automatic_dynamic_shapes_simple_equality",
)
def one_static_size(x, y, z):
    return x + y * z


@contract(
    (f(6), f(10)),
    (f(3), f(7)),
    dynamic=((AUTO,), (AUTO,)),
    export="automatic_dynamic_shapes_constant_relation",
)
def four_longer(x, y):
    return x + y[4:]


@contract(
    (f(21), f(5)),
    (f(33), f(8)),
    (f(30), f(8)),
    dynamic=((AUTO,), (AUTO,)),
    export="automatic_dynamic_shapes_linear_relation",
)
def every_fourth(x, y):
    return x[1::4] + y


HALF = Dim("half", min=4, max=16)


@contract(
    ([f(8, 4), f(9, 4)], f(4), f(4, 4), "yes"),
    ([f(16, 4), f(17, 4)], f(8), f(4, 4), "yes"),
    dynamic=([(2 * HALF, 4), (2 * HALF + 1, 4)], (HALF,), None, None),
    export="dynamic_shapes_serdes_generic dynamic_shapes_serdes_various",
)
def derived_dimensions_in_a_list(a, b, c, d):
    x = a[0] + a[1][1:]
    return (x + torch.cat([b, b], dim=0).reshape([-1, 1]) if d == "yes" else x), c * 2


DYN = Dim.DYNAMIC


@contract(
    (f(5), f(4), f(4), f(4, 4), f(16)),
    (f(6), f(5), f(5), f(7, 8), f(56)),
    dynamic=((DYN,), (DYN,), (DYN,), (DYN, DYN), (DYN,)),
    export="dim_dynamic",
)
def relations_of_sizes(u, w, x, y, z):
    return u[1:] + w * x, y.flatten() - z


@contract((f(3, 4),), (f(5, 8),), dynamic=((DYN, DYN),), capture=deferred, export="dim_dynamic")
def a_view_that_divides(x):
    return x.view(x.shape[0] - 1, -1)


@contract(
    (f(8),),
    *[(f(n),) for n in range(5, 11)],
    dynamic=({0: Dim("n", min=5, max=10)},),
    export="dynamic_sym_round",
)
def a_rounded_half(x):
    return x[: round(x.shape[0] / 2.0)]


@contract((f(8),), (f(5),), dynamic=({0: Dim("n", min=5, max=10)},), export="dynamic_lr_shift")
def shifted_sizes(x):
    return x[: x.shape[0] >> 1], x[: x.shape[0] << 1]
