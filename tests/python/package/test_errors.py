"""Awkward programs and arguments: an export ends in a program or in an error of onnxport."""

import collections
import dataclasses
import functools

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim

import onnxport

X = torch.arange(12.0).reshape(3, 4)
DYN = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Held:
    value: torch.Tensor


class SilentError(Exception):
    def __str__(self):
        raise ValueError("no text")


class Recursive(nn.Module):
    def forward(self, x):
        return self.forward(x)


def module(compute):
    class Computes(nn.Module):
        def forward(self, x):
            return compute(x)

    return Computes().eval()


def raising(error):
    def compute(x):
        raise error

    return module(compute)


def fake(made):
    with FakeTensorMode(allow_non_fake_inputs=True):
        return made()


def same(x):
    return x


# A module, its arguments and options, and the expected error: None is a program.
USAGE, CAPTURE, REFUSED = onnxport.UsageError, onnxport.CaptureError, onnxport.UnsupportedError
SILENT = (StopIteration(), AssertionError(), KeyError("k"), SilentError(), OSError(5, "no disk"))
FLOAT4 = torch.float4_e2m1fn_x2
CASES = {
    "float4_result": (module(lambda x: (x, torch.empty([1], dtype=FLOAT4))), (X,), {}, REFUSED),
    "float4_argument": (module(same), (torch.empty([2], dtype=FLOAT4),), {}, REFUSED),
    "nested_sizes": (
        module(lambda x: [[x.shape[0], x.shape[1]], [x], {"a": [x.shape[0] * 2]}]),
        (X,),
        {"dynamic_shapes": DYN},
        None,
    ),
    "quotient_of_sizes": (
        module(lambda x: (x, x.shape[0] / 2)),
        (X,),
        {"dynamic_shapes": DYN},
        None,
    ),
    "size_into_a_branch": (
        module(
            lambda x: torch.cond(
                x.sum() > 0, lambda x, n: x + n, lambda x, n: x - n, (x, x.shape[0])
            )
        ),
        (X,),
        {"dynamic_shapes": DYN},
        None,
    ),
    "fake_arguments": (nn.Linear(4, 4), (fake(lambda: torch.randn(3, 4)),), {}, None),
    "fake_weights": (fake(lambda: nn.Linear(4, 4)), (X,), {}, None),
    "vmap": (module(torch.vmap(lambda row: row.sum() * row)), (X,), {}, None),
    "gradient": (
        module(lambda x: torch.func.grad(lambda y: (y**2).sum())(x)),
        (X,),
        {},
        REFUSED,
    ),
    "builtin": (torch.sin, (X,), {}, None),
    "partial_builtin": (functools.partial(torch.add, torch.ones(1)), (X,), {}, None),
    "named_tuple_result": (module(lambda x: Pair(x, x + 1)), (X,), {}, None),
    "named_tuple_argument": (
        module(lambda x: x.first + x.second),
        (Pair(X, X),),
        {"dynamic_shapes": (({0: "rows"}, {0: "rows"}),)},
        None,
    ),
    "class_result": (module(Held), (X,), {}, CAPTURE),
    "class_argument": (module(lambda x: x.value), (Held(X),), {}, CAPTURE),
    "text_result": (module(lambda x: "text"), (X,), {}, REFUSED),
    "generator_result": (module(lambda x: (y for y in [x])), (X,), {}, CAPTURE),
    "sparse_argument": (module(same), (X.to_sparse(),), {}, REFUSED),
    "rows_of_sparse_argument": (module(same), (X.to_sparse_csr(),), {}, REFUSED),
    "array_argument": (module(same), (X.numpy(),), {}, CAPTURE),
    "huge_number": (module(lambda x: x + 2**70), (X,), {}, CAPTURE),
    "recursion": (Recursive(), (X,), {}, CAPTURE),
    "script": (torch.jit.script(nn.Linear(4, 4)), (X,), {}, USAGE),
    "class": (nn.Linear, (X,), {}, USAGE),
    "nothing": (None, (X,), {}, USAGE),
    "text_arguments": (module(same), "abc", {}, USAGE),
    **{f"raises_{type(one).__name__}": (raising(one), (X,), {}, CAPTURE) for one in SILENT},
}

# Arguments of `export` that have the wrong type.
WRONG = {
    "dynamic_shapes": (3, "a", (object(),)),
    "dynamic_axes": (3, {"x": 5}),
    "kwargs": ([1], {1: X}),
    "input_names": (5, [5]),
    "output_names": (5, ["a", "b"]),
    "opset_version": ("x", 10**30, 3),
    "options": (5, {5: 5}, {"target": object()}),
    "plugins": (5, [5]),
    "rules": (5, [5]),
    "passes": (5, [5]),
    "custom_translation_table": ({5: 5}, [5]),
    "report": (5, "report.txt"),
    "profile": (5,),
    "artifacts_dir": (None, 5),
    "config": (5,),
    "preset": (5,),
    "f": (5,),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_an_export_ends_in_a_program_or_an_error_of_onnxport(name):
    model, args, options, expected = CASES[name]
    if expected is None:
        onnxport.export(model, args, **options)
        return
    with pytest.raises(expected) as caught:
        onnxport.export(model, args, **options)
    problems = caught.value.diagnostics
    # The host's own errors about results have no next step yet.
    assert all(one.help for one in problems if one.code != "OP301"), caught.value


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG.items() for value in values],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_arguments_of_the_wrong_type_are_refused(name, value):
    with pytest.raises(onnxport.Error) as caught:
        onnxport.export(module(same), (X,), **{name: value})
    assert not isinstance(caught.value, onnxport.InternalError), caught.value


def test_a_failure_on_the_way_to_an_interrupt_stays_one():
    with pytest.raises(KeyboardInterrupt):
        onnxport.export(raising(KeyboardInterrupt()), (X,))


def test_a_named_tuple_is_known_to_pytorch_only_while_it_is_exported():
    program = onnxport.export(module(lambda x: Pair(x, x + 1)), (X,))
    assert Pair not in torch.utils._pytree.SUPPORTED_NODES
    first, second = program(X)
    assert torch.equal(second, first + 1)
