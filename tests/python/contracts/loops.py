"""`while_loop`, `map`, `scan` and `associative_scan`."""

import torch
from torch import nn

from tests.python.contracts.hops import associative_scan, cond, map, scan, while_loop
from tests.python.contracts.registry import contract, f, i, t

ROWS = ({0: "n"},)


@contract((t([0.5]),), (t([20.0]),), flow="while_loop_functionalize while_loop_compile")
def counts_up(x):
    return while_loop(lambda x: x.sum() < 10, lambda x: (x + 1,), (x,))


@contract(
    (t([0.5]),),
    (t([20.0]),),
    flow="while_loop_simple_functionalize_check_graph",
)
def writes_to_copies(x):
    def body(x):
        y = x.clone().add_(2).add_(-1)
        return (y + 1,)

    return while_loop(lambda x: x.clone().mul_(2).sum() < 10, body, (x,))


@contract(
    (t([0.0]), t([1.0]), t([0.0])),
    (t([3.0]), t([1.0]), t([2.0])),
    flow="while_loop_nested_traced while_loop_tracing",
)
def nested_loops(outer, inner, step):
    def body(outer, inner, step):
        def again(outer, inner, step):
            return outer.clone(), inner + step, step + 1

        found = while_loop(lambda o, i, s: i.sum() < 10, again, (outer, inner, step))
        return found[0] + 1, found[1], found[2]

    return while_loop(lambda o, i, s: o.sum() < 2, body, (outer, inner, step))


@contract(
    (t(2), t(2), f(2, 2), f(2, 2)),
    (t(3), t(0), f(2, 2), f(2, 2)),
    flow="while_loop_nested2_traced",
)
def nested_counters(a, b, x, y):
    def inner(a, b, x, y):
        return a.clone(), b - 1, x + 1.5, y - 2.5

    def body(a, b, x, y):
        a, b, x, y = while_loop(lambda a, b, x, y: b > 0, inner, (a, b, x, y))
        return a - 1, b.clone(), x * 2, y / 2

    return while_loop(lambda a, b, x, y: a > 0, body, (a, b, x, y))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.step = nn.Buffer(torch.tensor(1))

    def forward(self, count, x):
        def body(count, x):
            return count - 1, self.layer(x)

        return while_loop(lambda count, x: count - self.step > 0, body, (count, x))


@contract(
    (t(3), f(2, 2)),
    (t(0), f(2, 2)),
    flow="while_loop_simple_with_linear_compile_check_graph while_loop_schema_gen",
)
class LayerInALoop(Layer):
    pass


