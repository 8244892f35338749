import torch
from torch._higher_order_ops.map import map as control_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from tests.python.ops.harness import case, f32, i64, suite


def branch(x):
    return torch.cond(x[0, 0] > 0, lambda x: (x + 1, x * 2), lambda x: (x - 1, x * 3), (x,))


def branch_on_size(x):
    return torch.cond(x.shape[0] > 3, lambda x: x + 1, lambda x: x - 1, (x,))


def nested(x):
    def inner(x):
        return torch.cond(x[0, 1] > 0, lambda x: x * 5, lambda x: x * 7, (x,))

    return torch.cond(x[0, 0] > 0, inner, lambda x: x - 1, (x,))


def count_down(n, x):
    return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 1.5 + 1), (n, x))


def with_captured(n, x, y):
    return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x + y), (n, x))


def running(x, xs):
    return scan(lambda state, x: ((state + x).tanh(), state * 2), x, xs)


def running_tree(x, xs, ys):
    def step(state, slices):
        a, b = slices
        return state + a * b, [a - b, state * 2]

    return scan(step, x, (xs, ys))


def mapped(xs, y):
    return control_map(lambda x, y: x * 2 + y, xs, y)


test_ops = suite(
    __file__,
    [
        case("higher_order.cond", branch, f32(3, 4)),
        case("higher_order.cond", branch, f32(3, 4), dynamic=True, id="dynamic"),
        case("higher_order.cond", branch_on_size, f32(3, 4), dynamic=True, id="symbolic"),
        case("higher_order.cond", nested, f32(3, 4), dynamic=True, id="nested"),
        case(
            "higher_order.while_loop",
            count_down,
            torch.tensor(3),
            f32(4),
            dynamic=(None, {0: torch.export.Dim.DYNAMIC}),
        ),
        case("higher_order.while_loop", count_down, torch.tensor(0), f32(4), id="none"),
        case(
            "higher_order.while_loop", with_captured, torch.tensor(3), f32(4), f32(4), id="captured"
        ),
        case("higher_order.scan", running, f32(4), f32(5, 4)),
        case("higher_order.scan", running_tree, f32(4), f32(5, 4), i64(5, 4), id="tree"),
        case("higher_order.map_impl", mapped, f32(5, 4), f32(4)),
    ],
)
