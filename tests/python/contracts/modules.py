"""Submodules, parameters and the ways of holding them."""

import logging
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.testing._internal.custom_tensor import CustomTensorPlainOut
from torch.testing._internal.two_tensor import TwoTensor

from tests.python.contracts.captures import decomposed, exported_again, functional, strict, without
from tests.python.contracts.registry import contract, f, i


@contract((f(1, 2),), export="custom_tag_metadata_re_export simple_export_for_training")
class OwnParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.rand(4, 2)), nn.Parameter(torch.rand(4))

    def forward(self, x):
        return F.linear(x, self.w, self.b)


@contract((f(1, 3, 3, 5),), export="from_node_metadata_export")
class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv1d(3, 2, 3), nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return self.one(self.two(x).squeeze(2))


def sine(x: torch.Tensor, factor: float, n: int):
    if torch.jit.is_scripting():
        return x.cos() * factor * n
    return x.sin() * factor * n


class Scripted:
    """A function that is scripted while a program is captured: PyTorch inlines its source."""

    compiled = None

    def __call__(self, x, factor, n):
        if not torch.compiler.is_exporting():
            return sine(x, factor, n)
        self.compiled = self.compiled or torch.jit.script(sine)
        return self.compiled(x, factor, n)


scripted = Scripted()


@contract(
    (f(3, 4),),
    export="inline_script_function inline_script_class_method "
    "inline_script_class_method_recursive inline_script_method",
)
def a_scripted_function(x):
    return scripted(x, 0.5, 3)


