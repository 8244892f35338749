"""Promises in PyTorch's own tests of its exporter that the other files here do not cover."""

import onnx
import onnx_ir as ir
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim

import onnxport
from onnxport.testing import assert_onnx_program


class Two(nn.Module):
    def forward(self, x, b):
        return x.relu(), b.sigmoid()


class Nested(nn.Module):
    def forward(self, x, ys, zs, c):
        y = ys[0] + ys[1] + zs["a"] + zs["b"]
        if x.shape[0] < 3 and c.shape[0] != 4:
            return x + 5, x + y, c
        return x - 5, x - y, c


def first_extents(program):
    ports = program.model_proto.graph.input
    return [port.type.tensor_type.shape.dim[0].dim_param for port in ports]


@pytest.mark.filterwarnings("ignore:`dynamic_axes` is deprecated")
class TestDynamicAxes:
    @pytest.mark.parametrize("keyword", [False, True])
    @pytest.mark.parametrize("named", [False, True])
    def test_all_axes(self, keyword, named):
        x, b = torch.randn(2, 2, 3), torch.randn(2, 2, 3)
        args = (x, {"b": b}) if keyword else (x, b)
        axes = {
            name: {axis: f"{name}_{axis}" for axis in range(3)} if named else [0, 1, 2]
            for name in ("x", "b")
        }
        program = onnxport.export(Two(), args, dynamic_axes=axes)
        assert_onnx_program(program)
        assert all(first_extents(program))
        if named:
            assert first_extents(program) == ["x_0", "b_0"]

    def test_some_inputs_and_an_output(self):
        args = (torch.randn(2, 2, 3), torch.randn(2, 2, 3))
        program = onnxport.export(
            Two(),
            args,
            input_names=["x", "b"],
            output_names=["x_out", "b_out"],
            dynamic_axes={"b": [0, 1, 2], "b_out": [0, 1, 2]},
        )
        assert_onnx_program(program)
        assert [bool(name) for name in first_extents(program)] == [False, True]

    def test_nested_inputs_with_names_of_their_own(self):
        names = ["input_x", "input_y", "input_z", "d", "e", "f"]
        inputs = (
            torch.ones(5),
            [torch.zeros(5), torch.ones(5)],
            {"a": torch.zeros(5), "b": torch.ones(5)},
            torch.ones(4),
        )
        axes = {name: {0: "dim"} for name in names[:-1]}
        program = onnxport.export(Nested(), inputs, dynamic_axes=axes, input_names=names)
        assert_onnx_program(program)
        assert first_extents(program) == ["dim"] * 5 + [""]


class TestDynamicShapes:
    def test_a_program_with_dims_of_its_own(self):
        shapes = {name: {axis: Dim(f"{name}_{axis}") for axis in range(3)} for name in ("x", "b")}
        args = (torch.randn(2, 2, 3), torch.randn(2, 2, 3))
        given = torch.export.export(Two(), args, dynamic_shapes=shapes, strict=True)
        program = onnxport.export(given)
        assert_onnx_program(program, strategy=None)
        assert first_extents(program) == ["x_0", "b_0"]

    def test_some_inputs(self):
        args = (torch.randn(2, 2, 3), torch.randn(2, 2, 3))
        shapes = {"x": None, "b": {0: Dim("b_0")}}
        program = onnxport.export(Two(), args, dynamic_shapes=shapes)
        assert_onnx_program(program)
        assert first_extents(program) == ["", "b_0"]

    def test_ranges_that_the_model_needs_are_found(self):
        class Bounded(nn.Module):
            def forward(self, x, y):
                if x.shape[0] >= 6 and y.shape[0] <= 16:
                    return x * 2.0, y + 1
                return x, y

        args = (torch.randn(16), torch.randn(12))
        shapes = {"x": (Dim("dx"),), "y": (Dim("dy"),)}
        program = onnxport.export(Bounded(), args, dynamic_shapes=shapes)
        assert_onnx_program(program)
        assert all(first_extents(program))

    def test_strings_in_nested_inputs(self):
        inputs = (
            torch.ones(5),
            [torch.zeros(5), torch.ones(5)],
            {"a": torch.zeros(5), "b": torch.ones(5)},
            torch.ones(4),
        )
        shapes = {"x": {0: "dim"}, "ys": [{0: "dim"}] * 2, "zs": {"a": {0: "dim"}, "b": {0: "dim"}}}
        program = onnxport.export(Nested(), inputs, dynamic_shapes={**shapes, "c": None})
        assert_onnx_program(program)
        assert first_extents(program) == ["dim"] * 5 + [""]


