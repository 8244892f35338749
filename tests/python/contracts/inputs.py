"""Nested, constant and unused inputs, and results that are not computed."""

import functools
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.export import Dim, register_dataclass
from torch.utils import _pytree as pytree

from tests.python.contracts.captures import decomposed, strict
from tests.python.contracts.registry import Call, contract, f, i, t


@contract(([f(1, 3)], f(1, 3)), export="basic basic_non_strict_real_tensor")
class ListAndTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(1, 3))

    def forward(self, x, y):
        return x[0] + y - self.weight


@contract(([f(1, 3)], 4), export="no_tensor_computation")
def a_number_is_returned(x, y):
    return y


@contract((f(3), 1), export="no_tensor_computation_2")
def an_input_is_returned(x, y):
    return x


@contract((2, 1), export="no_tensor_computation_3")
def a_constant_is_returned(x, y):
    return 5


@contract(([f(3)], 1), export="no_tensor_computation_4")
def a_list_is_returned(x, y):
    return x


@contract((f(3),), export="unused_constant")
def an_unused_constant(x):
    torch.tensor(3)
    return x * x


@contract((f(3, 3),), export="set_grad_empty set_grad_as_side_effect")
def none_is_a_result(x):
    with torch.no_grad():
        return x + 1, None


@contract((f(4), f(4)), export="setgrad_lifted_tensor")
def a_constant_with_gradients(x, y):
    with torch.enable_grad():
        z = torch.tensor(4) + x + y
    return z * z


@contract(Call((f(6, 4), f(1, 1)), {"k": f(1, 1), "m": f(6, 4)}), export="export_func_with_kwargs")
def keywords(a, b, k, m):
    return a + b, k - m


@contract(
    Call((f(2, 3), f(3, 4)), {"a": {"k": f(2, 3), "m": f(3, 4)}, "b": [f(2, 3), f(3, 4)]}),
    export="export_func_with_pytree_kwargs",
)
def nested_keywords(x, y, a, b):
    return x + a["k"] - b[0], y + a["m"] - b[1]


@contract(Call((f(6, 4), f(1, 1)), {"a": {"k": f(1, 1)}}), export="export_func_with_default_kwargs")
def a_default_is_not_given(x, y, a, b=3):
    return x + y, a["k"] + b


@contract(
    Call((f(6, 4), f(1, 1)), {"a": {"k": f(1, 1)}, "b": 2}),
    export="export_func_with_default_kwargs",
)
def a_default_is_given(x, y, a, b=3):
    return x + y, a["k"] + b


@contract(Call((f(6, 4), f(1, 1)), {"b": 4}), export="export_func_with_default_kwargs")
def one_default_is_given(x, y, a=1, b=2):
    return x + a, y + b


@contract(
    Call((), {"z": f(3), "y": f(3), "x": f(3)}),
    Call((), {"x": f(3), "z": f(3), "y": f(3)}),
    export="kwargs_reorder",
)
def keywords_in_another_order(*, x, y, z):
    return x - y * z


@contract(Call((f(3),), {"z": f(3), "y": f(3), "x": f(3)}), export="set_example_inputs")
def an_input_and_keywords(a, *, x, y, z):
    return a, x - y * z


@contract((f(2, 3), f(3, 4), f(2, 3), f(3, 4)), export="export_func_with_var_postional_args")
def further_positional_arguments(a, b, *args):
    return a - args[0], b * args[1]


@contract(
    Call((f(2, 3), f(3, 4), f(2, 3), f(3, 4)), {"k": f(2, 3), "m": f(3, 4)}),
    export="export_func_with_keyword_only_args",
)
def keywords_only(a, b, *args, k, m):
    return a - args[0] + k, b * args[1] + m


@contract(
    Call((f(2), f(3), f(2)), {"k": f(2), "m": f(3), "n": f(2)}),
    export="export_func_with_var_keyword_args",
)
def further_keywords(a, b, *args, k, m, **kwargs):
    return a - args[0] + k * kwargs["n"], b * m


@contract(
    Call(
        (f(2, 3), [(f(2, 3),), f(3, 4)], f(2, 3), f(3, 4)),
        {"k": (f(2, 3),), "m": f(3, 4), "n": (f(2, 3), f(3, 4))},
    ),
    export="export_func_with_var_keyword_pytree_args",
)
def further_nested_keywords(a, b, *args, k, m, **kwargs):
    return a + b[0][0] - args[0] * k[0] + kwargs["n"][0], b[1] + args[1] * m - kwargs["n"][1]


