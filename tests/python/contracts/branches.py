"""`torch.cond`: predicates, operands, results, nesting and captured values."""

import torch
from torch import nn
from torch.export import Dim

from tests.python.contracts.hops import cond
from tests.python.contracts.registry import contract, f, i, t

ROWS = ({0: "n"},)


@contract(
    (f(5), t(True)),
    (f(5), t(False)),
    flow="cond_no_trace cond_autograd_simple cond_traced_not_nested "
    "cond_traced_not_nested_fake_tensor cond_simple_with_linear_compile_check_graph",
)
def a_tensor_decides(x, p):
    return cond(p, lambda x: x.tanh(), lambda x: x.exp(), (x,))


@contract(
    (f(5), t(True)),
    (f(5), t(False)),
    flow="cond_autograd_complex cond_subgraph_same_shape_env_as_parent cond_autograd_inner_fn",
)
def branches_of_several_operators(x, p):
    def square(x):
        return x**2

    y = cond(p, lambda x: square(x).sin().abs() + 3, lambda x: (x - 7).cos() * square(x), (x,))
    return torch.mul(y, y)


@contract(
    *[
        (t(a), t(b), t(c), f(3), f(3), f(3))
        for a in (True, False)
        for b in (True, False)
        for c in (True, False)
    ],
    flow="cond_autograd_nested",
)
def three_levels(p, q, r, a, b, c):
    def outer(a, b, c):
        def left(a, b, c):
            return cond(r, lambda a, b, c: a * b - c, lambda a, b, c: (a + b) / 1.5, (a, b, c))

        return cond(q, left, lambda a, b, c: (a - b * c) * 0.25, (a, b, c))

    def other(a, b, c):
        def right(a, b, c):
            return cond(r, lambda a, b, c: c - a, lambda a, b, c: b * 2.5, (a, b, c))

        return cond(q, lambda a, b, c: a + b + c, right, (a, b, c))

    return cond(p, outer, other, (a, b, c))


@contract((t(True), f(4), f(4)), (t(False), f(4), f(4)), flow="cond_autograd_mixed_require_grad")
def an_operand_twice(p, x, y):
    return cond(p, lambda x, y, z: x * y - z, lambda x, y, z: x + y + z, (x, y, x))