class TestCapture:
    def test_annotations_of_torchscript(self):
        class Model(nn.Module):
            def forward(self, a, b):
                return a.cos() if torch.jit.isinstance(a, torch.Tensor) else b.sin()

        assert_onnx_program(onnxport.export(Model(), (torch.tensor(0.0), torch.tensor(1.0))))

    def test_a_value_that_decides(self):
        class Model(nn.Module):
            def forward(self, a, b):
                return a.cos() if a.sum() > 0 else b.sin()

        args = (torch.tensor(0.0), torch.tensor(1.0))
        with pytest.warns(UserWarning, match="OP211"):
            program = onnxport.export(Model(), args)
        assert_onnx_program(program, strategy="TorchExportDraftExportStrategy")

    def test_an_operator_without_results(self):
        class Model(nn.Module):
            def forward(self, x):
                torch.ops.aten._assert_async.msg(torch.tensor(True), "assertion failed")
                return x + x

        assert_onnx_program(onnxport.export(Model(), torch.randn(2)))

    def test_operators_depend_on_the_opset(self):
        def operators(opset):
            model = nn.GELU(approximate="tanh").eval()
            program = onnxport.export(model, torch.randn(1, 3, 4, 4), opset_version=opset)
            assert_onnx_program(program, rtol=1e-4, atol=1e-5)
            return {node.op_type for node in program.model.graph}

        assert "Gelu" not in operators(18)
        assert "Gelu" in operators(20)


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(42.0))

    def forward(self, x):
        return self.weight + x


class TestFakeMode:
    @pytest.fixture
    def program(self):
        with FakeTensorMode():
            return onnxport.export(Weighted().eval(), (torch.tensor(1.0),), optimize=False)

    def test_there_is_no_message_before_there_are_weights(self, program):
        for read in (
            lambda: program.model_proto,
            program.to_bytes,
            lambda: program(torch.ones(())),
        ):
            with pytest.raises(onnxport.UsageError, match="waits for its weights"):
                read()

    def test_weights_come_later(self, program, tmp_path):
        program.apply_weights({"weight": torch.tensor(42.0)})
        model = ir.serde.deserialize_model(program.model_proto)
        assert float(model.graph.initializers["weight"].const_value.numpy()) == 42
        assert float(program(torch.tensor(1.0))[0]) == 43
        program.save(tmp_path / "m.onnx")
        onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)

    def test_without_initializers_it_is_saved(self, program, tmp_path):
        program.save(
            tmp_path / "m.onnx", include_initializers=False, keep_initializers_as_inputs=True
        )
        graph = onnx.load(tmp_path / "m.onnx").graph
        assert sorted(port.name for port in graph.input) == ["weight", "x"]


class TestRenamingAxes:
    def program(self, *shapes):
        values = [
            ir.Value(
                name=f"input_{n}", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(shape)
            )
            for n, shape in enumerate(shapes)
        ]
        graph = ir.Graph(inputs=values, outputs=values[:1], nodes=[])
        return onnxport.ONNXProgram(ir.Model(graph, ir_version=9))

    def shapes(self, program):
        return [list(map(str, value.shape)) for value in program.model.graph.inputs]

    def test_names(self):
        program = self.program(["s0", "s1"], ["s0", "s2"])
        program.rename_axes({"s0": "batch", "s1": "length", "s2": "hidden"})
        assert self.shapes(program) == [["batch", "length"], ["batch", "hidden"]]
        assert list(map(str, program.model.graph.outputs[0].shape)) == ["batch", "length"]

    def test_dimensions_and_names(self):
        program = self.program(["s0", "s1", 10])
        batch = program.model.graph.inputs[0].shape[0]
        program.rename_axes({batch: "batch", "s1": "length"})
        assert self.shapes(program) == [["batch", "length", "10"]]

    def test_expressions(self):
        program = self.program(["s0", "s1 + s2", "s1*2"])
        program.rename_axes({"s0": "batch", "s1": "new", "s2": "past", "s1 + s2": "total"})
        assert self.shapes(program) == [["batch", "total", "new*2"]]

    def test_what_is_not_there_is_passed_over(self):
        program = self.program(["s0", "s1"])
        program.rename_axes({"s0": "batch", "nothing": "other"})
        program.rename_axes({})
        assert self.shapes(program) == [["batch", "s1"]]