@dataclass
class Pair:
    a: Tensor
    b: Tensor


register_dataclass(Pair, serialized_type_name="contracts.Pair")


@contract(
    (Pair(f(4, 2, 3), f(4, 3, 4)),),
    (Pair(f(6, 2, 3), f(6, 3, 4)),),
    dynamic=([{0: "n"}, {0: "n"}],),
    export="dynamic_shapes_dataclass pytree_register_data_class",
)
def a_dataclass(pair):
    return torch.matmul(pair.a, pair.b), Pair(pair.a + 1, pair.b - 1)


@contract(
    ({"one": (Pair(f(2), f(2)), ({},)), "two": ((f(1),), Pair(f(2), f(2)))},),
    export="pytree_register_nested_data_class",
)
def nested_dataclasses(x):
    return x["one"][0].a + x["two"][1].b * x["two"][0][0], x["one"][0].b


@contract(
    (f(4, 2, 3), f(4, 3, 4)),
    (f(5, 6, 7), f(5, 7, 2)),
    dynamic=({0: "n", 1: "m", 2: "k"}, {0: "n", 1: "k", 2: "p"}),
    export="export_api_with_dynamic_shapes",
)
def names_of_all_dimensions(x, y):
    return torch.matmul(x, y)


@contract(
    Call((f(4, 2, 3),), {"y": f(4, 3, 4)}),
    Call((f(9, 2, 3),), {"y": f(9, 3, 4)}),
    dynamic={"x": {0: "n"}, "y": {0: "n"}},
    export="export_api_with_dynamic_shapes",
)
def names_of_dimensions_of_keywords(x, y):
    return torch.matmul(x, y)


SQUARE = (Dim("batch", min=3, max=64), Dim("size"), Dim("size"))


@contract(
    (f(5, 3, 3), f(5, 3, 3)),
    (f(6, 4, 4), f(6, 4, 4)),
    dynamic=(SQUARE, SQUARE),
    export="export_api_with_dynamic_shapes",
)
def a_dimension_twice(x, y):
    return torch.matmul(x, y)


@contract(
    ({"x": f(4, 2, 3), "y": [f(4, 3, 4)]},),
    ({"x": f(6, 2, 3), "y": [f(6, 3, 4)]},),
    dynamic=({"x": {0: "n"}, "y": [{0: "n"}]},),
    export="export_api_with_dynamic_shapes dynamic_shapes_spec_with_pytree",
)
def dimensions_in_a_dict(inputs):
    return torch.matmul(inputs["x"], inputs["y"][0])


ROOT = Dim("base", min=2, max=12)


@contract(
    (f(11), f(12), f(14)),
    (f(8), f(9), f(11)),
    dynamic=({0: 3 * ROOT - 1}, {0: 3 * ROOT}, {0: 3 * ROOT + 2}),
    export="suggested_fixes_new_roots refine_dynamic_shapes_from_suggested_fixes",
)
def a_root_of_its_own(x, y, z):
    if 5 <= x.shape[0] <= 36 and y.shape[0] % 3 == 0:
        return x + y[1:] - z[3:]
    return x


@contract(
    (f(15),),
    (f(12),),
    dynamic=({0: 3 * Dim("third", min=3)},),
    export="refine_dynamic_shapes_from_suggested_fixes",
)
def rows_of_three(x):
    return x.reshape([-1, 3]) if x.shape[0] >= 9 else x


@contract(
    (f(6, 4), f(10, 4)),
    (f(5, 3), f(9, 3)),
    dynamic=({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO}),
    export="refine_dynamic_shapes_from_suggested_fixes",
)
def related_by_hints(x, y):
    return x + y[4:]


def method(name):
    """Return how to export a method of a module that is not `forward`."""

    def capture(module, call, dynamic):
        from torch._export.utils import wrap_method

        wrapped = wrap_method(getattr(module, name))
        return torch.export.export(wrapped, call.args, dynamic_shapes=dynamic, strict=True)

    return capture


