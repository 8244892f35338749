"""How lowerings in Python are registered, and what exports make of them."""

import numpy as np
import onnx
import pytest
import torch

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

from test_operators import (
    Softcap,
    X,
    agrees,
    convert,
    kinds,
    lower_softcap,
    program,
    refused,
    softcap,
)

from onnxport._operators import functions, registry
from onnxport._operators.dtype import DType
from onnxport._operators.functions import Custom
from onnxport._operators.refusal import Refusal


class Plain(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


def test_a_bundled_lowering_is_overridden_by_the_users_choice(tmp_path):
    table = {torch.ops.aten.relu.default: lambda op, x: op.Max(x, 0)}
    model = convert(tmp_path, Plain(), table)
    assert kinds(model) == ["Max", "Add"]
    agrees(model, Plain(), X)
    model = convert(tmp_path, Plain(), table, use=["aten.relu.default=aten"])
    assert kinds(model) == ["Relu", "Add"]


@pytest.fixture
def registered():
    before = dict(functions.LOWERINGS)
    yield
    functions.LOWERINGS.clear()
    functions.LOWERINGS.update(before)


@pytest.mark.usefixtures("registered")
def test_a_decorator_registers_for_every_conversion(tmp_path):
    @registry.lowering("onnxport_test::softcap")
    def lower(op, x, cap, *, scale=1):
        return op.tanh(x / cap) * cap * scale

    agrees(convert(tmp_path, Softcap(), None), Softcap(), X)
    model = convert(tmp_path, Softcap(), {softcap: lambda op, x, cap: op.Relu(x)})
    assert "Relu" in kinds(model), "the table of an export goes before"


@pytest.mark.usefixtures("registered")
def test_a_decorator_overrides_only_when_it_says_so(tmp_path):
    def lower(op, x):
        return op.Max(x, 0)

    registry.lowering("aten::relu")(lower)
    [error] = refused(tmp_path, Plain(), None)
    assert "is provided by both" in error["message"]
    registry.lowering("aten::relu", override=True)(lower)
    assert kinds(convert(tmp_path, Plain(), None)) == ["Max", "Add"]


def test_what_is_no_operator_and_no_function_is_refused():
    with pytest.raises(TypeError, match="is not an operator"):
        functions.collect(Custom({print: lower_softcap}))
    with pytest.raises(ValueError, match="is not an operator"):
        registry.lowering("softcap")(lower_softcap)
    with pytest.raises(TypeError, match="a lowering is a function"):
        registry.lowering("a::b")(3)
    with pytest.raises(TypeError, match="name an operator"):
        registry.lowering()


def test_the_first_function_of_a_list_that_takes_the_call_counts(tmp_path):
    def never(op, x, cap, scale):
        raise Refusal("not for me")

    model = convert(tmp_path, Softcap(), {softcap: [never, lower_softcap]})
    agrees(model, Softcap(), X)
    [error] = refused(tmp_path, Softcap(), {softcap: [never, never]})
    assert "not for me" in error["message"]


def test_the_lock_is_taken_for_the_operators_of_python_only(tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) + 1

    model = convert(tmp_path, Module(), {softcap: lower_softcap})
    assert "Relu" in kinds(model)


def test_types_have_the_numbers_of_onnx():
    theirs = {n: v for n, v in onnx.TensorProto.DataType.items() if n != "UNDEFINED"}
    ours = {dtype.name: int(dtype) for dtype in DType}
    assert ours.items() <= theirs.items()
    assert DType.of(torch.bfloat16) is DType.BFLOAT16
    assert DType.of(np.float64) is DType.DOUBLE
    assert DType.of(np.dtype("int8")) is DType.INT8
    assert DType.of("float32") is DType.FLOAT
    for name in ["float8_e4m3fn", "float8_e5m2", "complex64", "bool", "uint16"]:
        DType.of(getattr(torch, name))
    with pytest.raises(ValueError, match="not an element type"):
        DType.of("number")


def test_many_conversions_keep_one_table(tmp_path):
    conversion = program(Softcap(), X, tmp_path=tmp_path)
    first = conversion.run(
        '{"verify": false}', functions=functions.collect(Custom({softcap: lower_softcap}))
    )
    for _ in range(20):
        given = functions.collect(Custom({softcap: lower_softcap}))
        again = conversion.run('{"verify": false}', functions=given)
        assert again.to_bytes() == first.to_bytes()


def test_an_export_takes_a_table():
    import onnxport
    from onnxport.testing import assert_onnx_program

    table = {torch.ops.onnxport_test.softcap.default: lower_softcap}
    program = onnxport.export(Softcap().eval(), (X,), custom_translation_table=table)
    assert_onnx_program(program)
    with pytest.raises(onnxport.UnsupportedError, match="has no lowering"):
        onnxport.export(Softcap().eval(), (X,))


def test_what_a_lowering_raised_is_the_cause():
    import onnxport

    def broken(op, x, cap):
        raise KeyError("cap")

    with pytest.raises(onnxport.Error) as raised:
        onnxport.export(Softcap().eval(), (X,), custom_translation_table={softcap: broken})
    assert isinstance(raised.value.__cause__, KeyError)
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.code == "python:raised"
    assert diagnostic.line == Softcap.forward.__code__.co_firstlineno + 1


def test_a_refusal_of_an_export():
    import onnxport

    def lower(op: onnxport.Emitter, x: onnxport.Value, cap: float):
        raise onnxport.Refusal("never")

    with pytest.raises(onnxport.UnsupportedError, match="cannot be lowered: never") as raised:
        onnxport.export(Softcap().eval(), (X,), custom_translation_table={softcap: lower})
    assert raised.value.__cause__ is None
    with pytest.raises(onnxport.Error, match=r"no_such_plugin\.so"):
        onnxport.export(Softcap().eval(), (X,), plugins=["no_such_plugin.so"])


def test_two_threads_lower_at_once():
    from concurrent.futures import ThreadPoolExecutor

    import onnxport

    exported = torch.export.export(Softcap(), (X,))

    def export(cap):
        def lower(op, x, _):
            return x * cap

        program = onnxport.export(exported, custom_translation_table={softcap: lower})
        return program(X)[0]

    with ThreadPoolExecutor(4) as pool:
        for cap, got in zip(range(1, 9), pool.map(export, map(float, range(1, 9))), strict=True):
            np.testing.assert_allclose(got, (X + 1).numpy() * cap, rtol=1e-6)
