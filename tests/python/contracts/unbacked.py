"""Sizes and numbers that depend on values."""

import torch
from torch import nn
from torch.export import Dim

from tests.python.contracts.captures import functional, strict, strict_functional
from tests.python.contracts.registry import contract, f, i, t


@contract((i(3),), (i(5),), export="export_inline_constraints")
def a_value_is_a_size(x):
    n = x.item()
    torch._check_is_size(n)
    return torch.full((n, 2), 7)


@contract((i(4),), (i(5),), export="export_constraints_error")
def a_value_with_bounds(x):
    n = x.item()
    torch._check_is_size(n)
    torch._check(n >= 4)
    torch._check(n <= 5)
    torch._check(True)
    return torch.full((n, 2), 7)


@contract((f(4, 7), t(5)), (f(4, 7), t(2)), export="export_slice_unbacked_dim1")
def a_value_is_a_length(x, length):
    n = length.item()
    torch._check_is_size(n)
    torch._check(n <= x.size(1))
    return x.narrow(1, 0, n)


@contract(
    (torch.arange(10), t(2)),
    (torch.arange(10), t(4)),
    export="export_strict_narrow_unbacked_expr",
)
def an_expression_is_a_length(x, p):
    n = p.item()
    torch._check(n + 5 <= x.shape[0])
    torch._check(n >= 0)
    return x.narrow(0, n + 5, torch.sym_fresh_size(x.shape[0] - n - 5))


@contract((i(0, 3, 3, 1, 5),), (i(2, 2, 7, 0, 0),), export="bincount")
def weighted_counts(x):
    return x.bincount(torch.linspace(0, 1, steps=5))


@contract((i(20, 10),), (i(5, 10),), export="unbacked_bincount")
def counts_with_a_minimum(x):
    n, least = x.tolist()
    return torch.bincount(torch.ones(n, dtype=torch.int64), minlength=least)


@contract(
    (f(3, 4, 2),),
    (f(5, 6, 2),),
    dynamic=({0: Dim("a", max=100), 1: Dim("b", max=7)},),
    export="masked_select_dynamic",
)
def selected_by_a_mask(x):
    return torch.masked_select(x, x.ge(0.5))


@contract(
    (f(3, 4, 2).relu(),),
    (f(5, 6, 2).relu(),),
    dynamic=({0: Dim("a", max=100), 1: Dim("b", max=7)},),
    export="nonzero_dynamic",
)
def positions_of_nonzero_values(x):
    return torch.nonzero(x), torch.nonzero(x, as_tuple=True)


@contract((t(10),), (t(0),), export="nonzero_dynamic")
def positions_in_a_scalar(x):
    return torch.nonzero(x)


@contract(
    (f(5, 4), torch.ones(5, 4, dtype=torch.bool), f(20)),
    (f(6, 4), torch.ones(6, 4, dtype=torch.bool), f(20)),
    dynamic=({0: "n"}, {0: "n"}, {0: Dim("k", max=100)}),
    export="mask_nonzero_static",
)
def positions_of_a_stated_number(x, mask, like):
    at = torch.nonzero_static(mask, size=like.shape[0])
    return x[at.chunk(chunks=mask.dim(), dim=1)].squeeze() * 2


@contract((f(2, 3),), (f(4, 3),), dynamic=({0: Dim.AUTO},), export="where_decomp")
def positions_by_where(x):
    return torch.ops.aten.where.default(x > 0)


@contract((i(4),), (i(-7),), export="symint_item")
def an_integer_is_a_result(x):
    return x.item()


@contract((t([True]),), (t([False]),), export="symbool_item")
def a_boolean_is_a_result(x):
    return x.item()


@contract((t([3.25]),), (t([-1.5]),), export="symfloat_item")
def a_number_is_a_result(x):
    return x.item()


@contract((i(5, 6),), (i(1, 2),), export="unbacked_unsqueeze")
def a_sum_of_values_is_a_size(x):
    a, b = x.tolist()
    return torch.zeros(1, a + b).contiguous().unsqueeze(-1)


@contract(
    (torch.ones(6), f(3), f(6, 3)),
    (torch.ones(6), f(3), f(6, 3)),
    dynamic=(None, None, {0: Dim.DYNAMIC}),
    export="colin_unbacked_backed_vr_sub",
)
def an_unbacked_size_meets_a_backed_one(a, b, c):
    ones = a.new_ones([torch.nonzero(a).size(0), b.size(0)])
    torch._check(ones.size(0) >= 1)
    return torch.add(ones, c)