@contract((f(1, 3),), export="not_registered_parameter")
class ParameterInADict(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = {"weight": nn.Parameter(torch.rand(3, 3))}

    def forward(self, x):
        return x + self.held["weight"]


@contract((f(1, 3),), export="external_call_non_strict_real_tensor")
class CallsAMethodOfAnObject(nn.Module):
    class Other:
        def doubled(self, x):
            return x + x

    def __init__(self):
        super().__init__()
        self.call = self.Other().doubled

    def forward(self, x):
        return self.call(x)


@contract((f(3, 3),), export="colon_parameter")
class ColonInAName(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("one:two", nn.Parameter(torch.rand(3, 3)))

    def forward(self, x):
        return x + getattr(self, "one:two")


@contract((f(3, 4),), export="malformed_fqn_from_source_name")
class BlocksInADict(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))  # noqa: E731
        self.blocks = nn.ModuleDict({str(at): block() for at in range(3)})
        self.more = nn.ModuleList([block() for at in range(4)])
        self.eval()

    def forward(self, x):
        for block in self.blocks.values():
            x = block(x)
        for block in self.more[1:3]:
            x = block(x)
        return x


@contract((f(3),), export="unflatten_closure")
class PassesAFunction(nn.Module):
    class Caller(nn.Module):
        def forward(self, call, x):
            return call(x * 2) + 4

    class Added(nn.Module):
        def forward(self, x):
            return x + 3

    def __init__(self):
        super().__init__()
        self.caller, self.added = self.Caller(), self.Added()

    def forward(self, x):
        y = x + 1
        return self.caller(lambda k: self.added(y * k) - y, y) + 5


@contract((f(3, 3),), capture=decomposed, export="torch_fn")
class LayerTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        x = F.relu(self.layer(self.layer(x)))
        return x + x


@contract(
    (f(3, 3),),
    capture=without(torch.ops.aten.linear.default),
    export="export_preserve_linear_at_aot_level",
)
class KeptLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return torch.ops.aten.chunk.default(self.layer(x), 3, 0)


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.two, self.one = nn.Conv2d(2, 3, 3), nn.Conv1d(2, 3, 3)
        self.weight, self.bias = torch.rand(4, 6), torch.rand(4)

    def forward(self, x, y):
        return F.linear(self.two(x), self.weight, self.bias).cos() + self.one(y).sum()


@contract(
    (f(2, 2, 5, 8), f(2, 2, 5)),
    capture=without(torch.ops.aten.conv2d.default, torch.ops.aten.conv1d.default),
    export="keep_composite_ops_linear_convd keep_composite_ops_linear_convd_for_training_ir",
)
class KeptConvolutions(Kept):
    pass


@contract(
    (f(2, 2, 5, 8), f(2, 2, 5)),
    capture=decomposed,
    export="keep_composite_ops_linear_convd keep_composite_ops_linear_convd_for_training_ir",
)
class DecomposedConvolutions(Kept):
    pass


@contract(
    (f(3, 3),), capture=without(torch.ops.aten.sum.default), export="if_post_autograd_op_preserved"
)
def a_kept_sum(x):
    return x.sin() + x.sum()


@contract((f(2, 3, 4),), export="native_multi_attention_head")
class NativeAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(4, 12), nn.Linear(4, 4)

    def forward(self, q):
        return torch._native_multi_head_attention(
            q, q, q, 4, 2, self.qkv.weight, self.qkv.bias, self.out.weight, self.out.bias,
            need_weights=False, average_attn_weights=False, mask_type=1,
        )[0]  # fmt: skip


@contract((f(2, 2),), (f(2, 2),), capture=decomposed, export="export_for_training_run_decomp")
class DecomposedWithABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept, self.layer = nn.Buffer(torch.ones(2, 2)), nn.Linear(2, 2)

    def forward(self, x):
        self.kept.add_(5)
        return self.layer(x) + self.kept.sum()


@contract((f(3),), capture=decomposed, export="if_functional")
def a_decomposed_write(x):
    z = x + 4
    z.add_(4)
    return x.cos() + z.view(x.shape).cos()


class Three(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
        self.last = self.all[1:]


@contract((f(2, 4),), export="sequential_slicing")
class SlicedInForward(Three):
    def forward(self, x):
        return self.all[1:](x)


@contract((f(2, 4),), export="sequential_slicing")
class SlicedBefore(Three):
    def forward(self, x):
        return self.last(x)


@contract((f(4),), export="unflatten_isinstance")
class CalledInTwoWays(nn.Module):
    class Part(nn.Module):
        def forward(self, x, b):
            return x + 1 if b else x * 2

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return self.part(x + 1, True) + self.part(x - 1, False)


@contract((f(3, 4),), export="unflatten_placeholder_update_child2parent_swap")
class WritesInASubmodule(nn.Module):
    class Part(nn.Module):
        def forward(self, x):
            torch.ops.aten.dropout_(x, 0.5, False)
            x.add_(1)
            return x - 2

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return self.part(x) + x * 4


@contract((f(2, 3),), export="unflatten_placeholder_update_grandchild2cousin_swap")
class NestedParts(nn.Module):
    class Part(nn.Module):
        def forward(self, x):
            return x + 4, x.to(torch.float32)

    def __init__(self):
        super().__init__()
        self.one, self.other = self.Part(), self.Part()

    def forward(self, x):
        a, b = self.one(x)
        c, d = self.other(a * b)
        return c - d + x


@contract((f(2, 3),), (f(2, 3),), export="unflatten_buffer_update_child2parent_swap")
class SharedCounter(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = nn.Buffer(torch.tensor(10))

        def forward(self, x):
            self.count.add_(1)
            return x + 2

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        for _ in range(3):
            x = self.part(x) + self.part.count
        return x


@contract((f(2, 2, 5, 8),), capture=strict, export="linear_conv")
class StrictConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(2, 3, 3)
        self.weight, self.bias = torch.rand(4, 6), torch.rand(4)

    def forward(self, x):
        return F.linear(self.layer(x), self.weight, self.bias).cos()


@contract((f(3, 4),), export="param_util export_dynamo_config")
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.LSTM(4, 5), nn.Linear(5, 1)

    def forward(self, x):
        y, (h, c) = self.layer(x)
        return self.out(y), h, c


@contract((f(2, 3, 4, 4),), export="buffer_util")
class NormWithoutWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3, affine=False)

    def forward(self, x):
        return self.norm(x)


@contract((f(1, 5),), capture=decomposed, export="tensor_constant_aten_to")
class ConvertedConstant(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.tensor([1.5])

    def forward(self, x):
        return x + self.held.to(torch.float64)


@contract((f(4, 4),), export="export_aten_to_unflatten")
class ConversionBeforeASubmodule(nn.Module):
    class Part(nn.Module):
        def forward(self, x):
            return x.sum()

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return self.part(x.to(torch.float)).sum()


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(2, 3, 3)
        self.weight, self.bias = torch.rand(4, 6), torch.rand(4)

    def part(self, x):
        return F.linear(self.layer(x), self.weight, self.bias)


@contract(((f(2, 2, 5, 8), f(2, 2, 5, 8)),), capture=exported_again, export="module")
class ExportedAgain(Shared):
    def forward(self, x):
        a, b = x
        return self.part(a).cos() + self.part(b).sin(), self.part(a).sin()


@contract(
    ({"a": (f(2, 2, 5, 8), f(2, 2, 5, 8)), "b": f(2, 2, 5, 8)},),
    capture=exported_again,
    export="module_with_dict_container_inp_out",
)
class ExportedAgainWithDicts(Shared):
    def forward(self, x):
        a, b = x["a"]
        c = self.part(x["b"])
        return {"a": self.part(a).cos() + c, "b": self.part(b).sin() - c}


@contract((i(0, 3, 2),), (i(1, 1, 0),), export="use_embedding_twice")
class EmbeddingTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(4, 3)

    def forward(self, x):
        return self.embed(x) * self.embed.weight[x]


class ConvolutionAndNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Conv2d(1, 3, 1, 1), nn.BatchNorm2d(3)

    def forward(self, x):
        return (self.norm(self.layer(x)),)


@contract((f(2, 1, 3, 3),), (f(2, 1, 3, 3),), export="decomp_batch_norm_functional_predispatch")
class NormInTraining(ConvolutionAndNorm):
    pass


@contract((f(2, 1, 3, 3),), export="decomp_batch_norm_functional_predispatch")
class NormInEvaluation(ConvolutionAndNorm):
    def __init__(self):
        super().__init__()
        self.eval()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 1)

    def forward(self, x):
        return self.layer(x)


@contract(
    (f(5, 6),),
    (f(3, 6),),
    dynamic=({0: Dim("n")},),
    capture=decomposed,
    export="export_decomps_simple export_decomps_dynamic",
)
class DecomposedLayer(Layer):
    pass


def with_own_decomposition(module, call, dynamic):
    program = torch.export.export(module, call.args, dynamic_shapes=dynamic)

    def linear(x, weight, bias):
        return torch.matmul(x, weight.T) + bias

    table = {torch.ops.aten.linear.default: linear}
    return program.run_decompositions({}).run_decompositions(table)


@contract(
    (f(5, 6),),
    capture=with_own_decomposition,
    export="export_decomp_torture_case_1 export_decomp_torture_case_2",
)
class DecomposedByAFunction(Layer):
    pass


class Made(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.ones(3, 3) * 2, torch.tensor(5)

    def forward(self, x):
        return x * self.a - self.b


@contract(
    (f(3, 3),),
    export="nested_module nested_module_with_init_buffer nested_module_with_constant_buffer",
)
def a_module_made_in_forward(x):
    return Made()(x) * x


class MadeWithParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(3, 3) * 2)
        self.b = nn.Parameter(torch.tensor(5.0))

    def forward(self, x):
        return x + self.a * self.b


@contract((f(3, 3),), export="nested_module_with_parameter")
def parameters_made_in_forward(x):
    return MadeWithParameters()(x) * x


@contract((f(3), {"layer": f(3)}), export="module_dict_key")
class ModulesAreKeys(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, given):
        held = {part: given[name] for name, part in self.named_children()}
        return x + held[self.layer]


@contract((f(5, 4),), export="none_buffers")
class InstanceNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(1)

    def forward(self, x):
        return self.norm(x[:, None])


@contract((f(2, 3),), export="fqn")
class NestedParameters(nn.Module):
    class One(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(2, 3))

        def forward(self, x):
            return x / (x.abs() + 1) + self.weight

    def __init__(self):
        super().__init__()
        self.one, self.kept = self.One(), nn.Buffer(torch.rand(2, 3))
        self.weight = nn.Parameter(torch.rand(2, 3))

    def forward(self, x):
        return self.one(x * self.weight) - self.kept


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


class Bar(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.kept = Leaf(), nn.Buffer(torch.rand(4, 4))

    def forward(self, x):
        return self.kept.sum() + self.leaf(x).sum()


@contract((f(4, 4),), export="nn_module_stack nn_module_stack_shared_submodule")
class PartsOfParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.bar, self.leaf = Bar(), Leaf()

    def forward(self, x):
        y = self.bar.kept + x
        return self.bar(x) - self.leaf(x + 2).sum() + self.leaf(y).sum(), y.sum()


DAG = (
    "unflatten_random_dag_5 unflatten_random_dag_6 unflatten_random_dag_buf_8 "
    "unflatten_random_dag_mutating_buf_4 unflatten_random_dag_mutating_buf_6 "
    "unflatten_random_dag_mutating_buf_9 unflatten_random_dag_preserving_4 "
    "unflatten_random_dag_mutating_buf_preserving_4 unflatten_random_dag_mutating_buf_preserving_4_1 "
    "unflatten_random_dag_mutating_buf_preserving_5 unflatten_random_dag_mutating_buf_preserving_7 "
    "unflatten_random_dag_mutating_buf_preserving_10 unflatten_random_dag_const_preserving_3 "
    "unflatten_random_dag_const_preserving_3_1"
)


class Chained(nn.Module):
    """A part of a chain, which reads, calls and writes to parts further down."""

    def __init__(self, depth: int, writes: bool):
        super().__init__()
        self.kept, self.held, self.writes = nn.Buffer(torch.ones(1)), torch.ones(1) * depth, writes
        self.next = Chained(depth - 1, writes) if depth else None

    def forward(self, x):
        part, below = self, []
        while part.next is not None:
            part = part.next
            below.append(part)
        for part in below:
            x = x * 0.5 + part.kept - part.held
        for part in below[:2]:
            x = part(x + 1)
        if self.writes:
            for number, part in enumerate(below):
                part.kept.add_(number + 1)
        return x + 1


@contract((f(1),), export=DAG)
class ChainOfParts(Chained):
    def __init__(self):
        super().__init__(3, False)


@contract((f(1),), (f(1),), export=DAG)
class ChainOfPartsThatWrite(Chained):
    def __init__(self):
        super().__init__(3, True)


class TwoWays(nn.Module):
    def __init__(self):
        super().__init__()
        self.held, self.kept = torch.ones(1) * 4, nn.Buffer(torch.ones(1) * 3)

    def forward(self, x, b):
        return x * self.held + 1 if b else x + 2 * (self.kept + 1) - self.held


@contract(
    (f(1),),
    export="unflatten_no_unroll preserve_module_call_signature_unflatten_specialization "
    "unflatten_multiple_graphs_dispatch unflatten_multiple_graphs_preserve_signature_no_error "
    "unflatten_multiple_graphs_shared_submodule",
)
class CalledOften(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = TwoWays()
        self.same = self.one

    def forward(self, x):
        x = self.one(x + 3, True)
        x = self.one(x + 4, True) - self.same(x, False)
        return self.same(x + 5, True) * self.one(x, False)


@contract((f(1),), (f(1),), export="unflatten_multiple_graphs_state")
class CalledOftenWithState(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.ones(1), persistent=False)

        def forward(self, x, b):
            self.kept.add_(1 if b else 2)
            return x + self.kept

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        for b in (True, False, True, False):
            x = self.part(x, b) + 1
        return x


@contract((f(3, 3), f(3, 3)), export="set_grad_unflatten export_with_set_grad_enabled")
class WithoutGradients(nn.Module):
    class Part(nn.Module):
        def forward(self, a, b):
            with torch.no_grad():
                return a + b

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, a, b):
        return self.part(a, b) * 2


@contract((f(2, 3),), export="placeholder_update_preserving")
class PartWritesToAnInput(nn.Module):
    class Part(nn.Module):
        def forward(self, x):
            return x.add_(3) - 2

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return self.part(x) + x * 4


@contract(
    (f(2, 3),),
    capture=decomposed,
    export="constant_tensor_with_non_functional constant_tensor_with_non_functional_nested",
)
class WritesToSumsOfConstants(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.held = torch.ones(2, 3)

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        y = self.part.held + 2
        return torch.ops.aten.sub_.Tensor(y, self.part.held * 5).sum() + x


@contract((f(4, 4),), capture=functional, export="stack_trace")
class WritesInPlaceToALayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        x = self.layer(x)
        x *= 2.0
        return x


@contract((f(3, 3),), export="modules_access_for_deleted_submodule")
class DeletedPart(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.other = nn.Linear(3, 3), nn.Linear(3, 3)
        self.other = None

    def forward(self, x):
        for part in self._modules.values():
            x = x if part is None else part(x)
        return x


@contract((f(5, 5),), capture=strict, export="profiling_code")
def under_the_profiler(x):
    with torch.profiler.record_function("name"):
        return x.sin()


@contract((f(2, 2, 2, 3),), export="layer_sharing")
class SharedNorm(nn.Module):
    def __init__(self):
        super().__init__()
        norm = nn.LayerNorm([2, 2, 3])
        self.norms = nn.ModuleList([norm, norm])

    def forward(self, x):
        for norm in self.norms:
            x = norm(x * 2)
        return x


@contract((f(2, 1),), export="module_list_slice")
class FirstOfAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([nn.Linear(1, 1) for _ in range(2)])

    def forward(self, x):
        for layer in self.all[:1]:
            x = layer(x)
        return x


@contract((f(2, 3),), export="non_persistent_buffer")
class NonPersistent(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(torch.rand(2, 3), persistent=False)

        def forward(self, x):
            return self.kept + x

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return self.part(x)


@contract((f(4, 4),), capture=exported_again, export="nonstrict_retrace_preserves_metadata")
class ExportedTwice(Leaf):
    pass


@contract((), export="constant_no_user_inp double_lifted_constants")
class ConstantsOnly(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Module()
        self.part.held = torch.ones(4, 4)
        self.register_buffer("kept", torch.rand(4, 4))

    def forward(self):
        return self.part.held.sin() + self.kept, torch.tensor([4, 5, 6])


class Sharing(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.held = torch.ones(3, 3, requires_grad=True)

        def forward(self, x):
            return x * self.held

    def __init__(self):
        super().__init__()
        self.part = self.Part()
        self.held = self.part.held


@contract((f(3, 3),), export="constant_aliasing")
class SharedConstant(Sharing):
    def forward(self, x):
        return x + self.held - self.part(x)


@contract((f(4),), export="unused_aliases")
class NamesOfOneParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.rand(4))
        self.b = self.a
        self.c = self.a

    def forward(self, x):
        return x + self.c


@contract((f(3, 5),), export="shared_submodule_nn_module_stack")
class NormTwice(nn.Module):
    def __init__(self):
        super().__init__()
        norm = nn.LayerNorm(5)
        self.all = nn.Sequential(norm, nn.ReLU(), norm, nn.ReLU())

    def forward(self, x):
        return self.all(x)


@contract((f(4), f(4)), export="slice_nn_module_stack")
class SlicesOfLists(nn.Module):
    class Part(nn.Module):
        def forward(self, x, y):
            return x - y

    def __init__(self):
        super().__init__()
        part = self.Part()
        self.one = nn.Sequential(*(part for _ in range(5)))
        self.other = nn.ModuleList(part for _ in range(5))

    def forward(self, x, y):
        for part in (*self.one[2:3], *self.other[4:5]):
            x = part(x, y)
        return x


@contract((f(4, 4),), export="split_const_gm_with_lifted_constants")
class FoldedConstants(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = torch.rand(4, 4), torch.rand(4)

    def forward(self, x):
        w = F.relu(torch.transpose(self.weight, 0, 1)) + self.bias
        return torch.matmul(x, w) + self.bias + torch.arange(4, dtype=torch.float16)


@contract(
    (f(3, 3),),
    capture=decomposed,
    export="run_decompositions_keep_tensor_constant_metadata",
)
class ConstantAndLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.held, self.layer = torch.ones(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.held + self.layer(x)


@contract((f(1, 5, 8),), export="attention")
class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.layer(x, x, x, need_weights=False)[0]


@contract((f(2, 2),), export="export_for_training_with_state_dict_hooks")
class StateDictHooks(nn.Module):
    def __init__(self):
        super().__init__()
        self._register_state_dict_hook(self.renamed)
        self.kept = nn.Buffer(torch.rand(2, 3), persistent=False)
        self.register_buffer("none", None, persistent=False)
        self.part = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))

    @staticmethod
    def renamed(module, state, prefix, *_):
        for key in list(state):
            state[key.replace("part.", "")] = state.pop(key)

    def forward(self, x):
        return self.part(x)


@contract((f(1, 3, 2),), export="export_rnn_variants_with_warning")
class RecurrentLayers(nn.Module):
    def __init__(self):
        super().__init__()
        kinds = (nn.RNN, nn.LSTM, nn.GRU)
        self.all = nn.ModuleList(kind(2, 4, batch_first=True) for kind in kinds)

    def forward(self, x):
        return [layer(x) for layer in self.all]


@contract((f(2, 3),), capture=strict, export="constant_fqn constant_name")
class ConstantsOfParts(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.held, self.weight = torch.rand(2, 3), nn.Parameter(torch.rand(2, 3))

        def forward(self, x):
            return x + self.held

    def __init__(self):
        super().__init__()
        self.one, self.other = self.Part(), self.Part()

    def forward(self, x):
        return self.one(x) * self.other(x) - self.one.held + self.other.held * self.other.weight


@contract((f(3),), capture=exported_again, export="nested_retrace")
class NestedExportedAgain(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(3))

        def forward(self, x):
            return x + self.weight

    def __init__(self):
        super().__init__()
        self.part = self.Part()

    def forward(self, x):
        return x * self.part(x)


@contract((f(3),), capture=strict, export="strict_export_with_shared_parameters")
class SharedParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.rand(3))
        self.b = self.a

    def forward(self, x):
        return x * self.a - self.b


@contract((f(3, 3),), export="print warning logging_logger hf_logging_logger")
def messages(x):
    print("a message")
    warnings.warn("another message", stacklevel=2)
    logging.getLogger(__name__).info("a third one")
    y = x + x
    return y, y * y


@contract((f(5),), export="wrapper_module")
class WrappedFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.call = torch.abs

    def forward(self, *args):
        return self.call(*args)


def plain(value):
    return CustomTensorPlainOut(torch.ones(3, 4) * value, torch.ones(3, 4))


@contract((f(3, 4),), export="subclasses_parameterization export_module")
class SubclassParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(3, 4)), nn.Parameter(plain(3))

    def forward(self, x):
        return x + (2 * self.a + self.b).sum()


@contract((f(3, 4),), export="subclasses_parameterization_nested")
class NestedSubclassParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(3, 4))
        self.b = nn.Parameter(CustomTensorPlainOut(plain(2), plain(5)))

    def forward(self, x):
        return x + (x + 2 * self.a + self.b).sum().sum()


def pair(value):
    return TwoTensor(torch.ones(3, 4) * value, torch.ones(3, 4))


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(3, 4))
        self.b = nn.Parameter(TwoTensor(pair(2), pair(3)))
        self.c = nn.Buffer(TwoTensor(pair(4), pair(5)))


@contract((f(3, 4),), export="subclass_nested_attr_access subclass_nested_attr_access_submodule")
class PartsOfASubclass(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Pairs()

    def forward(self, x):
        found = (2 * self.part.a + self.part.b + self.part.c).sum()
        return x + found.get_elem_a().b