@contract(
    (f(4),), (f(6),), dynamic=({0: Dim.DYNAMIC},), capture=method("read"), export="export_method"
)
class AnotherMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.tensor(10.0))

    def read(self, x):
        return x - self.kept

    def forward(self, x):
        return self.read(x)


@contract((t(1),), (t(5),), export="device_to_static")
def to_the_same_device(x):
    return x.to("cpu")


@contract((i(1, 2),), (i(3, 4, 5),), dynamic=({0: "n"},), export="device_to_dynamic")
def to_the_same_device_at_any_size(x):
    return x.to("cpu")


@contract((t(1),), export="device_to_mutation")
def a_write_after_a_device(x):
    y = x.to("cpu")
    y.add_(1)
    return y, x


@contract((t(1.0),), export="float_conversion")
def to_the_same_type(x):
    return x.float()


@contract((t(1, torch.int32),), export="float_conversion_from_int")
def to_another_type(x):
    return x.float()


@contract((t(1.0),), export="device_to_mutation_float")
def a_write_after_the_same_type(x):
    y = x.float()
    y.add_(1)
    return y, x


@contract(
    (f(2, 2),),
    capture=decomposed,
    export="decomp_item_in_prim_before_decomposition decomp_item_in_prim_after_decomposition",
)
def an_assertion_of_a_constant(x):
    torch.ops.aten._assert_async.msg(torch.tensor(True), "it fails")
    return x


@contract(
    ({"x": f(4, 8), "y": f(4, 8)},),
    ({"x": f(3, 8), "y": f(3, 8)},),
    dynamic=({"x": (Dim.AUTO, Dim.STATIC), "y": (Dim.DYNAMIC, Dim.STATIC)},),
    export="cleanup_dynamic_markers",
)
def hints_in_a_dict(x):
    return x["x"] + x["y"]


@contract((f(1, 2), f(1, 2), 10), export="mixed_input")
def a_number_as_argument(a, b, alpha):
    return torch.add(a, b, alpha=alpha)


@contract((f(1, 2, 3), torch.Size((1, 3, 4, 5))), export="size_input")
def a_size_as_argument(theta, size):
    return torch.nn.functional.affine_grid(theta, size, align_corners=False)


class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.rand(4, 4)

    def forward(self, x):
        return x + self.held, self.held


@contract((f(4, 4),), export="tensor_constant_with_wrapped_method")
class ConstantResult(Constant):
    pass


@contract((f(4, 4),), export="tensor_constant_with_wrapped_method")
class WrappedMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.call = Constant().forward

    def forward(self, *args, **kwargs):
        return self.call(*args, **kwargs)


@contract(
    (f(7, 5), 5),
    (f(8, 5), 5),
    dynamic=({0: Dim("n", min=6)}, None),
    export="runtime_assert_for_prim",
)
def an_integer_as_argument(x, y):
    return x + y


@contract((f(7, 5), 5.5), export="runtime_assert_for_prim")
def a_number_as_argument_of_a_static_program(x, y):
    return x + y


@contract((f(4, 4), f(4), "trunc"), export="runtime_assert_for_prm_str")
def a_string_as_argument(a, b, mode):
    return torch.div(a, b, rounding_mode=mode)


@contract((f(6, 4),), capture=None, export="aten_lift_fresh_copy")
def a_fresh_copy(x):
    return torch.ops.aten.lift_fresh_copy(x)


@contract((t(5),), export="lifted_constants")
class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.tensor(3)

    def forward(self, x):
        more = [torch.tensor(7), torch.tensor(4)]
        return x + self.a * more[0] - more[1]


