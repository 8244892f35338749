"""Verification against the module: a difference is one of the capture, or one of the conversion."""

import pytest
import torch
from torch import nn

import onnxport


class ForExport(nn.Module):
    """Computes something else while it is captured."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        scale = 1.5 if torch.compiler.is_exporting() else 2.0
        return x + 1, self.linear(x) * scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 8), nn.BatchNorm1d(8)
        self.register_buffer("count", torch.zeros(()))
        self.last = None

    def forward(self, x):
        self.count += 1
        self.last = self.norm(self.first(x).relu())
        return {"y": self.last * self.count, "size": x.shape[0]}


def exported(model, **options):
    args = (torch.randn(3, 4),)
    return onnxport.export(model, args, dynamic_shapes=({0: "batch"},), **options)


def test_a_wrong_capture_is_the_fault_of_the_capture(tmp_path):
    path = tmp_path / "model.onnx"
    with pytest.raises(onnxport.MismatchError) as caught:
        exported(ForExport().eval(), f=path, verify=True)
    (problem,) = caught.value.diagnostics
    assert problem.code == "OP714"
    assert problem.message.startswith("the capture is wrong, not the conversion: `mul` differs: 12")
    assert problem.file == __file__
    assert problem.source == "def forward(self, x):"
    assert not path.exists()
    compared = caught.value.report["module"]
    assert {one["output"] for one in compared["differences"]} == {"mul"}
    assert compared["compared"] > 1


def test_without_the_module_only_the_program_counts():
    program = exported(ForExport().eval(), verify="program")
    assert "module" not in program.verify(module=False)
    with pytest.raises(onnxport.MismatchError, match="OP714"):
        program.verify()


def test_a_wrong_conversion_is_the_fault_of_the_conversion():
    table = {torch.ops.aten.relu.default: lambda op, x: op.Neg(x)}
    with pytest.raises(onnxport.MismatchError) as caught:
        exported(nn.ReLU(), custom_translation_table=table, verify=True)
    assert {one.code for one in caught.value.diagnostics} == {"OP701"}
    note = "the captured program agrees with the module: the conversion or the runtime is wrong"
    assert note in caught.value.diagnostics[0].notes
    assert note in str(caught.value)
    assert caught.value.report["module"]["differences"] == []


def test_both_sides_can_be_wrong():
    table = {torch.ops.aten.linear.default: lambda op, x, w, b: op.Neg(x)}
    with pytest.raises(onnxport.MismatchError) as caught:
        exported(ForExport().eval(), custom_translation_table=table, verify=True)
    assert {one.code for one in caught.value.diagnostics} == {"OP701", "OP714"}


def test_the_module_stays_as_it_is():
    model = Net().eval()
    program = exported(model)
    states = {name: value.clone() for name, value in model.state_dict().items()}
    report = program.verify()
    assert report["module"]["compared"] >= 4
    assert report["module"]["differences"] == []
    assert model.last is None
    assert all(torch.equal(value, states[name]) for name, value in model.state_dict().items())
    # Steps that continue others start with the state that those left.
    names = {one["name"] for one in report["verification"]["cases"]}
    assert "traced-step-2" in names
    assert not names & report["module"]["refused"].keys()


def test_a_module_is_told_that_it_is_exported_as_in_the_capture():
    class Asks(nn.Module):
        def forward(self, x):
            return x.sin() if torch.onnx.is_in_onnx_export() else x.cos()

    report = exported(Asks().eval()).verify()
    assert report["module"]["differences"] == []
    assert report["module"]["compared"] >= 1
    assert not torch.onnx.is_in_onnx_export()


def test_a_branch_that_no_capture_takes_is_not_held_against_it():
    class Asks(nn.Module):
        def forward(self, x):
            if torch.compiler.is_compiling():
                return x.cos()
            return x.sin() if torch.onnx.is_in_onnx_export() else x.cos()

    report = exported(Asks().eval()).verify()
    assert report["module"]["differences"] == []
    assert report["module"]["compared"] >= 1


def test_calls_that_the_module_refuses_are_skipped():
    class Small(nn.Module):
        def forward(self, x):
            if not torch.compiler.is_exporting() and x.shape[0] > 3:
                raise ValueError("too many rows")
            return x * 2

    report = exported(Small().eval()).verify()
    assert "ValueError: too many rows" in report["module"]["refused"].values()
    assert report["module"]["compared"] >= 1


def test_random_numbers_are_not_compared():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + (0 if torch.compiler.is_exporting() else torch.randn(4))

    report = exported(Noisy().eval()).verify()
    assert set(report["module"]["refused"].values()) == {"the module draws random numbers"}


def test_functions_and_keywords_are_compared():
    def scaled(x, *, factor):
        return x * (factor if not torch.compiler.is_exporting() else 2)

    args, kwargs = (torch.ones(3),), {"factor": 2}
    onnxport.export(scaled, args, kwargs=kwargs, verify=True)
    with pytest.raises(onnxport.MismatchError, match="OP714"):
        onnxport.export(scaled, args, kwargs={"factor": 3}, verify=True)


def test_a_program_has_no_module():
    program = torch.export.export(nn.ReLU(), (torch.ones(3),))
    assert "module" not in onnxport.export(program).verify()


def test_other_choices_are_refused():
    with pytest.raises(onnxport.UsageError, match="is not a choice"):
        onnxport.export(nn.ReLU(), (torch.ones(3),), verify="module")
