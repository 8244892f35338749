"""Programs as JSON: the same as from PyTorch's own serializer, byte for byte."""

import math

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim

import onnxport
from onnxport._export import serde, serialize

if not serde.is_followed():
    pytest.skip("another release of PyTorch than is followed", allow_module_level=True)

from onnxport._export.serde import program as walking
from onnxport._export.serde.facts import UnknownError

LIBRARY = torch.library.Library("onnxport_serde", "FRAGMENT")
LIBRARY.define(
    "lists(Tensor x, int[] a, float[] b, bool[] c, str[] d, Tensor[] e, Tensor?[] f, int[]? g,"
    " SymInt[] h, complex? i=None, float? j=None, Device? k=None, Layout? l=None,"
    " MemoryFormat? m=None, ScalarType? n=None, str o='') -> Tensor"
)
LIBRARY.define("write(Tensor(a!) x) -> ()")
LIBRARY.define("several(Tensor x, int n) -> (Tensor, Tensor?, Tensor[], SymInt)")


@torch.library.register_fake("onnxport_serde::lists", lib=LIBRARY)
def _(x, *_, **__):
    return torch.empty_like(x)


@torch.library.register_fake("onnxport_serde::write", lib=LIBRARY)
def _(x):
    return None


@torch.library.register_fake("onnxport_serde::several", lib=LIBRARY)
def _(x, n):
    return torch.empty_like(x), None, [torch.empty_like(x) for _ in range(n)], x.shape[0]


def exported(function, *args, shapes=None):
    module = nn.Module()
    module.forward = function
    return torch.export.export(module, args, dynamic_shapes=shapes, strict=False)


def x(*shape):
    return torch.zeros(shape or (4, 3))


def lists(x, *given, **named):
    return torch.ops.onnxport_serde.lists(x, *given, **named)


def write(x):
    y = x + 1
    torch.ops.onnxport_serde.write(y)
    return y


def several(x):
    first, _, (second, _third), _ = torch.ops.onnxport_serde.several(x, 2)
    return first, second


def none_taken(x):
    return torch.ops.onnxport_serde.several(x, 1)[0]


def twice(x):
    parts = x.split(1)
    return parts[0], x.unbind()[1], parts[0] + parts[2]


def sizes(x):
    return (
        torch.arange(x.shape[0] * 2),
        x.shape[0] + 1,
        x.new_zeros(x.shape[0], 5),
        x * (x.shape[0] / 2),
        x.view(x.shape[0], 3).expand(2, -1, -1),
    )


def counted(x):
    count = x.long().sum().item()
    torch._check(count >= 0)
    return torch.arange(count), x * x.max().item()


def branches(x):
    return torch.cond(x.sum() > 0, lambda y: (y + 1, y * 2), lambda y: (y - 1, y - 3), (x,))[0]


def loop(x):
    return torch._higher_order_ops.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x)
    )


def regions(x):
    with torch.no_grad():
        y = x * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return y @ y.mT


ROWS = ({0: Dim("rows", min=2)},)
EMPTY: list[object] = []
PROGRAMS = {
    "empty_lists": lambda: exported(lambda x: lists(x, *[EMPTY] * 8), x()),
    "lists": lambda: exported(
        lambda x: lists(
            x, [1, 2], [0.5, math.inf], [True], ["a", "é"], [x, x], [x, None], [3], [4]
        ),
        x(),
    ),
    "scalars": lambda: exported(
        lambda x: lists(
            x,
            *[EMPTY] * 6,
            None,
            [x.shape[0], 2],
            i=1 - math.nan * 1j,
            j=-math.inf,
            k=torch.device("cpu"),
            l=torch.strided,
            m=torch.channels_last,
            n=torch.bfloat16,
            o="say",
        ),
        x(),
        shapes=({0: Dim.DYNAMIC},),
    ),
    "several": lambda: exported(several, x()),
    "none_taken": lambda: exported(none_taken, x()),
    "twice": lambda: exported(twice, x()),
    "sizes": lambda: exported(sizes, x(), shapes=ROWS),
    "counted": lambda: exported(counted, x()),
    "branches": lambda: exported(branches, x(), shapes=ROWS),
    "loop": lambda: exported(loop, x()),
    "regions": lambda: exported(regions, x(3, 3)),
    "constants": lambda: exported(lambda x, n, flag, name, none: x + n, x(), 3, True, "é", None),
    "nothing": lambda: exported(lambda x: None, x()),
    "functionalized": lambda: exported(write, x()).run_decompositions(),
    "decomposed": lambda: exported(lambda x: nn.functional.gelu(x), x()).run_decompositions(),
    "complex": lambda: exported(lambda x: torch.view_as_complex(x), x(3, 2)),
    "tree": lambda: exported(lambda x: {"a": [x[0], (x[1],)]}, (x(), torch.ones(1))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bytes_are_those_of_the_serializer(name):
    program = PROGRAMS[name]()
    assert walking.to_json(program) == serialize.of_torch(program)


def test_the_cases_hold_every_kind_of_argument():
    from torch._export.serde.schema import Argument

    written = b"".join(walking.to_json(make()) for make in PROGRAMS.values()).decode()
    kinds = {name for name in Argument.__dataclass_fields__ if f'"{name}"' in written}
    # These come from higher-order operators of compilers, and from objects that are not tensors.
    rare = {"as_custom_obj", "as_optional_tensor", "as_string_to_argument", "as_nested_tensors"}
    rare |= {"as_int_lists", "as_float_lists", "as_sym_floats", "as_sym_bools", "as_sym_bool"}
    assert set(Argument.__dataclass_fields__) - kinds <= rare


def test_what_the_walk_does_not_know_goes_to_the_serializer():
    program = exported(torch.func.vmap(lambda row: row.sin() + 1), x())
    with pytest.raises(UnknownError):
        walking.to_json(program)
    assert serialize.to_json(program) == serialize.of_torch(program)


def test_other_releases_go_to_the_serializer(monkeypatch):
    program = PROGRAMS["twice"]()
    wanted = serialize.of_torch(program)
    monkeypatch.setattr(walking, "walked", lambda _: pytest.fail("it was walked"))
    monkeypatch.setattr(serde, "SCHEMA_VERSION", (8, 21))
    assert serialize.to_json(program) == wanted


def sums(x):
    return torch.sym_sum(x.shape), torch.sym_not(x.shape[0] == x.shape[1]), x.shape[0] > 3


def test_sums_and_truth_values_of_sizes_are_written():
    shapes = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    program = onnxport.export(exported(sums, x(), shapes=shapes))
    for rows in (3, 4):
        assert [one.item() for one in program(x(rows, 3))] == [rows + 3, rows != 3, rows > 3]


def float4(x):
    return x, torch.empty([1], dtype=torch.float4_e2m1fn_x2)


def test_what_the_serializer_does_not_write_is_unsupported():
    with pytest.raises(onnxport.UnsupportedError, match="serializer does not write this program"):
        onnxport.export(exported(float4, x()))


def test_weights_are_read_under_a_fake_mode():
    module = nn.Linear(3, 2).eval()
    with FakeTensorMode():
        program = onnxport.export(module, (x(),))
    torch.testing.assert_close(program(x())[0], module(x()))


def test_nothing_but_errors_of_the_package_leaves_an_export(monkeypatch):
    monkeypatch.setattr(serialize, "parts", lambda _: [][1])
    with pytest.raises(onnxport.InternalError, match="IndexError") as caught:
        onnxport.export(nn.ReLU().eval(), (x(),))
    assert isinstance(caught.value.__cause__, IndexError)