@contract((t(True),), (t(False),), export="lifted_constants")
class BooleanConstants(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.tensor(False)

    def forward(self, x):
        more = [torch.tensor(False), torch.tensor(False)]
        return x + self.a + more[0] + more[1]


@contract((), export="tensor_attribute_zero_args constant_output")
class NoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.tensor([1, 2])

    def forward(self):
        return self.held.clone(), self.held


@contract((f(3, 2), f(3, 2)), export="constant_output")
class NestedConstant(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.rand(3, 2)

    def forward(self, x, y):
        return {"found": (x + y, self.held)}


@contract(
    (Pair(f(5, 4), f(5, 4)),),
    (Pair(f(6, 4), f(3, 4)),),
    dynamic=([{0: "n"}, {0: "m"}],),
    export="preserve_shape_dynamism_for_unused_inputs",
)
def an_unused_part(pair):
    return pair.a + 1


@contract(
    (f(4, 4), f(4, 4)),
    (f(4, 4), f(7, 4)),
    dynamic=(None, {0: "n"}),
    export="non_arg_name_dynamic_shapes_api",
)
def one_dynamic_input(a, b):
    return a.sum() - b.sum()


@contract(
    Call((f(4, 4), f(4, 4)), {"m": f(4, 4), "k": f(4, 4)}),
    Call((f(4, 4), f(7, 4)), {"m": f(4, 4), "k": f(9, 4)}),
    dynamic={"a": None, "b": {0: "n"}, "k": {0: "p"}, "m": None},
    export="non_arg_name_dynamic_shapes_api_with_kwarg",
)
def dynamic_keywords(a, b, k, m):
    return a.sum() + b.sum() - k.sum() * m.sum()


@contract(
    ((f(4, 4), f(4, 4)), f(4, 4)),
    ((f(4, 4), f(7, 4)), f(4, 4)),
    dynamic=((None, {0: Dim("n", min=3)}), None),
    export="non_arg_name_dynamic_shapes_api_with_container_type",
)
def a_dynamic_element(a, b):
    return a[0].sum() - a[1].sum() * b.sum()


@contract(Call((), {"x": f(3, 3), "y": f(3, 3)}), export="lazy_module_kwargs")
class LazyModule(nn.modules.lazy.LazyModuleMixin, nn.Module):
    def initialize_parameters(self, *args, **kwargs):
        pass

    def forward(self, x, y):
        return x - y


@contract((4, 5), export="symint_input_basic")
def two_integers(x, y):
    return x * y


@contract(
    (4, f(3, 3)),
    (7, f(3, 3)),
    dynamic=(Dim.DYNAMIC, None),
    export="symint_input_basic symint_input_specialization symint_input_shapes_collection",
)
def a_dynamic_integer(x, y):
    return x * y


@contract(
    ({"k": 2}, f(3, 3)),
    ({"k": 5}, f(4, 3)),
    dynamic=({"k": Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
    export="symint_input_basic",
)
def a_dynamic_integer_in_a_dict(x, y):
    return x["k"] * y


@contract(
    (4, f(4, 4)),
    (5, f(4, 4)),
    dynamic=(Dim.DYNAMIC(min=3, max=10), None),
    export="symint_input_ranges",
)
def an_integer_with_a_range(x, y):
    assert x > 3
    assert x <= 5
    return x * y


def integers(module, call, others):
    """Export with integers that further calls make dynamic."""
    further = torch.export.AdditionalInputs()
    for other in others:
        further.add(other)
    return torch.export.export(module, call.args, dynamic_shapes=further)


@contract(
    (6, 7, f(2)),
    (5, 4, f(2)),
    dynamic=[(5, 5, f(2)), (3, 5, f(2))],
    capture=integers,
    export="symint_input_additional_inputs additional_inputs_constants",
)
def integers_of_several_calls(x, y, z):
    return x + y, z * x


@contract(Call((f(1, 3),), {"flag": False, "x2": f(1, 3)}), export="placeholder_naming_order")
def a_flag_among_keywords(x1, x2, flag=True):
    return torch.cat([x1, x2 * 2], dim=1) if not flag else x1


SIZE = Dim("n")


@contract(
    Call((f(4, 4),), {"end": f(4, 4, 4), "start": f(4, 4)}),
    Call((f(6, 4),), {"end": f(6, 4, 4), "start": f(6, 6)}),
    dynamic={"x": {0: SIZE}, "end": {0: SIZE}, "start": {0: SIZE, 1: SIZE}},
    export="kwarg_dynamic_shapes_diff_order",
)
def keywords_of_one_size(x, *, start, end):
    return x.sum() - start.sum() * end.sum()


@contract(
    Call((f(3),), {"c": f(3), "b": f(3), "d": f(3)}), export="placeholder_naming_order_variadic"
)
def keywords_beside_further_ones(a, b, c, **kwargs):
    return a - b + c * kwargs["d"]


@contract(({"foo": [f(4)]}, (f(4),), f(4)), export="placeholder_naming_collisions")
def names_collide(x, x_foo, x_foo_0):
    return x["foo"][0] + x_foo[0] * x_foo_0


@contract(({"weight": f(4)}, f(4), {"b": f(4)}, f(4)), export="placeholder_naming_collisions")
class NamesOfWeightsCollide(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.held = nn.Parameter(torch.rand(4)), torch.rand(4)
        self.a, self.b = nn.Buffer(torch.rand(4)), nn.Buffer(torch.rand(4), persistent=False)

    def forward(self, p, b_a, b, c_held):
        return p["weight"] * self.weight, self.a + self.b * b_a - b["b"], self.held + c_held


@contract((f(4), f(4), f(4)), export="placeholder_naming_collisions")
def names_of_operators_collide(mul, add, add_1):
    return mul * mul + add * add_1


@contract((f(4), f(4), "floor"), export="constant_input_naming")
def a_named_string(x, y, div="floor"):
    return torch.div(x, y, rounding_mode=div)


@contract((((1, 2), (f(4), f(4)), (f(4), f(4), f(4))),), export="nested_dynamic_shapes_spec")
def numbers_in_nested_tuples(x):
    (a, b), (c, d), (e, g, h) = x
    return a + b * c + d - e * g + h


@contract((f(3), True), export="expand_copy_export_handles_implicit_true")
def an_implicit_expansion(x, implicit):
    return torch.expand_copy(x, [3, 3], implicit=implicit)


class Node:
    """A class that is registered as a container of tensors."""

    def __init__(self, one, other):
        self.one, self.other = one, other


pytree.register_pytree_node(
    Node,
    lambda node: ([node.one, node.other], None),
    lambda values, _: Node(*values),
    flatten_with_keys_fn=lambda node: (
        [(pytree.GetAttrKey("one"), node.one), (pytree.GetAttrKey("other"), node.other)],
        None,
    ),
    serialized_type_name="contracts.Node",
)


@contract((Node(f(4), f(4)),), export="custom_pytree")
def a_registered_class(node):
    return node.one.sum() - node.other.sum()


@contract((f(2, 2),), capture=decomposed, export="constant_return constant_output_dup")
class ConstantTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.rand(2, 2)

    def forward(self, x):
        return self.held, self.held + x, self.held


@contract((f(2, 2),), export="constant_requires_grad_const preserve_requires_grad_placeholders")
class ConstantWithGradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.rand(2, 2, requires_grad=True)

    def forward(self, x):
        return x.cos() + self.held.sum()


@contract((f(2, 3),), export="int_list_output")
def nested_numbers_and_tensors(x):
    return [((1, 3), [x + x, x * x])]


@contract((t(3), 5), (t(4), 5), export="primitive_constant_output")
def numbers_are_results(x, y):
    with torch.no_grad():
        return y * x, y, y - 1, 7


@contract((t(3),), (t(4),), export="primitive_constant_output")
def a_string_is_a_result(x):
    return x * 2, "word"


@contract((t(3), None), (t(4), None), export="none_input_output")
def none_is_an_input(x, y):
    return x * x, y


@contract((1, f(3)), (3, f(4)), dynamic=(Dim.DYNAMIC, {0: Dim.DYNAMIC}), export="int_lift_constant")
def a_dynamic_integer_and_a_constant(a, x):
    return a + torch.tensor(1) * x


@contract(
    ({"a": f(4), "b": f(4)},),
    ({"b": f(4), "a": f(4)},),
    export="export_with_dict_input_nested_in_args",
)
def a_dict_in_another_order(data):
    return data["a"] - data["b"]


@contract((f(3), f(3)), capture=strict, export="namedtuple_input_export")
def two_inputs_in_strict_mode(x, y):
    return x - y


@dataclass(frozen=True)
class Options:
    one: int
    other: int


pytree.register_constant(Options)


@contract((f(2, 2), Options(4, 5)), export="register_constant")
def a_registered_constant(x, options):
    return x * options.one - options.other


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, y):
        return self.layer(x) * y


torch.manual_seed(0)
PRODUCT = Product()


@contract((f(3), f(3), PRODUCT), export="module_input")
def a_module_is_an_input(x, y, module):
    return module(x, y) + x - y


@contract((f(4),), export="partial_patched_forward")
class PartialForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.forward = functools.partial(self.forward, z=2)

    def forward(self, x, z):
        return x * 3 + z
