"""`onnxport.export`: arguments, names, files, and small models end to end."""

import io
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxport
from onnxport.testing import assert_onnx_program

PACKAGE = Path(__file__).parents[3] / "python"


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


# The constant added to the last product is its bias.
FOLDED = ["first.bias", "first.weight", "second.weight", "shift.folded"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 400)
        self.second = nn.Linear(400, 2, bias=False)
        self.register_buffer("shift", torch.randn(2))

    def forward(self, x):
        return self.second(self.first(x).relu()) + self.shift


class Nested(nn.Module):
    def forward(self, x, more, flag=True, *, scale=None, nothing=None):
        y = x + more[0] if flag else x - more[0]
        y = y * more[1]["b"]
        return {"y": y if scale is None else y * scale, "pair": (y, [x])}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def net():
    return Net().eval()


def shapes(path):
    graph = onnx.load(path, load_external_data=False).graph
    return {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in [*graph.input, *graph.output]
    }


def names(path):
    graph = onnx.load(path, load_external_data=False).graph
    return [
        [value.name for value in part] for part in (graph.input, graph.output, graph.initializer)
    ]


def test_a_module_becomes_a_file(net, tmp_path):
    path = tmp_path / "net.onnx"
    program = onnxport.export(net, (torch.randn(5, 3),), path)
    onnx.checker.check_model(path, full_check=True)
    assert program.capture.strategy == "non-strict"
    assert_onnx_program(program)
    assert sorted(names(path)[2]) == FOLDED


def test_without_a_path_nothing_is_written(net, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = onnxport.export(net, (torch.randn(5, 3),))
    assert_onnx_program(program)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "args", [(torch.ones(2, 3), torch.ones(3)), [torch.ones(2, 3), torch.ones(3)]]
)
def test_positional_arguments(args):
    assert_onnx_program(onnxport.export(Sum(), args))


def test_a_tensor_alone(net):
    assert_onnx_program(onnxport.export(net, torch.randn(5, 3)))


def test_keyword_arguments():
    x, y = torch.randn(2, 3), torch.randn(3)
    assert_onnx_program(onnxport.export(Sum(), (), kwargs={"x": x, "y": y}))
    assert_onnx_program(onnxport.export(Sum(), (x,), kwargs={"y": y}))
    assert_onnx_program(onnxport.export(Sum(), (x, {"y": y})))


def test_other_forms_of_arguments_are_refused(net):
    with pytest.raises(onnxport.UsageError, match="`args` is a dict and no tuple"):
        onnxport.export(net, {"x": torch.randn(5, 3)})
    with pytest.raises(onnxport.UsageError, match="does not take these arguments"):
        onnxport.export(net, (torch.randn(5, 3),) * 2, dynamic_shapes=({0: "n"}, None))


def test_an_exported_program_is_taken_as_it_is(net, tmp_path):
    program = torch.export.export(net, (torch.randn(5, 3),))
    made = onnxport.export(program, (), tmp_path / "m.onnx")
    assert made.exported_program is program
    assert made.capture.strategy is None
    assert_onnx_program(made, strategy=None)
    with pytest.raises(onnxport.UsageError, match="`dynamic_axes` means nothing for a program"):
        onnxport.export(program, dynamic_axes={"x": [0]})


def test_an_exported_program_may_have_its_dimensions_named(net, tmp_path):
    given = torch.export.export(net, (torch.randn(5, 3),), dynamic_shapes=({0: Dim.AUTO},))
    onnxport.export(given, (), tmp_path / "m.onnx", dynamic_shapes=({0: "batch"},))
    assert shapes(tmp_path / "m.onnx")["x"] == ["batch", 3]


def test_a_file_is_converted_without_its_module(net, tmp_path):
    program = torch.export.export(net, (torch.randn(5, 3),))
    torch.export.save(program, tmp_path / "m.pt2")
    made = onnxport.export(tmp_path / "m.pt2", (), tmp_path / "m.onnx")
    assert_onnx_program(made, strategy=None)
    with pytest.raises(onnxport.UsageError, match="has its inputs"):
        onnxport.export(tmp_path / "m.pt2", (torch.randn(5, 3),))
    with pytest.raises(onnxport.UsageError, match="an ONNX model already"):
        onnxport.export(tmp_path / "m.onnx")
    with pytest.raises(onnxport.FileError) as caught:
        onnxport.export(tmp_path / "none.pt2")
    assert caught.value.diagnostics[0].code == "OP101"