@contract(
    (t(True), f(2, 4)),
    (t(False), f(2, 4)),
    flow="cond_autograd_grad_through_cond cond_autograd_user_nn_module",
)
class LayersInBranches(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.act = nn.ReLU()

    def forward(self, p, x):
        return cond(p, lambda x: self.layer(x), lambda x: x * self.layer(self.act(x)), (x,))


@contract((t(True), f(2, 4)), (t(False), f(2, 4)), flow="cond_autograd_torch_nn_module")
class RecurrentCellInABranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(4, 3), nn.GRUCell(4, 3)

    def forward(self, p, x):
        return cond(p, lambda x: self.one(x.abs()), lambda x: self.other(x.cos()), (x,))


@contract((f(4),), flow="cond_in_forloop cond_autograd_backward")
def a_constant_predicate_in_a_loop(x):
    for step in range(4):
        x = cond(step < 2, lambda x: x * 0.5 + 1, lambda x: x.sin(), (x,))
    return x


@contract(
    (t(True), f(3), f(3), f(3)),
    (t(False), f(3), f(3), f(3)),
    flow="cond_autograd_pytree_not_all_inputs_used cond_autograd_pytree_input",
)
def nested_operands(p, a, b, c):
    tree = {"u": [a, {"v": b}, (c,)]}
    one = lambda x: x["u"][0] - x["u"][1]["v"]  # noqa: E731
    other = lambda x: x["u"][0] * x["u"][2][0] + x["u"][1]["v"]  # noqa: E731
    return cond(p, one, other, (tree,))


@contract(
    (t(True), f(3), f(3)),
    (t(False), f(3), f(3)),
    flow="cond_autograd_same_pytree_output",
)
def nested_results(p, a, b):
    one = lambda a, b: {"r": [a.clone(), (b * 2,)]}  # noqa: E731
    other = lambda a, b: {"r": [b.clone(), (b * 3,)]}  # noqa: E731
    return cond(p, one, other, (a, b))


@contract((t(True), f(4)), (t(False), f(4)), flow="cond_autograd_inner_tensor")
def a_tensor_created_in_a_branch(p, x):
    return cond(p, lambda x: x.abs(), lambda x: x * (torch.ones(4) * 5 + torch.arange(4)), (x,))


@contract(
    *[(f(4), t(p), t(q)) for p in (True, False) for q in (True, False)],
    flow="cond_nested_traced cond_nested_traced_fake_tensor",
)
def a_predicate_is_an_operand(x, p, q):
    def one(x, q):
        return x - cond(q, lambda y: y * y, lambda y: y + y, (x,))

    return cond(p, one, lambda x, q: x.cos(), (x, q))


@contract(
    *[(f(2), t(p), t(q)) for p in (True, False) for q in (True, False)],
    flow="cond_nested_traced_other_inputs cond_nested_traced_other_inputs_fake_tensor",
)
def a_constant_in_a_nested_branch(x, p, q):
    def one(x, q):
        return torch.tensor([0.5, -0.5]) + cond(q, lambda y: y * y, lambda y: y + y, (x,))

    return cond(p, one, lambda x, q: x.cos(), (x, q))


@contract(
    *[(f(4), t(p), t(q)) for p in (True, False) for q in (True, False)],
    flow="cond_nested_traced_multi cond_nested_traced_multi_fake_tensor",
)
def two_conditions_side_by_side(x, p, q):
    a = cond(p, lambda y: y * y, lambda y: y - 1, (x,))
    b = cond(q, lambda y, z: y + z, lambda y, z: y * z, (x, a))
    return a + b


@contract(
    (f(4, 3),),
    (f(6, 3),),
    dynamic=ROWS,
    flow="cond_functionalized cond_functionalized_aot_func_check_functional",
)
def writes_to_intermediates(x):
    def one(x):
        y = x.sin()
        y.add_(4)
        return x.max() + y.sum()

    return cond(x.shape[0] == 4, one, lambda x: x.cos().min(), (x,))


@contract((f(4, 3),), (f(7, 3),), (f(9, 3),), dynamic=ROWS, flow="cond_functionalized_nested")
def sizes_decide_in_nested_branches(x):
    def inner(x):
        y = x.cos()
        y.mul_(3)
        return x.max() + y.sin().max()

    def one(x):
        return cond(x.shape[0] == 4, inner, lambda x: x.min(), (x,))

    return cond(x.shape[0] < 8, one, lambda x: x.sum(), (x,))


@contract(
    (t([[0.0, 1.0]]),),
    (t([[2.0, 1.0]]),),
    flow="cond_functionalized_data_dependent_pred cond_with_unbacked_sym_pred",
    export="unbacked_to_cond",
)
def the_number_of_nonzero_values_decides(x):
    return cond(x.nonzero().shape[0] == 1, lambda x: x.sin().sum(), lambda x: x.cos().sum(), (x,))


@contract(
    (t([0.0, 1.0, 2.0, 3.0]),), (t([2.0, 1.0, 4.0, 5.0]),), export="unbacked_to_cond_passthrough"
)
def results_with_an_unbacked_size(x):
    at = x.nonzero()
    return cond(at.size(0) > 3, lambda x: x + 1, lambda x: x + 3, (at,)) * 2


@contract((t([[1.0, 1.0]]),), (t([[0.0, 3.0]]),), flow="cond_retrace_functionalized")
def a_reduction_decides(x):
    return cond(x.all(), lambda x: x.sin(), lambda x: x.cos(), (x,))


@contract(
    (f(3, 4), t([[1.0]])), (f(3, 4), t([[-1.0]])), flow="cond_accepts_torch_function_as_inputs"
)
def functions_of_torch_are_branches(a, b):
    return cond(b.sum() > 0, torch.add, torch.mul, (a, b))


@contract(
    (f(3, 2, 1),),
    (f(4, 2, 1),),
    dynamic=ROWS,
    flow="cond_with_sym_pred cond_with_consecutive_make_fx_symbolic "
    "cond_make_fx_preserve_stack_trace_for_nodes_in_subgraph",
)
def a_size_decides(x):
    return cond(x.shape[0] == 4, lambda x: x + x.cos(), lambda x: x * x.sin(), (x,))


@contract(
    (f(2, 3),),
    (f(4, 3),),
    dynamic=ROWS,
    flow="cond_with_tensor_closure cond_with_tensor_closure_graph_module",
)
class CapturedTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.ones(3), torch.arange(3.0)

    def forward(self, x):
        return cond(x.shape[0] == 4, lambda x: x + self.a, lambda x: x - self.b, (x,))


@contract((f(2, 3),), (f(4, 3),), dynamic=ROWS, flow="cond_with_module_param_closure")
class CapturedParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3))
        self.register_buffer("offset", torch.rand(3))

    def forward(self, x):
        return cond(x.shape[0] == 4, lambda x: x * self.weight, lambda x: x + self.offset, (x,))


