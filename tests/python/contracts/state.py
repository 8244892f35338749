"""Buffers, parameters and inputs that the program writes, and attributes that it assigns."""

import torch
from torch import nn
from torch.export import Dim

from tests.python.contracts.captures import decomposed, exported_again, functional
from tests.python.contracts.registry import contract, f, t


@contract((f(4, 4),), (f(4, 4),), export="no_grad_param_inplace")
class WrittenParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, x):
        with torch.no_grad():
            self.weight.div_(2)
        return x + self.weight


@contract((f(2, 3),), (f(2, 3),), export="state_tensors")
class AssignedBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(2, 3), persistent=False)

    def forward(self, x):
        old, second, third = self.kept, self.kept + 4, self.kept + 5
        self.kept = self.kept + 3
        new = self.kept
        self.kept = third
        return x + old + new * second


@contract((f(2, 3),), (f(2, 3),), export="state_tensors")
class AssignedBuffersByName(nn.Module):
    def __init__(self):
        super().__init__()
        for at in range(2):
            self.register_buffer(f"part_{at}", torch.ones(2, 3), persistent=False)

    def forward(self, x):
        old = self.part_0 + self.part_1
        for at in range(2):
            setattr(self, f"part_{at}", torch.ones(2, 3) + at + 2)
        return x + old - (self.part_0 + self.part_1)


@contract((f(2, 3),), export="state_primitives")
class AssignedNumbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = 1, {"k": 2}, (3,)

    def forward(self, x):
        self.a = self.a + 4
        self.b["k"] = self.b["k"] + 5
        self.c = (self.c[0] + 6,)
        return x + self.a * self.b["k"] - self.c[0]


@contract((f(5, 4),), export="state_shape_attribute_assignment output_node_name")
class AssignedShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.last = self.layer.weight.shape

    def forward(self, x):
        self.last = x.shape
        return self.layer(x)


@contract((f(4, 4),), (f(4, 4),), export="export_for_training_with_mutation")
class WrittenInputAndBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(4, 4))

    def forward(self, x):
        x.add_(5)
        self.kept.add_(5)
        return x + self.kept


@contract(
    (f(4, 3),), (f(2, 3),), dynamic=({0: "n"},), export="export_for_training_with_dynamic_shapes"
)
class WrittenInputOfDynamicSize(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(4, 4))

    def forward(self, x):
        x.add_(5)
        self.kept.add_(5)
        return x + self.kept.sum()


@contract(([[f(4), f(4)]],), export="export_for_training_with_container_type")
class WrittenInputsInALists(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(4, 4))

    def forward(self, held):
        x, y = held[0]
        x.add_(5)
        y.mul_(3)
        return x - y + self.kept.sum()


@contract((f(4),), export="duplicate_modules_with_non_persistent_buffers")
class SharedBuffer(nn.Module):
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.rand(4), persistent=False)

        def forward(self, x):
            return x + self.kept

    def __init__(self):
        super().__init__()
        part = self.Part()
        self.one, self.other = nn.Sequential(part), nn.Sequential(part)

    def forward(self, x):
        return self.one(x) * self.other(x)


@contract((f(5, 5),), (f(5, 5),), export="to_module_with_mutated_buffer")
class WrittenBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.zeros(1))

    def forward(self, x):
        self.kept.add_(1)
        return x.sum() + self.kept.sum()


class Outer(nn.Module):
    """Writes to its own buffer and to that of a part, before or after the part runs."""

    after = False

    def __init__(self):
        super().__init__()
        self.kept, self.part = nn.Buffer(torch.zeros(1)), WrittenBuffer()

    def forward(self, x):
        self.kept.add_(1)
        if not self.after:
            self.part.kept.add_(2)
        y = self.part(x)
        if self.after:
            self.part.kept.add_(2)
        return y.sum() - self.kept.sum()


@contract((f(5, 5),), (f(5, 5),), export="to_module_with_mutated_buffer_multiple")
class WrittenBeforeAPart(Outer):
    pass


@contract((f(5, 5),), (f(5, 5),), export="to_module_with_mutated_buffer_multiple_update_sub_later")
class WrittenAfterAPart(Outer):
    after = True


@contract(
    (f(5, 5),),
    (f(7, 5),),
    dynamic=({0: Dim("n")},),
    capture=exported_again,
    export="retracable_ep",
)
class ExportedAgainWithBuffers(Outer):
    after = True


@contract(
    (f(5, 4),),
    (f(8, 4),),
    dynamic=({0: Dim("n", min=3)},),
    capture=exported_again,
    export="retrace_pre_autograd",
)
class SumWithABuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(4, 4))

    def forward(self, x):
        self.kept.add_(4)
        return x.sum() - self.kept.sum()


@contract((f(12), t(2.0)), export="export_input_mutation_static_shape")
def a_write_through_a_view_of_an_input(x, y):
    x.view(3, 2, -1).add_(y)
    return x


@contract(
    ((f(12), f(3, 2)), 2.0),
    ((f(7), f(3, 2)), 2.0),
    dynamic=(({0: Dim("n")}, None), None),
    export="export_input_mutation_dynamic_shape",
)
def a_write_to_an_element(x, y):
    x[0].mul_(y)
    return x


@contract((f(4, 4, 4),), export="export_input_mutation_bug")
def a_slice_of_an_input_is_assigned(x):
    x[:, :2, :] = x[:, :2, :] + 1
    return x


@contract(
    (f(5, 4, 3), f(4), f(4), f(4), f(4).abs()),
    capture=decomposed,
    export="run_decomposition_supports_user_input_mutation",
)
def running_statistics_are_inputs(x, weight, bias, mean, var):
    return torch.ops.aten.native_batch_norm(x, weight, bias, mean, var, True, 0.5, 0.6)


@contract((f(4, 4),), (f(4, 4),), export="user_input_and_buffer_mutation")
class WrittenBufferAndInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.rand(4, 4))

    def forward(self, x):
        self.kept.add_(1)
        x.add_(1)
        return self.kept * x


@contract((f(3),), (f(3),), capture=functional, export="print_graph_signature")
class FunctionalWrites(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(3))

    def forward(self, x):
        x.add_(1)
        self.kept.add_(2)
        return self.kept * x