@contract((t(3),), export="is_nonzero")
def is_nonzero(x):
    return torch.is_nonzero(x)


@contract((t([0.1, 2.0]),), (t([1.0, 2.0]),), export="real_tensor_bool_cast")
def a_comparison_is_a_result(x):
    return bool(x.eq(0.1).any())


@contract((f(3, 4), t(7)), (f(3, 4), t(-2)), export="export_script_module")
def a_value_is_added(x, n):
    return x + n.item()


@contract((t(6), t(2), t(4), f(1)), (t(7), t(3), t(4), f(1)), export="torch_check_eq_commutativity")
def an_assertion_decides(a, b, c, y):
    a, b, c = a.item(), b.item(), c.item()
    torch._check(a == b + c)
    return y * 2 if b + c == a else y + 3


@contract((t(6), t(6), t(4), f(1)), (t(7), t(3), t(1), f(1)), export="torch_check_eq_commutativity")
def a_negated_assertion_decides(a, b, c, y):
    a, b, c = a.item(), b.item(), c.item()
    torch._check(a != b + c)
    return y * 2 if b + c == a else y + 3


@contract(
    (t(4), t(5), f(5)),
    (t(4), t(7), f(7)),
    dynamic=(None, None, {0: Dim("n", max=16)}),
    export="replaced_unbacked_bindings",
)
def values_that_equal_sizes(x, y, z):
    m, n = x.item(), y.item()
    torch._check(m == 4)
    torch._check(n == z.shape[0])
    return m + n + z


@contract((i(5),), (i(3),), export="unbacked_infer_size")
def one_less_than_a_value(x):
    n = x.item()
    torch._check_is_size(n)
    y = torch.ones(n - 1)
    return y + y


@contract((i(6, 5, 4), i(2, -2, 1, 0)), (i(6, 7, 4), i(-1, 3, 0, 2)), export="unbacked_pad")
def values_pad(xs, pad):
    a, b, c = xs.tolist()
    left, right, top, bottom = pad.tolist()
    return torch.nn.functional.pad(torch.ones(a, b, c), (left, right, top, bottom))


@contract((i(1, 4, 4),), (i(2, 5, 5),), export="suggested_fixes_for_data_dependent_errors_basic")
def a_view_by_values(x):
    items = [x[at].item() for at in range(x.numel())]
    return torch.zeros(items[0], items[1]).view(items[0], items[2])


@contract((t(2), f(7)), (t(6), f(7)), export="suggested_fixes_for_data_dependent_errors_puzzlers")
def a_value_is_a_start(x, y):
    at = x.item()
    torch._check(at >= 0)
    return y.narrow(0, at, 1).squeeze()


@contract(
    ([f(3), f(3), f(3)], t(2)),
    ([f(3), f(3), f(3)], t(0)),
    export="suggested_fixes_for_data_dependent_errors_puzzlers",
)
def one_of_a_list(xs, y):
    at = y.item()
    torch._check(at >= 0)
    return torch.stack(xs, 0).narrow(0, at, 1).squeeze()


@contract(
    (torch.arange(10), i(0, 2, 5, 10)),
    (torch.arange(10), i(0, 4, 4, 10)),
    export="suggested_fixes_for_data_dependent_errors_puzzlers",
)
def parts_of_stated_lengths(x, offsets):
    parts, start = [], 0
    for length in torch.diff(offsets).tolist():
        parts.append(x.narrow(0, start, length))
        start += length
    return parts


@contract((i(5),), (i(8),), export="simple_unbacked_view")
def a_view_swaps_sizes(x):
    n = x.item()
    return torch.ones(5, n).view(n, 5)


@contract((i(4, 4),), (i(5, 5),), export="simple_unbacked_view")
def a_reshape_to_a_value(x):
    a, b = x.tolist()
    return torch.zeros(a).reshape(b)


@contract((i(1, 2, 3),), (i(4, 0, 9),), export="tolist")
def a_list_of_values(x):
    return x.tolist()


@contract((t(4),), (t(20),), export="export_max_nonstrict")
def the_larger_of_a_value(x):
    return torch.ones(max(x.item(), 12))


@contract((t(4),), (t(2),), export="export_max_nonstrict")
def maxima_of_tensors(x):
    return max([x, x]) + min([x, x]) + max(x, 5) + min(x, 3)


@contract((t(5), f(3)), (t(12), f(3)), tolerance=1e-3, export="math_pow")
def a_power_of_a_value(x, y):
    return y * torch.sym_min(x.item(), 10) ** 3


