"""`vmap`, `invoke_subgraph` and other operators with graphs."""

import torch
from torch import nn
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.switch import switch as real_switch
from torch.export import Dim

from tests.python.contracts.captures import strict
from tests.python.contracts.hops import cond, map, scan, while_loop
from tests.python.contracts.registry import contract, f, i, t


@contract(
    (f(3), f(3)),
    (f(5), f(5)),
    dynamic=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
    export="vmap",
)
def mapped_sums(x, y):
    return torch.vmap(lambda x, y: (x * y + 1).sum(dim=0))(x, y).sum(dim=0)


@contract((f(2, 3, 2, 2), f(2, 3, 2, 2)), export="vmap_to_assert")
def mapped_with_a_memory_format(x, y):
    def one(x, y):
        return ((x * y).to("cpu", memory_format=torch.preserve_format) + 1).sum(dim=0)

    return torch.vmap(one)(x, y).sum(dim=0)


@contract((i(0, 3, 7),), (i(9, 9, 1),), export="vmap_custom_autograd_function")
class MappedIndex(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("base", torch.arange(10) * 2)

    def forward(self, at):
        return torch.vmap(lambda one: self.base.index_select(0, one[None])[0])(at)


@contract((f(2, 4), f(4)), capture=strict, export="hints_wrapper")
def hints(x, y):
    def inner(x, y):
        return torch.relu(x) + y

    def outer(x, y):
        return torch.abs(wrapped(inner, x, y))

    return wrapped(outer, x + y, y)


def wrapped(body, *args):
    """Call a function with hints, which eager mode ignores."""
    if torch.compiler.is_compiling():
        return hints_wrapper(body, args, {}, hints={"a_hint": True})
    return body(*args)


@contract((t(True), f(3, 2), t(0)), (t(False), f(3, 2), t(1)))
def constants_in_graphs(p, xs, n):
    def row(x):
        y = torch.tensor([1.5, -2.5]) * x
        return cond(p, lambda y: y + torch.tensor([3.0, 4.0]), lambda y: y * 2, (y,))

    def step(n, x):
        return n + 1, x * torch.tensor([[2.0, -1.0]]) + torch.tensor([[0.5, 0.25]])

    def one(x):
        return while_loop(lambda n, x: n < torch.tensor(3), step, (n, x))[1]

    carried, rows = scan(lambda c, x: (c + torch.tensor(2.0), c * x), xs[0], xs)
    return map(row, xs), cond(p, one, lambda x: x - torch.tensor(7.0), (xs,)), carried, rows


@contract(*[(t(at), f(3)) for at in range(4)])
def a_choice_among_four(at, x):
    branches = (torch.sin, torch.cos, torch.exp, lambda x: x * torch.tensor(3.0))
    return switch(at, branches, x)


def switch(at, branches, x):
    """Do as `switch`, whose results are copies."""
    if torch.compiler.is_exporting():
        return real_switch(at, tuple(lambda x, f=f: (f(x),) for f in branches), (x,))[0]
    return branches[at](x)
