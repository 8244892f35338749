"""Functions of onnxscript, and operators that PyTorch keeps as one."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

_native = pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")
onnxscript = pytest.importorskip("onnxscript")

from onnxscript import FLOAT, script  # noqa: E402
from onnxscript import opset18 as op18  # noqa: E402
from onnxscript import opset20 as op20  # noqa: E402

from onnxport._operators import functions  # noqa: E402
from onnxport._operators.functions import Custom  # noqa: E402

mine = onnxscript.values.Opset("com.mine", 3)


@torch.library.custom_op("onnxport_scripted::soft", mutates_args=())
def soft(x: torch.Tensor, cap: float = 2.0) -> torch.Tensor:
    return torch.tanh(x / cap) * cap


@soft.register_fake
def _(x, cap=2.0):
    return torch.empty_like(x)


class Soft(torch.nn.Module):
    def forward(self, x):
        y = torch.ops.onnxport_scripted.soft(x, 3.0)
        return torch.ops.onnxport_scripted.soft(y, 0.5)


X = torch.linspace(-3, 3, 24).reshape(4, 6)


def convert(tmp_path, module, table, *args, **options):
    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(module.eval(), args or (X,)), path)
    said = json.dumps({"verify": False, **options})
    given = functions.collect(Custom(table))
    return onnx.load_from_string(
        _native.Conversion.open(path).run(said, functions=given).to_bytes()
    )


def agrees(model, module, *args):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    args = args or (X,)
    got = session.run(None, {n: a.detach().numpy() for n, a in zip(names, args, strict=True)})
    with torch.no_grad():
        np.testing.assert_allclose(got[0], module(*args).numpy(), rtol=1e-6, atol=1e-6)


@script(mine, default_opset=op20)
def soft_script(x: FLOAT[...], cap: float = 2.0):
    c = op20.Constant(value_float=cap)
    return op20.Tanh(x / c) * c


def test_a_scripted_function_becomes_a_local_function(tmp_path):
    model = convert(tmp_path, Soft(), {soft: soft_script})
    [function] = model.functions
    assert (function.domain, function.name) == ("com.mine", "soft_script")
    assert list(function.attribute) == ["cap"]
    calls = [node for node in model.graph.node if node.op_type == "soft_script"]
    assert [node.attribute[0].f for node in calls] == [3.0, 0.5]
    onnx.checker.check_model(model)
    agrees(model, Soft())


@script(mine, default_opset=op18)
def older(x: FLOAT[...], cap: float = 2.0):
    c = op18.Constant(value_float=cap)
    return op18.Identity(op18.Tanh(x / c) * c)


def test_a_function_for_another_opset_is_taken_where_it_means_the_same(tmp_path):
    for opset in (18, 20, 23):
        agrees(convert(tmp_path, Soft(), {soft: older}, opset=opset), Soft())


@script(mine, default_opset=op18)
def changed(x: FLOAT[...], cap: float = 2.0):
    grid = op18.Constant(value=onnx.helper.make_tensor("g", 1, [1], [0.0]))
    return op18.GridSample(x, grid)


def test_a_function_for_another_opset_is_refused_where_an_operator_changed(tmp_path):
    with pytest.raises(_native.Error, match=r"`GridSample` is not the same in opset 18.*and 20"):
        convert(tmp_path, Soft(), {soft: changed})


@script(mine, default_opset=op20)
def branching(x: FLOAT[...], cap: float = 2.0):
    c = op20.Constant(value_float=cap)
    if op20.ReduceSum(x, keepdims=0) > 0.0:  # noqa: SIM108
        y = op20.Tanh(x / c) * c
    else:
        y = c * op20.Tanh(x / c)
    for _ in range(3):
        y = y + 1.0
    return y - 3.0


def test_control_flow_of_a_function(tmp_path):
    model = convert(tmp_path, Soft(), {soft: branching})
    inside = {node.op_type for node in model.functions[0].node}
    assert {"If", "Loop"} <= inside
    agrees(model, Soft())


@script(mine, default_opset=op20)
def inner(x: FLOAT[...]):
    return op20.Tanh(x)


@script(mine, default_opset=op20)
def outer(x: FLOAT[...], cap: float = 2.0):
    c = op20.Constant(value_float=cap)
    return inner(x / c) * c


def test_a_function_may_call_another(tmp_path):
    model = convert(tmp_path, Soft(), {soft: outer})
    assert {function.name for function in model.functions} == {"inner", "outer"}
    agrees(model, Soft())


def trace_me(x, cap: float = 2.0):
    y = op18.Div(x, op18.Constant(value_float=cap))
    for _ in range(2):
        y = op18.Identity(y)
    return inner(y) * cap


def test_a_traced_function_emits(tmp_path):
    traced = onnxscript.values.TracedOnnxFunction(mine, trace_me)
    model = convert(tmp_path, Soft(), {soft: traced})
    agrees(model, Soft())
    assert {function.name for function in model.functions} == {"inner"}


def plain(x, cap=2.0):
    first, _ = op18.Split(op18.Concat(x, x, axis=0), num_outputs=2)
    return op18.Clip(op18.Tanh(first / cap), max=2.0) * cap


def test_a_function_of_torch_onnx_is_taken_as_it_is(tmp_path):
    agrees(convert(tmp_path, Soft(), {torch.ops.onnxport_scripted.soft.default: plain}), Soft())


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@torch.library.custom_op("onnxport_scripted::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return Square.apply(x).clone()


@square.register_fake
def _(x):
    return torch.empty_like(x)


def test_an_autograd_function_that_is_kept_as_one_operator(tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.ops.onnxport_scripted.square(x) + 1

    agrees(convert(tmp_path, Module(), {square: lambda op, x: x * x}), Module())


def test_a_triton_kernel_that_is_kept_as_one_operator(tmp_path):
    triton = pytest.importorskip("triton", reason="there is no Triton")
    from torch.library import triton_op, wrap_triton

    @triton.jit
    def kernel(source, target, count, BLOCK: triton.language.constexpr):
        place = triton.language.program_id(0) * BLOCK + triton.language.arange(0, BLOCK)
        inside = place < count
        value = triton.language.load(source + place, mask=inside)
        triton.language.store(target + place, value + value, mask=inside)

    @triton_op("onnxport_scripted::double", mutates_args={})
    def double(x: torch.Tensor) -> torch.Tensor:
        result = torch.empty_like(x)
        wrap_triton(kernel)[(triton.cdiv(x.numel(), 64),)](x, result, x.numel(), BLOCK=64)
        return result

    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.ops.onnxport_scripted.double(x) + 1

    class Wanted(torch.nn.Module):
        def forward(self, x):
            return x + x + 1

    # The kernel itself runs on a GPU only, and is neither run nor looked into.
    agrees(convert(tmp_path, Module(), {double: lambda op, x: x + x}), Wanted())