@contract((t(3), f(2, 2)), (t(1), f(2, 2)), flow="while_loop_tracing")
class LayersInNestedLoops(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = Layer(), nn.Linear(2, 2)

    def forward(self, count, x):
        def body(count, x):
            return count - 1, self.outer(self.inner(count, x)[1])

        return while_loop(lambda count, x: count > 1, body, (count, x))


@contract((f(6, 3), f(3)), export="while_loop_tensor_constant_idx")
def rows_are_read_and_written_by_a_counter(x, start):
    def body(at, out, sum):
        index = at.item()
        torch._check_is_size(index)
        torch._check(index < x.size(0))
        sum = x[index] + sum
        out = out.clone()
        out[index] = sum
        return at + 1, out, sum

    carried = (torch.tensor(0), torch.zeros_like(x), start)
    return while_loop(lambda at, out, sum: at < out.size(0), body, carried)[1]


@contract(
    (f(3, 2, 2), f(2)),
    (f(5, 2, 2), f(2)),
    dynamic=({0: "n"}, None),
    flow="tracing_map_real tracing_map_symbolic_simple tracing_map_autograd_symbolic_simple",
)
def maps_over_rows(xs, y):
    return map(lambda x, y: x + y, xs, y)


@contract(
    (f(3, 2, 2), f(2)),
    flow="map_autograd_simple map_autograd_simple_partial_grad map_functionalized "
    "map_functionalized_aot_func tracing_map_autograd_aot_functionalized",
)
def a_body_writes_to_its_own_tensor(xs, y):
    def body(x, y):
        z = x.sin() * y.cos()
        z.add_(4)
        return z * y

    return map(body, xs, y)


@contract(
    ([[f(3, 2, 2)], f(3, 2)], f(2)),
    flow="map_list_in_out tracing_map_symbolic_list map_autograd_nested_list "
    "tracing_map_autograd_symbolic_list map_autograd_no_grad_output",
)
def maps_over_lists(xs, y):
    out = map(lambda x, y: [[x[0][0] + y], x[1] * y], xs, y)
    return out[0][0] * 2, out[1] - y


@contract(
    ({"a": {"b": f(3, 2, 2)}, "c": f(3, 2)}, f(2)),
    flow="map_dict_in_out tracing_map_symbolic_dict tracing_map_autograd_symbolic_dict",
)
def maps_over_dicts(xs, y):
    out = map(lambda x, y: {"d": x["a"]["b"] + y, "e": x["c"] * y}, xs, y)
    return {"f": out["d"] * 2, "g": out["e"] - 1}


@contract(
    (t(True), f(3, 2, 4), f(4)),
    (t(False), f(3, 2, 4), f(4)),
    flow="nested_map_cond_real nested_map_cond_symbolic "
    "map_unfunc_boolean_tensor_for_nested_map_cond",
)
def a_condition_in_a_map(p, xs, y):
    def body(x, p, y):
        return cond(p, lambda x, y: x * y, lambda x, y: x + y, (x, y))

    return map(body, xs, p, y)


@contract(
    *[(t(p), t(q), f(3, 2), f(2)) for p in (True, False) for q in (True, False)],
    flow="nested_cond_map_cond_symbolic",
)
def a_map_in_a_condition(p, q, xs, y):
    def row(x, q, y):
        return cond(q, lambda x, y: x * y, lambda x, y: x + y, (x, y))

    one = lambda q, xs, y: map(row, xs, q, y) * 2  # noqa: E731
    other = lambda q, xs, y: map(row, xs, q, y) + 1  # noqa: E731
    return cond(p, one, other, (q, xs, y))


def added(x, y):
    return x + y


def multiplied(x, y):
    return x * y


@contract(
    (f(3, 6, 2),),
    flow="pointwise_associative_scan_reverse_simple pointwise_associative_scan_reverse_dim "
    "pointwise_associative_scan_reverse_compile",
)
def prefix_sums_and_products(x):
    one = associative_scan(added, x, 0)
    other = associative_scan(multiplied, x, 1, reverse=True)
    return one, other


@contract((torch.arange(4),), flow="pointwise_associative_scan_reverse_simple")
def prefix_sums_of_integers(x):
    return associative_scan(added, x, 0, reverse=True)


@contract((f(6, 4), t(5), t(4)), export="map")
def maps_with_numbers(xs, y, z):
    return map(lambda x, y, z: x * y - z, xs, y, z)


@contract((t(1), f(3, 4), f(3, 4)), (t(3), f(3, 4), f(3, 4)), export="while_loop_simple")
def counts_down(n, a, b):
    return while_loop(lambda n, x, y: n > 0, lambda n, x, y: (n - 1, x + y, y - x), (n, a, b))


@contract((f(6, 4),), export="while_loop_index_assertions")
def a_loop_sums_rows(x):
    def condition(at, sum):
        return at.item() < x.size(0)

    def body(at, sum):
        index = at.item()
        torch._check(index >= 0)
        torch._check(index < x.size(0))
        return at + 1, sum + x[index]

    start = (torch.full((), 0, dtype=torch.int64), torch.zeros(x.size(1)))
    return while_loop(condition, body, start)[1]


@contract((i(0), torch.zeros(1)), (i(6), f(1)), export="while_loop_assert_separation")
def assertions_in_a_loop(at, x):
    start = at.item()

    def condition(at, x):
        index = at.item()
        torch._check(index != 5)
        return index <= 9

    def body(at, x):
        index = at.item()
        torch._check(index % 2 == 0)
        return at + 2, x + index

    return while_loop(condition, body, (at, x + start))


@contract((f(3, 6, 2),), export="export_associative_scan_lifted_buffers")
class ScanWithABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.rand(3, 2))

    def forward(self, x):
        return associative_scan(lambda x, y: torch.maximum(x, y) * self.kept.sign(), x, 1)


@contract(
    (f(3), ({"a": f(4, 3), "b": f(4)},)),
    (f(3), ({"a": f(6, 3), "b": f(6)},)),
    dynamic=(None, ({"a": {0: "n"}, "b": {0: "n"}},)),
    export="export_scan_pytree_output",
)
def a_scan_over_dicts(carried, rows):
    def body(carried, row):
        return carried * 2 - row[0]["a"], (row[0]["a"] + carried, row[0]["b"] + 1)

    return scan(body, carried, rows)


@contract((f(3, 2), t(3)), (f(3, 2), t(-2)), export="map_buffers")
class MapWithBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(5), requires_grad=False)
        self.kept = nn.Buffer(torch.tensor(6) + 1)

    def forward(self, xs, y):
        def body(x, y):
            z = x + y * self.weight - self.kept
            z.add_(4)
            return z

        return map(body, xs, y)