def test_functions_are_exported():
    assert_onnx_program(onnxport.export(lambda x, y: x * y + 1, (torch.ones(3), torch.ones(3))))


@pytest.mark.parametrize("beside", [True, False])
def test_weights_go_beside_the_model_or_into_it(net, tmp_path, beside):
    path = tmp_path / "net.onnx"
    onnxport.export(net, (torch.randn(5, 3),), path, external_data=beside)
    assert (len(list(tmp_path.iterdir())) == 2) == beside
    weights = onnx.load(path, load_external_data=False).graph.initializer
    external = {tensor.data_location for tensor in weights}
    assert (onnx.TensorProto.EXTERNAL in external) == beside


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("included", [True, False])
def test_weights_may_be_left_out_and_declared(net, tmp_path, included, kept):
    path = tmp_path / "net.onnx"
    arguments = {"export_params": included, "keep_initializers_as_inputs": kept}
    onnxport.export(net, (torch.randn(5, 3),), path, external_data=False, **arguments)
    inputs, _, weights = names(path)
    assert inputs[0] == "x"
    assert set(inputs[1:]) == (set(net.state_dict()) if kept else set())
    own = set(net.state_dict()) if kept else set(FOLDED)
    assert set(weights) == (own if included else set())


def test_an_open_file_is_deprecated(net):
    buffer = io.BytesIO()
    with pytest.warns(DeprecationWarning, match="open file is deprecated"):
        onnxport.export(net, (torch.randn(5, 3),), buffer)
    onnx.checker.check_model(onnx.load_from_string(buffer.getvalue()))
    with pytest.raises(onnxport.UsageError, match="`f` is a int"):
        onnxport.export(net, (torch.randn(5, 3),), 3)


def test_the_opset_is_the_wanted_one(net, tmp_path):
    for version in (18, 22):
        path = tmp_path / f"{version}.onnx"
        onnxport.export(net, (torch.randn(5, 3),), path, opset_version=version)
        (opset,) = onnx.load(path).opset_import
        assert (opset.domain, opset.version) == ("", version)
    with pytest.raises(onnxport.UsageError) as caught:
        onnxport.export(net, (torch.randn(5, 3),), opset_version=5)
    assert caught.value.diagnostics[0].code == "OP306"


class TestNames:
    def test_all(self, tmp_path):
        path = tmp_path / "m.onnx"
        args = (torch.ones(2, 3), torch.ones(3))
        onnxport.export(Sum(), args, path, input_names=["a", "b"], output_names=["c"])
        assert names(path)[:2] == [["a", "b"], ["c"]]

    def test_the_first_ones(self, tmp_path):
        path = tmp_path / "m.onnx"
        onnxport.export(Sum(), (torch.ones(2, 3), torch.ones(3)), path, input_names=["a"])
        assert names(path)[0] == ["a", "y"]

    def test_too_many_are_refused(self):
        with pytest.raises(onnxport.UsageError, match="3 names for 2"):
            onnxport.export(Sum(), (torch.ones(3), torch.ones(3)), input_names=["a", "b", "c"])

    def test_nested_inputs_and_outputs(self, tmp_path):
        path = tmp_path / "m.onnx"
        args = (torch.ones(2, 3), [torch.ones(2, 3), {"b": torch.ones(3)}], False)
        wanted = {"input_names": ["p", "q", "r", "s"], "output_names": ["t", "u", "v"]}
        kwargs = {"scale": torch.ones(1)}
        program = onnxport.export(Nested(), args, path, kwargs=kwargs, **wanted)
        assert names(path)[0] == wanted["input_names"]
        assert names(path)[1] == wanted["output_names"]
        assert_onnx_program(program)