@contract(
    (t([[0.1, 0.3, 0.2], [0.12, 0.7, 0.9]]), 0.15, t(3)),
    (t([[0.5, 0.3, 0.2], [0.12, 0.7, 0.9]]), 0.15, t(9)),
    export="unbacked_slice",
)
def the_best_above_a_threshold(scores, least, count):
    mask = scores > least
    kept, at = scores[mask], torch.nonzero(mask)
    n = torch.minimum(count, torch.tensor(at.shape[0])).item()
    torch._check_is_size(n)
    torch._check(kept.shape[0] >= n)
    kept, order = kept.sort(descending=True)
    rows, labels = at[order[:n]].unbind(dim=1)
    return kept[:n], labels, rows


@contract((t(4), f(6, 6)), (t(0), f(6, 6)), export="multidimensional_slicing")
def one_element(x, y):
    at = x.item()
    torch._check(at >= 0)
    torch._check(at < y.shape[0])
    return y[0, at]


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(6, 3), nn.LayerNorm(6)

    def forward(self, x, mask):
        rows = x.masked_select(mask).view(-1, 6)
        return self.layer(rows), self.norm(rows)


@contract(
    (f(4, 6), t([[True], [False], [True], [True]])),
    (f(4, 6), t([[True], [False], [False], [False]])),
    export="unbacked_linear_layer_norm_input",
)
class SelectedRows(Masked):
    pass


@contract((t(6), f(6), f(6)), export="layer_norm_unbacked_normalized_shape")
def a_norm_over_a_value(n, weight, bias):
    n = n.item()
    x = torch.arange(2 * 6.0).reshape(2, 6)[:, :n]
    return torch.nn.functional.layer_norm(x, (n,), weight, bias)