@contract((f(2, 3),), (f(4, 3),), dynamic=ROWS, flow="cond_with_module_python_scalar_closure")
def a_captured_number(x):
    a, b = torch.ones(1, 1), 3
    return cond(x.shape[0] == 4, lambda x: x + a, lambda x: x - b, (x,))


@contract(
    (f(2, 3),),
    (f(4, 3),),
    (f(6, 3),),
    dynamic=ROWS,
    flow="cond_nested_with_closure cond_nested_with_closure_graph_module",
)
def captured_values_in_nested_branches(x):
    a, b = torch.ones(1, 1), torch.ones(1, 1) * 2

    def left(x):
        return x + a

    def right(x):
        return x * b

    def one(x):
        return cond(x.shape[0] == 2, left, right, (x,))

    return cond(x.shape[0] == 4, one, lambda x: cond(x.shape[0] > 5, left, right, (x,)), (x,))


@contract(
    *[(t(p), f(2, 3), f(2, 3)) for p in (1, 0)],
    flow="cond_tracing_with_valid_inputs",
)
def an_integer_decides(p, x, y):
    reduced = lambda *all: sum(all)  # noqa: E731
    return cond(p > 0, lambda x: reduced(x) + reduced(y), lambda x: reduced(x) - reduced(y), (x,))


@contract((t(2.0), f(2, 3)), (t(-1.0), f(2, 3)), flow="cond_tracing_with_valid_inputs")
def a_nested_predicate_is_computed(p, x):
    def inner(x):
        return cond(p <= 1, lambda: x + 1, lambda: x - 1)

    return cond(p > 0, lambda: x * inner(x), lambda: x - inner(x))


@contract((f(3), t(True)), (f(3), t(False)), flow="cond_tracing_with_valid_inputs")
def no_operands(x, p):
    y = x * 2
    return cond(p, lambda: y + 1, lambda: y - x)


VMAP = (
    "cond_vmap cond_vmap_simple cond_vmap_single_input_with_closure "
    "cond_vmap_multiple_args_with_closure cond_vmap_multiple_outputs vmap_vmap"
)


@contract((f(3, 5),), flow=VMAP)
def mapped_conditions(x):
    c = torch.arange(5.0)

    def row(x):
        p = torch.tensor([True])
        return cond(p, lambda x: (x + c, x - 1), lambda x: (x * 1, x * c), (x,))

    return torch.vmap(row)(x)


@contract((t(True), f(10)), (t(False), f(10)), export="cond_int_closure")
class CapturedAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.number = 4

    def forward(self, p, x):
        return cond(p, lambda x: x * self.number, lambda x: x + self.number, (x,)) * 2


@contract(
    (t(True), i(4), i(7), f(5)),
    (t(False), i(4), i(7), f(5)),
    export="cond_contains_unbacked_no_escape",
)
def numbers_of_tensors_in_branches(p, a, b, x):
    return cond(p, lambda x: x * a.item(), lambda x: x - b.item(), (x,)) * 2