class TestDynamicShapes:
    @pytest.mark.parametrize(
        "given",
        [
            ({0: "batch"},),
            [{0: "batch"}],
            {"x": {0: "batch"}},
            {"x": {0: Dim("batch")}},
            {"x": ("batch", None)},
        ],
    )
    def test_names_reach_the_model(self, net, tmp_path, given):
        program = onnxport.export(
            net, (torch.randn(5, 3),), tmp_path / "m.onnx", dynamic_shapes=given
        )
        found = shapes(tmp_path / "m.onnx")
        assert found["x"] == ["batch", 3]
        assert [value for name, value in found.items() if name != "x"] == [["batch", 2]]
        assert_onnx_program(program, args=(torch.randn(7, 3),))

    def test_without_names(self, net, tmp_path):
        path = tmp_path / "m.onnx"
        program = onnxport.export(
            net, (torch.randn(5, 3),), path, dynamic_shapes=({0: Dim.DYNAMIC},)
        )
        assert isinstance(shapes(path)["x"][0], str)
        assert_onnx_program(program, args=(torch.randn(1, 3),))

    def test_derived_dimensions(self, tmp_path):
        class Half(nn.Module):
            def forward(self, x):
                return x.reshape(-1, 2)

        half = Dim("half", min=2)
        onnxport.export(
            Half(), (torch.randn(8),), tmp_path / "m.onnx", dynamic_shapes=({0: 2 * half},)
        )
        found = shapes(tmp_path / "m.onnx")
        assert found["x"] == ["2*half"]
        assert [value for name, value in found.items() if name != "x"] == [["half", 2]]

    def test_nested(self, tmp_path):
        args = (torch.ones(2, 3), [torch.ones(2, 3), {"b": torch.ones(3)}])
        given = {"x": {0: "n"}, "more": [{0: "n"}, {"b": None}]}
        program = onnxport.export(Nested(), args, tmp_path / "m.onnx", dynamic_shapes=given)
        found = shapes(tmp_path / "m.onnx")
        assert found["x"] == ["n", 3]
        assert found["more_0"] == ["n", 3]
        other = (torch.ones(4, 3), [torch.ones(4, 3), {"b": torch.ones(3)}])
        assert_onnx_program(program, args=other)

    def test_auto(self, net, tmp_path):
        onnxport.export(
            net,
            (torch.randn(5, 3),),
            tmp_path / "m.onnx",
            dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},),
        )
        batch, width = shapes(tmp_path / "m.onnx")["x"]
        assert isinstance(batch, str)
        assert width == 3


class TestDynamicAxes:
    def test_names(self, tmp_path):
        path = tmp_path / "m.onnx"
        with pytest.warns(DeprecationWarning, match="`dynamic_axes` is deprecated"):
            program = onnxport.export(
                Sum(),
                (torch.ones(2, 3), torch.ones(2, 3)),
                path,
                input_names=["a", "b"],
                output_names=["c"],
                dynamic_axes={"b": {0: "rows"}, "a": {0: "rows"}, "c": {0: "rows"}},
            )
        assert shapes(path) == {"a": ["rows", 3], "b": ["rows", 3], "c": ["rows", 3]}
        assert_onnx_program(program, args=(torch.ones(4, 3), torch.ones(4, 3)))

    def test_lists(self, net, tmp_path):
        path = tmp_path / "m.onnx"
        with pytest.warns(DeprecationWarning, match="dynamic_axes"):
            onnxport.export(net, (torch.randn(5, 3),), path, dynamic_axes={"x": [0]})
        assert isinstance(shapes(path)["x"][0], str)

    def test_both_are_refused(self, net):
        with pytest.raises(onnxport.UsageError, match="are both given"):
            onnxport.export(
                net, (torch.randn(5, 3),), dynamic_axes={"x": [0]}, dynamic_shapes=({0: "n"},)
            )


