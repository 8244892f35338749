"""`ONNXProgram`: running it, looking into it, changing it, saving it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from torch import nn

import onnxport
from onnxport._onnx_program.measure import compare
from onnxport.testing import assert_onnx_program

PACKAGE = Path(__file__).parents[3] / "python"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 400)
        self.second = nn.Linear(400, 2, bias=False)

    def forward(self, x, y=None):
        z = self.second(self.first(x).relu())
        return z if y is None else z * y


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture
def x():
    return torch.randn(5, 3)


@pytest.fixture
def program(net, x):
    return onnxport.export(net, (x,), dynamic_shapes=({0: "batch"},), output_names=["scores"])


class TestCalling:
    def test_tensors_give_tensors(self, net, program, x):
        (found,) = program(x)
        torch.testing.assert_close(found, net(x))
        (found,) = program(x=x[:2])
        torch.testing.assert_close(found, net(x[:2]))

    def test_arrays_give_arrays(self, net, program, x):
        (found,) = program(x.numpy())
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_inputs_are_found_by_their_names_in_the_model(self, net, x):
        program = onnxport.export(net, (x,), input_names=["features"])
        torch.testing.assert_close(program(features=x)[0], net(x))

    def test_other_calls_are_refused(self, program, x):
        with pytest.raises(onnxport.UsageError, match="takes other arguments"):
            program(x, x)
        with pytest.raises(onnxport.UsageError, match="takes other arguments"):
            program()

    def test_the_reference_evaluator(self, net, program, x):
        torch.testing.assert_close(program.call_reference(x)[0], net(x))
        assert_onnx_program(program, backend="reference")

    def test_values_inside(self, net, program, x):
        inside = [node.output[0] for node in program.model_proto.graph.node]
        hidden = next(name for name in inside if name.startswith("relu"))
        found, scores, given, weight = program.compute_values(
            [hidden, "scores", "x", "second.weight"], (x,)
        )
        torch.testing.assert_close(found, net.first(x).relu())
        torch.testing.assert_close(scores, net(x))
        assert torch.equal(given, x)
        assert torch.equal(weight, net.second.weight)
        with pytest.raises(onnxport.UsageError, match="no value `nothing`"):
            program.compute_values(["nothing"], (x,))
        torch.testing.assert_close(program(x)[0], net(x))

    def test_a_session_of_the_users_own(self, program, x):
        import onnxruntime as ort

        made = []

        def initializer(model):
            assert isinstance(model, bytes)
            made.append(ort.InferenceSession(model, providers=["CPUExecutionProvider"]))
            return made[-1]

        program.initialize_inference_session(initializer)
        program(x)
        program(x)
        assert len(made) == 1
        program.release()
        program(x)
        assert len(made) == 1

    def test_a_large_model_is_run_from_files_that_go_away(self, net, program, x, monkeypatch):
        from onnxport._onnx_program import running

        monkeypatch.setattr(running, "LARGEST_MESSAGE", 8)
        torch.testing.assert_close(program(x)[0], net(x))
        folder = program._runner._folder.name
        hidden = next(n.output[0] for n in program.model_proto.graph.node if n.op_type == "Relu")
        torch.testing.assert_close(program.compute_values([hidden], (x,))[0], net.first(x).relu())
        program(x)
        program.release()
        import os

        assert not os.path.exists(folder)

    def test_two_threads(self, net, x):
        from concurrent.futures import ThreadPoolExecutor

        given = torch.export.export(net, (x,))
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda _: onnxport.export(given).to_bytes(), range(6)))
        assert len(set(made)) == 1


def outputs(report, case=0):
    return report["verification"]["cases"][case]["outputs"]


def cases(report):
    return [case["name"] for case in report["verification"]["cases"]]


class TestVerifying:
    def test_what_agrees(self, program, x):
        report = program.verify()
        (scores,) = outputs(report)
        assert scores["name"] == "scores"
        assert scores["difference"]["wrong"] == 0
        assert scores["difference"]["max_abs"] < 1e-5
        assert {"traced", "minimum", "prime", "maximum"} <= {*cases(report)}
        assert {case["expected"] for case in report["verification"]["cases"]} == {"torch"}
        assert report["verification"]["torch"].startswith("PyTorch ")

    def test_it_says_what_the_command_prints(self, program, x, tmp_path):
        torch.export.save(program.exported_program, tmp_path / "model.pt2")
        program.save(tmp_path / "model.onnx")
        here = program.verify()
        there = onnxport.verify(
            tmp_path / "model.onnx", against=tmp_path / "model.pt2", reference="torch"
        )
        assert here.keys() - there.keys() == {"module"}
        assert there.keys() <= here.keys()
        assert cases(here) == cases(there)
        mine, theirs = (
            [(case["inputs"], case["expected"], case["outputs"]) for case in said["cases"]]
            for said in (here["verification"], there["verification"])
        )
        assert mine == theirs

    def test_a_call_of_ones_own(self, program, x):
        assert cases(program.verify((x[:2],))) == ["given"]
        assert {"given", "drawn"} <= {*cases(program.verify((x[:2],), seed=1))}

    def test_a_size_that_tracing_excluded_is_computed(self, net, program, x):
        guarded = torch.export.export(
            net, (x,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},)
        )
        made = onnxport.export(guarded)
        assert cases(made.verify((x[:1],))) == ["given"]

    def test_the_noise_of_the_computation(self, program):
        report = program.verify(tolerance="auto")
        assert report["verification"]["tolerance"] == "auto"
        assert 0 < outputs(report)[0]["floor"]["noise"] < 1e-5

    def test_several_executors(self, program):
        report = program.verify(executor=["ort", "reference"])
        names = [one["executor"].partition(",")[0] for one in report["executors"]]
        assert len(names) == 2
        assert "evaluator" in names[1]

    def test_drawn_sizes_satisfy_the_guards(self):
        class Guarded(nn.Module):
            def forward(self, x):
                n = x.shape[0]
                torch._check((n % 3) * (n % 5) == 0)
                return x + 1

        dynamic = ({0: torch.export.Dim.DYNAMIC},)
        given = torch.export.export(Guarded(), (torch.ones(3, 2),), dynamic_shapes=dynamic)
        report = onnxport.export(given).verify()
        assert {"prime", "maximum"} <= {*cases(report)}
        for case in report["verification"]["cases"]:
            size = case["inputs"][0]["shape"][0]
            assert (size % 3) * (size % 5) == 0
            assert case["expected"] == "torch"

    def test_the_module_stays_as_it_is(self, x):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 2)
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x):
                self.calls.add_(1)
                self.linear.weight.mul_(0.5)
                return self.linear(x) + self.calls

        with torch.no_grad():
            module = Counting().eval().requires_grad_(False)
            program = onnxport.export(torch.export.export(module, (x,)))
        kept = {name: value.clone() for name, value in module.state_dict().items()}
        generator = torch.get_rng_state()
        report = program.verify(tolerance="auto")
        assert cases(report)[:3] == ["traced", "traced-step-2", "traced-step-3"]
        assert torch.equal(torch.get_rng_state(), generator)
        assert torch.get_default_dtype() == torch.float32
        for name, value in module.state_dict().items():
            assert value.dtype == torch.float32
            assert torch.equal(value, kept[name]), name

    def test_what_differs(self, program, x):
        program.exported_program = torch.export.export(Net().eval(), (x,))
        with pytest.raises(onnxport.MismatchError, match="scores: 10 of 10 elements") as caught:
            program.verify()
        assert outputs(caught.value.report)[0]["difference"]["wrong"] == 10
        program.verify(rtol=1e3, atol=1e3)

    def test_other_shapes_differ(self, program, x):
        program.exported_program = torch.export.export(nn.Linear(3, 7), (x,))
        with pytest.raises(onnxport.MismatchError, match=r"shape \[5, 2\], expected \[5, 7\]"):
            program.verify()

    def test_nan_agrees_with_nan(self):
        program = onnxport.export(lambda x: x.sqrt(), (torch.tensor([-1.0, 4.0]),))
        (root,) = outputs(program.verify())
        assert root["difference"]["wrong"] == 0
        assert_onnx_program(program)

    def test_nothing_to_compare_with(self, program, x):
        other = onnxport.ONNXProgram(program.model)
        with pytest.raises(onnxport.UnverifiedError, match="no exported program"):
            other.verify()
        with pytest.raises(onnxport.UnverifiedError, match="checked only types and shapes"):
            program.verify(reference="recorded")
        assert program.verify(reference="none")["ok"]
        with pytest.raises(ValueError, match="no exported program"):
            assert_onnx_program(other, strategy=None)
        with pytest.raises(ValueError, match="'tract' is not a backend"):
            assert_onnx_program(program, backend="tract")
        without = torch.export.export(Net().eval(), (x,))
        without.example_inputs = None
        program.exported_program = without
        with pytest.raises(onnxport.UnverifiedError, match="no example"):
            program.verify()

    def test_an_option_that_there_is_none_of(self, program):
        with pytest.raises(onnxport.UsageError, match="tolerence"):
            program.verify(tolerence="auto")

    def test_a_program_of_a_file(self, program, x, tmp_path):
        torch.export.save(program.exported_program, tmp_path / "model.pt2")
        made = onnxport.export(tmp_path / "model.pt2")
        assert "minimum" in cases(made.verify(reference="torch"))
        assert cases(made.verify((x[:2],))) == ["given"]

    def test_values_that_differ_are_shown(self, program, x):
        wrong = onnxport.export(lambda x: x @ torch.ones(3, 2), (x,))
        wrong.exported_program = program.exported_program
        with pytest.raises(AssertionError, match="elements differ"):
            assert_onnx_program(wrong)


class TestTheModel:
    def test_it_is_one_of_onnx_ir(self, program):
        assert isinstance(program.model, ir.Model)
        assert [value.name for value in program.model.graph.inputs] == ["x"]
        assert set(program.model.graph.initializers) >= {"first.weight", "second.weight"}

    def test_looking_at_it_changes_nothing(self, program, tmp_path):
        before = program.to_bytes()
        str(program.model)
        assert program.to_bytes() == before

    def test_what_is_changed_in_it_is_run_and_saved(self, net, program, x, tmp_path):
        for node in program.model.graph:
            if node.op_type == "Relu":
                node.op_type = "Neg"
        wanted = net.second(-net.first(x))
        program.release()
        torch.testing.assert_close(program(x)[0], wanted)
        path = tmp_path / "m.onnx"
        for beside in (True, False):
            program.save(path, external_data=beside)
            assert "Neg" in [node.op_type for node in onnx.load(path).graph.node]
            torch.testing.assert_close(onnxport.ONNXProgram(ir.load(path))(x)[0], wanted)
        assert "Neg" in program.text
        assert "Neg" in [node.op_type for node in program.model_proto.graph.node]

    def test_changed_weights_are_noticed(self, net, program, x):
        value = program.model.graph.initializers["second.weight"]
        value.const_value = ir.tensor(np.zeros((2, 400), np.float32), name="second.weight")
        assert not program(x)[0].any()

    def test_another_one_may_take_its_place(self, net, program, x):
        other = onnxport.export(lambda x: x + 1, (x,))
        program.model = other.model
        torch.testing.assert_close(program(x)[0], x + 1)

    def test_a_program_is_made_of_a_model(self, net, program, x):
        other = onnxport.ONNXProgram(program.model, program.exported_program)
        torch.testing.assert_close(other(x)[0], net(x))
        assert other.model is program.model

    def test_as_a_message(self, program):
        onnx.checker.check_model(program.model_proto, full_check=True)

    def test_as_text(self, program):
        assert "Relu(" in program.text
        assert repr(program) == "ONNXProgram((x: f32[batch, 3]) -> (scores: f32[batch, 2]))"

    def test_in_a_notebook(self, program):
        page = program._repr_html_()
        for part in (
            "<td>x</td><td>f32[batch, 3]</td>",
            "<td>scores</td>",
            "non-strict: succeeded",
            "<b>the model</b> Net: ",
            "<b>first</b> Linear: 1 calls, ",
        ):
            assert part in page


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_weights_beyond_a_message_are_lazy(dtype, monkeypatch, tmp_path):
    net = nn.Linear(3, 4, dtype=dtype).eval()
    x = torch.randn(5, 3, dtype=dtype)
    program = onnxport.export(net, (x,))
    monkeypatch.setattr("onnxport._onnx_program.held.LARGEST_MESSAGE", 0)
    initializers = program.model.graph.initializers
    kinds = {type(value.const_value).__name__ for value in initializers.values()}
    assert kinds == {"LazyTensor"}
    found = torch.from_numpy(initializers["weight"].const_value.numpy().astype("float64"))
    assert torch.equal(found, net.weight.detach().double())
    # It is changed and run like any other.
    program.model.graph.outputs[0].name = "scores"
    program.save(tmp_path / "a.onnx")
    assert onnx.load(tmp_path / "a.onnx").graph.output[0].name == "scores"
    # ONNX Runtime has no such kernel for bfloat16.
    if dtype is not torch.bfloat16:
        assert program.output_names == ["scores"]
        torch.testing.assert_close(program(x)[0], net(x))


class TestSaving:
    def test_whole_or_beside(self, program, tmp_path):
        program.save(tmp_path / "a.onnx")
        said = program.save(tmp_path / "b.onnx", external_data=True)
        assert [path.name for path in sorted(tmp_path.iterdir())] == [
            "a.onnx",
            "b.onnx",
            "b.onnx.data",
        ]
        assert said["files"] == [str(tmp_path / "b.onnx"), str(tmp_path / "b.onnx.data")]
        assert (tmp_path / "a.onnx").read_bytes() == program.to_bytes()

    def test_further_options(self, program, tmp_path):
        program.save(tmp_path / "a.onnx", external_data=True, manifest=True)
        assert (tmp_path / "a.onnx.sha256").exists()
        with pytest.raises(onnxport.UsageError):
            program.save(tmp_path / "a.onnx", nonsense=True)

    def test_a_model_that_was_changed_takes_no_options(self, program, tmp_path):
        program.model.graph.name = "another"
        with pytest.raises(onnxport.UsageError, match="manifest: a model that was changed"):
            program.save(tmp_path / "a.onnx", manifest=True)

    @pytest.mark.parametrize("changed", [False, True])
    @pytest.mark.parametrize("kept", [False, True])
    @pytest.mark.parametrize("included", [False, True])
    def test_weights(self, net, program, tmp_path, included, kept, changed):
        if changed:
            program.model.graph.name = "another"
        given = {"include_initializers": included, "keep_initializers_as_inputs": kept}
        program.save(tmp_path / "a.onnx", **given)
        graph = onnx.load(tmp_path / "a.onnx").graph
        weights = set(net.state_dict())
        assert {value.name for value in graph.input} == ({"x"} | weights if kept else {"x"})
        assert {tensor.name for tensor in graph.initializer} == (weights if included else set())
        assert set(program.model.graph.initializers) == weights

    def test_a_place_that_does_not_exist(self, program, tmp_path):
        with pytest.raises(onnxport.FileError):
            program.save(tmp_path / "none" / "a.onnx")

    def test_it_outlives_its_module(self, net, x, tmp_path):
        import gc

        program = onnxport.export(net, (x,))
        wanted = net(x).detach()
        del net
        program.exported_program = None
        program.capture = None
        program._source = None
        gc.collect()
        program.save(tmp_path / "a.onnx")
        torch.testing.assert_close(onnxport.ONNXProgram(ir.load(tmp_path / "a.onnx"))(x)[0], wanted)

    def test_a_serializer_of_ones_own(self, net, program, tmp_path):
        seen = {}

        def serializer(destination, model, weights):
            assert destination == tmp_path / "a.own"
            assert not onnx.load_from_string(model).graph.initializer
            for weight in weights:
                pieces = list(weight.pieces(16))
                assert all(len(piece) <= 16 for piece in pieces)
                assert sum(map(len, pieces)) == weight.nbytes
                seen[weight.name] = np.frombuffer(b"".join(pieces), np.float32).reshape(
                    weight.shape
                )

        program.save(tmp_path / "a.own", serializer=serializer)
        assert set(seen) == set(net.state_dict())
        for name, tensor in net.state_dict().items():
            np.testing.assert_array_equal(seen[name], tensor.numpy())
        with pytest.raises(onnxport.UsageError, match="cannot be called"):
            program.save(tmp_path / "a.own", serializer=3)

    def test_it_takes_no_options_about_writing(self, program, tmp_path):
        with pytest.raises(onnxport.UsageError, match="shard_size, manifest"):
            program.save(
                tmp_path / "a", serializer=lambda *_: None, shard_size="1GB", manifest=True
            )


class TestAxes:
    def test_they_are_renamed_everywhere(self, program, tmp_path):
        program.rename_axes({"batch": "rows"})
        assert "f32[rows, 3]" in repr(program)
        program.save(tmp_path / "a.onnx")
        text = onnx.printer.to_text(onnx.load(tmp_path / "a.onnx"))
        assert "rows" in text
        assert "batch" not in text

    def test_expressions_are_renamed(self):
        class Joined(torch.nn.Module):
            def forward(self, x, y):
                return torch.cat([x, y])

        given = {"x": {0: "a"}, "y": {0: "b"}}
        args = (torch.ones(3), torch.ones(4))
        program = onnxport.export(Joined().eval(), args, dynamic_shapes=given)
        program.rename_axes({program.model.graph.outputs[0].shape[0]: "total", "a": "first"})
        assert [one["type"] for one in program.report["outputs"]] == ["f32[total]"]
        assert [one["type"] for one in program.report["inputs"]] == ["f32[first]", "f32[b]"]
        assert program(torch.ones(2), torch.ones(1))[0].shape == (3,)

    def test_they_are_found_by_dimensions_of_the_model(self, program):
        program.rename_axes({program.model.graph.inputs[0].shape[0]: "rows"})
        assert str(program.model.graph.inputs[0].shape[0]) == "rows"
        assert str(program.model.graph.outputs[0].shape[0]) == "rows"
        assert "f32[rows, 3]" in repr(program)


class TestWeights:
    def test_a_state_dict(self, program, x):
        torch.manual_seed(1)
        other = Net().eval()
        program.apply_weights(other.state_dict())
        torch.testing.assert_close(program(x)[0], other(x))

    def test_files(self, program, x, tmp_path):
        from safetensors.torch import save_file

        other = Net().eval()
        save_file(other.state_dict(), tmp_path / "w.safetensors")
        program.apply_weights(tmp_path / "w.safetensors")
        torch.testing.assert_close(program(x)[0], other(x))

    def test_some(self, net, program, x):
        program.apply_weights({"second.weight": torch.zeros(2, 400)})
        assert not program(x)[0].any()

    def test_strangers_are_warned_about(self, program):
        with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="no weight `nothing`"):
            program.apply_weights({"nothing": torch.zeros(1)})

    def test_a_model_that_was_changed(self, net, program, x):
        program.model.graph.name = "another"
        program.apply_weights({"second.weight": torch.zeros(2, 400)})
        assert not program(x)[0].any()

    def test_weights_come_later(self, x, tmp_path):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode() as mode:
            fake = Net().eval()
            given = (mode.from_tensor(x),)
            exported = torch.export.export(fake, given)
        program = onnxport.export(exported)
        real = Net().eval()
        program.apply_weights(real.state_dict())
        torch.testing.assert_close(program(x)[0], real(x))

    def test_the_meta_device(self, x):
        with torch.device("meta"):
            fake = Net().eval()
        program = onnxport.export(fake, (x.to("meta"),))
        real = Net().eval()
        program.apply_weights(real.state_dict())
        torch.testing.assert_close(program(x)[0], real(x))


def test_a_program_runs_without_pytorch(program, tmp_path):
    torch.export.save(program.exported_program, tmp_path / "m.pt2")
    code = (
        "import sys, numpy, onnxport\n"
        f"program = onnxport.export({str(tmp_path / 'm.pt2')!r})\n"
        "(found,) = program(numpy.zeros((4, 3), numpy.float32))\n"
        "assert found.shape == (4, 2)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


class TestMeasures:
    @pytest.mark.parametrize("dtype", [torch.int64, torch.uint64])
    def test_integers_are_compared_without_rounding(self, dtype):
        wanted = torch.tensor([2**53, 3], dtype=dtype)
        found = torch.tensor([2**53 + 1, 3], dtype=dtype)
        (one,) = compare(["x"], [found], [wanted], atol=2)
        assert not one.passed
        assert one.max_abs_diff == 1.0
        (same,) = compare(["x"], [wanted], [wanted])
        assert same.passed

    def test_truths_are_compared(self):
        (one,) = compare(["x"], [torch.tensor(True)], [torch.tensor(False)])
        assert (one.passed, one.max_abs_diff) == (False, 1.0)

    def test_views_and_pairs_are_compared_as_they_are_seen(self):
        wanted = torch.randn(3, 4, dtype=torch.complex64)
        (same,) = compare(["x"], [wanted.conj().resolve_conj()], [wanted.conj()])
        assert same.passed
        (same,) = compare(["x"], [wanted.T.contiguous()], [wanted.T])
        assert same.passed
        (other,) = compare(["x"], [wanted], [wanted.conj()])
        assert not other.passed

    def test_types_and_infinities(self):
        (one,) = compare(["x"], [torch.ones(2)], [torch.ones(2, dtype=torch.float64)])
        assert (one.passed, one.problem) == (False, "its element type is float32 and not float64")
        (one,) = compare(["x"], [torch.tensor([float("nan")])], [torch.ones(1)])
        assert (one.passed, one.max_abs_diff) == (False, float("inf"))