@contract((f(3, 3) + 9,), (f(3, 3) - 9,), export="cond_branches_return_constant_int")
def branches_return_numbers(x):
    index = cond(x.sum() > 3, lambda: 0, lambda: 1)
    return x[index]


@contract((f(3, 3) + 9,), (f(3, 3) - 9,), export="cond_branches_return_same_int")
def branches_return_the_same_number(x):
    index = cond(x.sum() > 3, lambda: 1, lambda: 1)
    return x[index]


@contract((True, f(3, 3)), export="export_cond_warns_constant_pred")
def a_boolean_argument_decides(p, x):
    return cond(p, lambda x: x.sin(), lambda x: x.cos(), (x,))


@contract((f(1, 3, 2),), (f(1, 3, 2) + 4,), export="export_cond_preserve_torch_fn_for_subgraphs")
class MethodsAreBranches(nn.Module):
    class Part(nn.Module):
        def forward(self, x):
            return x.cos()

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def own(self, x):
        return x.sin()

    def forward(self, x):
        return cond(x.sum() <= 2, self.part.forward, self.own, (x,))


@contract(
    (f(6, 4),), (f(3, 4),), dynamic=({0: Dim("n", min=3)},), export="export_cond_symbool_pred"
)
class ModuleInABranch(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(torch.rand(6, 4))

        def forward(self):
            return self.kept.cos()

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        one = lambda x: x.cos() + self.part().sum()  # noqa: E731
        return cond(x.shape[0] > 4, one, lambda x: x.sin(), (x,))


@contract((f(2, 3),), export="cond_buffers")
class MethodsReadBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(2, 3), requires_grad=False)
        self.kept = nn.Buffer(torch.rand(2, 3) + 1)

    def one(self, x):
        return x + self.weight

    def other(self, x):
        return x * self.kept

    def forward(self, x):
        return cond(x.shape[0] == 4, self.one, self.other, (x,))


@contract((t(False), f(3, 3), f(3, 3)), (t(True), f(3, 3), f(3, 3)), export="cond_unflatten")
class ConditionInAPart(nn.Module):
    class Part(nn.Module):
        def forward(self, p, a, b):
            return cond(p, lambda x, y: x + y, lambda x, y: x - y, (a, b))

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, p, a, b):
        return self.part(p, a, b)


@contract((f(4, 4),), (f(4, 4) + 3,), export="cond_with_module_stack_export_with")
class LayerInBothBranches(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            one = lambda x: self.layer(x).cos()  # noqa: E731
            return cond(x.sum() > 4, one, lambda x: self.layer(x).sin(), (x,))

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return x.cos() + self.part(x)


@contract((t(10), t(12)), export="predispatch_cond")
class BufferDecides(nn.Module):
    def __init__(self):
        super().__init__()
        self.p, self.kept = nn.Buffer(torch.tensor(False)), nn.Buffer(torch.tensor(10))

    def forward(self, x, y):
        def one(x, y):
            with torch.enable_grad():
                return x - 1 + self.kept * y

        return cond(self.p, one, lambda x, y: x + 1 - self.kept + y, (x, y))


@contract(
    (f(4), f(4), f(4)), (-f(4), f(4), f(4)), export="placeholder_naming_collisions_hoo_subgraphs"
)
def names_collide_in_branches(x, mul, mul_1):
    square = x * x - 1
    y = cond(
        square.sum() > 0,
        lambda x, y, z: x * y * z,
        lambda x, y, z: x + y + z,
        (square, mul, mul_1),
    )
    with torch.enable_grad():
        return y * y


@contract(
    (f(5, 4), (f(4), f(4)), (f(4),)),
    (-f(5, 4), (f(4), f(4)), (f(4),)),
    export="placeholder_naming_collisions_hoo_subgraphs",
)
def names_of_branches_collide(input, true_graph, body_graph):
    x = input + true_graph[0] * true_graph[1]
    x = cond(x.sum() > 0, lambda x: x * 2.0, lambda x: x + 2.0, (x,))
    return cond(x.sum() > 1, lambda x: x * 3.0, lambda x: x - 2.0, (x,))