def test_verification_comes_before_writing(net, tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    onnxport.export(net, (torch.randn(5, 3),), path, verify=True)
    assert path.exists()
    path.unlink()
    from onnxport._onnx_program import reference

    def shifted(*given):
        module = true(*given)
        for parameter in module.parameters():
            parameter.data = parameter.data + 1
        return module

    true = reference._own
    monkeypatch.setattr(reference, "_own", shifted)
    with pytest.raises(onnxport.MismatchError, match="OP701") as caught:
        onnxport.export(net, (torch.randn(5, 3),), path, verify=True)
    assert caught.value.exit == 4
    assert not path.exists()


def test_optimisation_may_be_left_out():
    class Twice(nn.Module):
        def forward(self, x):
            return x.neg().neg()

    def nodes(program):
        return [node.op_type for node in program.model_proto.graph.node]

    args = (torch.ones(3),)
    program = onnxport.export(Twice(), args, optimize=False)
    assert nodes(program) == ["Neg", "Neg"]
    program.optimize()
    assert "Neg" not in nodes(program)
    assert "Neg" not in nodes(onnxport.export(Twice(), args))


class TestArtifacts:
    def test_a_report_of_success(self, net, tmp_path):
        onnxport.export(net, (torch.randn(5, 3),), report=True, artifacts_dir=tmp_path)
        (path,) = tmp_path.glob("onnx_export_*_success.md")
        text = path.read_text()
        assert "- non-strict: succeeded" in text
        assert "- `x`: f32[5, 3]" in text
        assert "torch.ops.aten.linear.default" in text

    def test_a_report_of_failure(self, tmp_path):
        with pytest.raises(onnxport.CaptureError):
            onnxport.export(
                Sum(), (torch.ones(2), torch.ones(3)), report=True, artifacts_dir=tmp_path
            )
        (path,) = tmp_path.glob("onnx_export_*_failure.md")
        text = path.read_text()
        assert "error[OP210]" in text
        assert "- draft: " in text

    def test_a_page_of_success(self, net, tmp_path):
        path = tmp_path / "pages" / "net.html"
        onnxport.export(net, (torch.randn(5, 3),), report=path)
        page = path.read_text()
        assert page.startswith("<!DOCTYPE html>")
        for part in ("<title>net</title>", "f32[5, 3]", "Operator sets"):
            assert part in page
        assert list(path.parent.iterdir()) == [path]

    def test_a_page_describes_the_written_model(self, net, tmp_path, monkeypatch):
        model, page = tmp_path / "net.onnx", tmp_path / "net.html"
        # The page needs no copy of the model in a file.
        monkeypatch.setattr(tempfile, "mkdtemp", None)
        onnxport.export(net, (torch.randn(5, 3),), model, report=page, external_data=False)
        assert "describes the model" in str(onnxport.report(model, check=page))

    def test_a_page_of_failure(self, tmp_path):
        path = tmp_path / "sum.html"
        with pytest.raises(onnxport.CaptureError):
            onnxport.export(Sum(), (torch.ones(2), torch.ones(3)), report=path)
        page = path.read_text()
        assert "OP210" in page
        assert "return x + y" in page

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_files_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(onnxport.FileError, match=r"OP601.*cannot write `.*file"):
            onnxport.export(Sum(), (torch.ones(2),) * 2, report=tmp_path / "file" / "report.md")
        with pytest.raises(onnxport.FileError, match=r"OP601.*a bytes-like object|OP601.*str"):
            onnxport.export(Sum(), (torch.ones(2),) * 2, io.StringIO())

    def test_unexpected_errors_are_internal(self, monkeypatch):
        def broken(*_, **__):
            raise KeyError("broken")

        monkeypatch.setattr(onnxport.ONNXProgram, "verify", broken)
        with pytest.raises(onnxport.InternalError, match="KeyError: 'broken'"):
            onnxport.export(Sum(), (torch.ones(2),) * 2, verify=True)

    def test_the_exported_program(self, net, tmp_path):
        onnxport.export(
            net, (torch.randn(5, 3),), dump_exported_program=True, artifacts_dir=tmp_path
        )
        (path,) = tmp_path.glob("onnx_export_*.pt2")
        torch.export.load(path)

    def test_times(self, net, capsys):
        onnxport.export(net, (torch.randn(5, 3),), profile=True)
        said = capsys.readouterr().out
        for stage in ("capture", "hand over", "convert"):
            assert f"[onnxport] {stage}: " in said

    def test_what_is_being_done(self, net, capsys):
        onnxport.export(net, (torch.randn(5, 3),), verbose=True)
        assert "[onnxport] non-strict export of Net" in capsys.readouterr().err
        onnxport.export(net, (torch.randn(5, 3),), verbose=False)
        assert not capsys.readouterr().err


def test_training_mode_is_warned_about(net):
    with pytest.warns(UserWarning, match="in training mode"):
        onnxport.export(net.train(), (torch.randn(5, 3),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnxport.export(net.eval(), (torch.randn(5, 3),))


def test_findings_of_draft_export_are_warnings():
    class Branch(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.warns(UserWarning, match="OP211"):
        program = onnxport.export(Branch(), (torch.ones(3),))
    assert program.capture.strategy == "draft"
    assert program.diagnostics[0].code == "OP211"
    assert_onnx_program(program, strategy="draft")
    with pytest.raises(ValueError, match="captured by draft"):
        assert_onnx_program(program)


def test_further_options_of_the_command(net):
    program = onnxport.export(net, (torch.randn(5, 3),), options={"target": "onnx"})
    assert program.report["target"]["target"] == "onnx"
    with pytest.raises(onnxport.UsageError, match="unknown option"):
        onnxport.export(net, (torch.randn(5, 3),), options={"nonsense": 1})


def test_what_has_no_lowering_is_refused_with_its_line():
    @torch.library.custom_op("onnxport_tests::unknown", mutates_args=())
    def unknown(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    unknown.register_fake(torch.empty_like)

    class Own(nn.Module):
        def forward(self, x):
            return torch.ops.onnxport_tests.unknown(x) + 1

    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(Own(), (torch.ones(3),))
    (problem,) = caught.value.diagnostics
    assert problem.code == "OP301"
    assert problem.target == "onnxport_tests.unknown.default"
    assert problem.file.endswith("test_export.py")
    assert isinstance(caught.value, torch.onnx.OnnxExporterError)


def test_an_exportable_module_says_what_it_takes(net, tmp_path):
    class Exportable(torch.onnx.ExportableModule):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x)

        def example_arguments(self):
            return (torch.randn(5, 3),), None

        def input_names(self):
            return ("features",)

        def output_names(self):
            return ("scores",)

        def dynamic_shapes(self):
            return ({0: "batch"},)

    onnxport.export(Exportable().eval(), (), tmp_path / "m.onnx")
    assert shapes(tmp_path / "m.onnx") == {"features": ["batch", 3], "scores": ["batch", 2]}
    onnxport.export(Exportable().eval(), (), tmp_path / "n.onnx", input_names=["x"])
    assert list(shapes(tmp_path / "n.onnx")) == ["x", "scores"]


class TestSmallModels:
    """Kinds of inputs, outputs and types, in ONNX Runtime against PyTorch."""

    @pytest.mark.parametrize(
        "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.bool]
    )
    def test_types(self, dtype):
        x = torch.randn(2, 3).to(dtype)
        assert_onnx_program(onnxport.export(lambda x: x.reshape(-1)[1:], (x,)))

    def test_complex_numbers(self):
        x = torch.randn(2, 3, dtype=torch.complex64)
        assert_onnx_program(onnxport.export(lambda x: x * x, (x,)))

    def test_constants_and_none_among_inputs(self):
        class Mixed(nn.Module):
            def forward(self, x, factor, nothing, text, y):
                return x * factor + y if nothing is None and text == "a" else x

        args = (torch.ones(2), 3, None, "a", torch.ones(2))
        assert_onnx_program(onnxport.export(Mixed(), args))

    def test_constants_and_none_among_outputs(self):
        program = onnxport.export(lambda x: (x + 1, None, 3, [x * 2]), (torch.ones(2),))
        found = program(torch.ones(2))
        assert found[0].tolist() == [2, 2]
        assert_onnx_program(program)

    def test_an_output_that_is_an_input_or_a_weight(self, net):
        class Same(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3))

            def forward(self, x):
                return x, self.weight, x + self.weight, x

        assert_onnx_program(onnxport.export(Same(), (torch.ones(3),)))

    def test_named_tuples_among_outputs(self):
        assert_onnx_program(onnxport.export(lambda x: torch.topk(x, 2), (torch.randn(5),)))

    def test_control_flow(self):
        class Cond(nn.Module):
            def forward(self, x):
                return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

        program = onnxport.export(Cond(), (torch.ones(3),))
        for args in [(torch.ones(3),), (-torch.ones(3),)]:
            assert_onnx_program(program, args=args)

    def test_buffers_that_change_are_kept_from_call_to_call(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                self.count += 1
                return x + self.count

        program = onnxport.export(Counter(), (torch.zeros(2),))
        assert [float(program(torch.zeros(2))[0][0]) for _ in range(3)] == [1, 2, 3]
        assert float(program.states["count"]) == 3
        program.release()
        assert float(program(torch.zeros(2))[0][0]) == 1
        assert_onnx_program(onnxport.export(Counter(), (torch.zeros(2),)))

    def test_numbers_that_are_dynamic(self):
        class Repeat(nn.Module):
            def forward(self, x, n):
                return x[:n] * n

        shape = {"x": {0: "size"}, "n": Dim.DYNAMIC}
        program = onnxport.export(Repeat(), (torch.randn(8), 3), dynamic_shapes=shape)
        x = torch.randn(9)
        assert torch.equal(program(x, 4)[0], x[:4] * 4)

    def test_subclasses_of_modules_and_batch_norm(self):
        model = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2)
        ).eval()
        program = onnxport.export(model, (torch.randn(2, 3, 8, 8),), dynamic_shapes=({0: "batch"},))
        assert_onnx_program(program, args=(torch.randn(3, 3, 8, 8),), rtol=1e-4, atol=1e-5)

    def test_tied_weights_are_written_once(self, tmp_path):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(100, 64)
                self.head = nn.Linear(64, 100, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, ids):
                return self.head(self.embed(ids))

        program = onnxport.export(Tied(), (torch.tensor([1, 2]),), tmp_path / "m.onnx")
        assert (tmp_path / "m.onnx.data").stat().st_size < 2 * 100 * 64 * 4
        assert_onnx_program(program, rtol=1e-4, atol=1e-5)

    def test_views_and_strides_of_weights(self):
        class Views(nn.Module):
            def __init__(self):
                super().__init__()
                base = torch.randn(6, 4)
                self.register_buffer("rows", base[1:4])
                self.register_buffer("turned", base.t())
                self.register_buffer("one", base[:1].expand(3, 4))
                self.register_buffer("conjugate", torch.randn(3, dtype=torch.complex64).conj())

            def forward(self, x):
                return x + self.rows, x @ self.turned, x + self.one, self.conjugate * 2

        assert_onnx_program(onnxport.export(Views(), (torch.randn(3, 4),)), rtol=1e-4, atol=1e-5)

    def test_a_decoder_with_a_cache(self):
        transformers = pytest.importorskip("transformers")
        config = transformers.LlamaConfig(
            vocab_size=20,
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
        )
        model = transformers.LlamaForCausalLM(config).eval()

        def call(batch, tokens, past):
            cache = transformers.DynamicCache(config=config)
            for layer in range(2):
                cache.update(torch.randn(batch, 1, past, 4), torch.randn(batch, 1, past, 4), layer)
            mask = torch.ones(batch, past + tokens, dtype=torch.int64)
            ids = torch.randint(0, 20, (batch, tokens))
            return {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}

        layer = {0: "batch", 2: "past"}
        given = {
            "input_ids": {0: "batch", 1: "tokens"},
            "attention_mask": {0: "batch", 1: "total"},
            "past_key_values": [[layer] * 2] * 2,
        }
        program = onnxport.export(model, (), kwargs=call(2, 3, 5), dynamic_shapes=given)
        torch.manual_seed(1)
        assert_onnx_program(program, kwargs=call(3, 2, 7), rtol=1e-4, atol=1e-5)


def test_without_pytorch_its_package_is_named():
    code = (
        "import sys, onnxport\n"
        "class Without:\n"
        "  def find_spec(self, name, path=None, target=None):\n"
        "    if name == 'torch': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "try: onnxport.export(lambda x: x, ())\n"
        "except onnxport.UsageError as error: assert 'pip install torch' in str(error)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


def test_the_report_is_that_of_the_command(net, tmp_path):
    program = onnxport.export(net, (torch.randn(5, 3),), tmp_path / "m.onnx")
    assert program.report["inputs"] == [{"name": "x", "type": "f32[5, 3]"}]
    assert json.loads(json.dumps(program.report))["opset"] == 20
    assert np.prod(program(np.zeros((5, 3), np.float32))[0].shape) == 10