@contract((f(4, 3), t(2)), (f(4, 3), t(6)), export="unbacked_3d_matmul")
def an_expanded_product(x, repeat):
    n = repeat.item()
    return torch.matmul(x.unsqueeze(1).expand(x.size(0), n // 2, x.size(-1)), torch.arange(3.0))


@contract((t(3), f(10)), (t(5), f(12)), dynamic=(None, {0: "n"}), export="unflatten_asserts")
def two_assertions(x, y):
    at = x.item()
    torch._check_is_size(at)
    torch._check(at < y.size(0))
    one = y[:at]
    torch._check(at < y.size(0) * 2)
    return one + y[:at] * 2


@contract(
    (i(1, 3), i(3, 4)),
    (i(2, 1), i(3, 4)),
    export="constrain_size_in_eager constrain_size_with_constrain_value",
)
def a_maximum_is_added(x, y):
    n = x.max().item()
    torch._check(n >= 2)
    torch._check(n <= 10)
    torch._check_is_size(n)
    return y + n


@contract(
    (t(4), f(4, 5)),
    (t(2), f(4, 5)),
    export="constrain_size_with_various_cases automatic_constrain_size",
)
def a_sum_of_ones(x, y):
    n = x.item()
    torch._check(n >= 2)
    torch._check(n <= 6)
    return y.sum() + torch.ones(n, 5).sum()


@contract((t(1),), (t(0),), export="automatic_constrain_size redundant_asserts")
def a_size_without_assertions(x):
    return torch.ones(x.item(), 5).sum()


@contract((t(1),), (t(4),), export="constrain_decomp")
class ReadsARow(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.rand(5, 4)

    def forward(self, start):
        at = start.item()
        torch._check(at >= 0)
        torch._check(at <= 4)
        return self.held[at] * self.held[at]


@contract(
    (i(5),),
    (i(6),),
    export="export_with_inline_constraints export_with_inline_constraints_complex",
)
def a_transposed_size(x):
    a = x.item()
    torch._check(a >= 4)
    torch._check(a <= 7)
    return torch.cat((torch.ones(a, 4).transpose(0, 1), torch.zeros(6, a)), 0)


@contract((i(8),), (i(16),), export="unbacked_noncontig_lin")
class LayerOverAView(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(torch.ones(x.item()).view(1, -1, 4))


@contract((i(2, 6, 5),), (i(6, 5, 5),), export="sym_or_sym_and ccode_python_mod")
def assertions_with_alternatives(x):
    from torch.fx.experimental.symbolic_shapes import sym_and, sym_or

    a, b, c = x.tolist()
    torch._check(sym_or(a == 2, a == 4, a == 6))
    torch._check(sym_and(b >= 4, b <= 8, c == 5))
    return a + b + c, a * b


@contract(
    (i(1, 1, 1, 0, 1),),
    (i(1, 0, 1, 1, 1, 1),),
    dynamic=({0: "n"},),
    export="redundant_assert_max_upper_bound nonzero_2",
)
def at_least_three_positions(x):
    at = x.nonzero()
    torch._check(at.shape[0] >= 3)
    return at


@contract((t(6),), export="no_check_is_size_error")
def a_view_with_a_value(x):
    return torch.arange(24.0).view(x.item(), 4)


@contract((t(5), f(10)), (t(6), f(13)), dynamic=(None, {0: "n"}), export="runtime_assert_with_size")
def at_most_a_size(x, y):
    n = x.item()
    torch._check_is_size(n)
    torch._check(n <= y.size(0))
    return y[:n]


@contract((), export="export_graph_with_no_inputs")
def a_size_of_a_constant():
    return (torch.full((torch.full((), 11).item(),), 0.5),)


@contract((f(6, 2), i(12)), export="replace_unbacked_with_very_large_upperbound")
def a_very_large_bound(x, n):
    n = n.item()
    torch._check(n <= 1000000007999999992)
    return x.reshape([-1]) + torch.ones(n)


@contract((i(0, 3, 2),), (i(1, 5, 7),), export="python_asserts_with_sym_int")
def a_python_assertion(x):
    y = x + 1
    assert y.max().item() > 0
    return y


@contract(
    (i(3), t([3.14]), t([True])),
    (i(5), t([-1.2]), t([False])),
    export="unbacked_scalar_constructor",
)
def tensors_of_values(a, b, c):
    return torch.tensor([a.item()]), torch.tensor([b.item()]), torch.tensor([c.item()])


@contract((t(4), f(5, 5)), (t(3), f(5, 5)), export="unbacked_deferred_runtime_retrace")
def an_assertion_without_gradients(x, y):
    with torch.no_grad():
        a = x.item()
        torch._check_is_size(a)
        torch._check(a > 2)
        torch._check(a < 6)
        z = torch.full((4, 4), a)
    return y + y.sin().sum() * z.sum()


@contract((i(1, 2, 3),), (i(3, 4, 5),), (i(0, 1, 0),), export="unbacked_expand")
def an_expansion_by_values(xs):
    a, b, c = xs.tolist()
    return torch.ones(a, b, 1).expand(-1, b, c)


@contract((i(2, 2),), (i(5, 5),), (i(1, 1),), export="unbacked_expand")
def an_expansion_to_an_equal_value(xs):
    a, b = xs.tolist()
    return torch.ones(a).expand(b)


@contract((torch.arange(64), i(32)), (torch.arange(64), i(5)), export="unbacked_kth_value")
def a_value_is_a_rank(x, y):
    return x.kthvalue(torch.sym_min(y.item(), 12), dim=0, keepdim=True).values


@contract((f(10), t(6)), (f(10), t(4)), export="checks_to_constrain_range")
def two_reads_of_a_value(x, y):
    n, m = y.item(), y.item()
    torch._check_is_size(n)
    torch._check(m >= 0)
    torch._check(n >= 3)
    torch._check(-m >= -9)
    torch._check(n <= 6)
    return x[:n]


@contract((f(4),), (f(4) + 2,), export="sym_float_operators")
def a_maximum_is_divided(x):
    return -(x.max().item() / 2) + x


@contract(
    (f(4, 8), torch.arange(4, dtype=torch.int8)),
    (f(6, 8), torch.arange(6, dtype=torch.int8)),
    dynamic=((Dim.AUTO, Dim.AUTO), (Dim.AUTO,)),
    capture=strict_functional,
    export="export_unbacked_lt",
)
def compared_with_its_size(x, ranks):
    part = x.narrow(dim=1, start=0, length=ranks.max().item())
    return part < part.size(1)


@contract(
    (f(4, 6), t([[True], [False], [True], [True]])),
    (f(4, 6), t([[False], [False], [True], [True]])),
    capture=strict,
    export="unbacked_contiguous",
)
def a_contiguous_view(x, mask):
    return x.masked_select(mask).view(-1, 6).contiguous() + 1


@contract((f(3, 3), i(0)), (f(3, 3), i(2)), capture=functional, export="unbacked_select_index")
def a_selected_row(x, y):
    return x.select(0, y.item())


@contract(
    (torch.zeros(6), torch.ones(6)),
    (torch.ones(6), t([0.0, 1, 0, 1, 1, 0])),
    export="real_tensor_for_max_op",
)
def the_larger_selection(x, y):
    return torch.sym_max(x[x > 0].shape[0], y[y > 0].shape[0])
