"""PyTorch's findings, as diagnostics: code, line, next step."""

import importlib
import inspect
import json
import os
from pathlib import Path

import pytest
import torch

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport
from onnxport._export import branches, draft, kernels

SCHEMA = Path(os.environ.get("SARIF_SCHEMA", "sarif-schema-2.1.0.json"))


def line_of(function, text):
    """Return the line of `function` with this text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


class Listed(torch.nn.Module):
    """Needs values in Python, and more of them than draft export has."""

    def forward(self, x):
        if x.sum() > 0:
            raise ValueError("not for these")
        return x


class Shapes(torch.nn.Module):
    def forward(self, x):
        return x.reshape(2, 6)


def refused(model, *args, **options):
    with pytest.raises(onnxport.CaptureError) as caught:
        onnxport.export(model, args, **options)
    return caught.value.diagnostics


def test_a_value_that_decides():
    (problem,) = refused(Listed(), torch.ones(3))
    assert problem.code == "OP214"
    assert problem.line == line_of(Listed.forward, "if x.sum()")
    assert problem.source == "if x.sum() > 0:"
    assert "torch.where(x.sum() > 0, yes, no)" in problem.help


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("if x > 0:", "torch.cond(x > 0, yes, no, (x,))"),
        ("elif x > 0 and y:", "torch.where(x > 0 and y, yes, no)"),
        ("return a if x > 0 else b", "torch.where(x > 0, a, b)"),
        ("while x.sum() < 9:", "torch.while_loop(lambda x: x.sum() < 9, body, (x,))"),
        ("n = int(x.sum())", "leave `int(x)`"),
        ("for _ in range(n):", "leave `int(x)`"),
        (")", "leave `int(x)`"),
        (None, "leave `int(x)`"),
    ],
)
def test_what_to_write_instead(source, said):
    assert said in branches.help(source)


def test_a_size_that_the_module_fixes():
    with pytest.warns(UserWarning, match="OP216") as caught:
        program = onnxport.export(Shapes().eval(), (torch.ones(4, 3),), dynamic_shapes=({0: "n"},))
    (shown,) = (str(one.message) for one in caught if "OP216" in str(one.message))
    assert "axis 0 of `x` is not dynamic: the program fixes it at 4" in shown
    assert f"test_said.py:{line_of(Shapes.forward, 'reshape')}" in shown
    assert "write `x.shape[0]`" in shown
    assert "OP216" in {one.code for one in program.diagnostics}
    assert all(one.filename == __file__ for one in caught)


@pytest.mark.parametrize(
    ("expr", "said"),
    [
        ("Eq(s0, 4)", "x[0].shape[1] == 4"),
        ("Ne(s0, 4)", "x[0].shape[1] != 4"),
        ("Eq(Mod(40*s0, 32), 0)", "40*x[0].shape[1] % 32 == 0"),
        ("s0 < s01", "x[0].shape[1] < s01"),
    ],
)
def test_conditions_are_in_the_names_of_arguments(expr, said):
    assert draft.condition(expr, {"s0": "L['x'][0].size()[1]"}) == said


@torch.library.custom_op("said::lost", mutates_args=())
def lost(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sum(0), x[:n].clone()


def test_a_wrong_fake_kernel():
    problem = kernels.problem("warning", "said.lost.default", "it has 2 axes, and 1 is right")
    assert problem.code == "OP215"
    assert problem.message == (
        "the fake kernel of `said::lost` is wrong: it has 2 axes, and 1 is right"
    )
    assert problem.line == line_of(lost._init_fn, "custom_op")
    assert "register_fake" in problem.help


def test_a_kernel_that_is_missing_where_draft_export_fails_too():
    class Both(torch.nn.Module):
        def forward(self, x):
            y, _ = lost(x, 1)
            raise ValueError(f"not for {y}")

    (problem,) = refused(Both(), torch.ones(3, 2))
    assert (problem.severity, problem.code) == ("error", "OP215")
    assert "`said::lost` has no fake kernel" in problem.message


def test_several_results_have_a_kernel():
    class Both(torch.nn.Module):
        def forward(self, x):
            return lost(x, 1)

    with pytest.warns(UserWarning, match="OP215"):
        found = onnxport.export(
            Both(),
            (torch.ones(3, 2),),
            custom_translation_table={
                torch.ops.said.lost.default: lambda op, x, n: (
                    op.ReduceSum(x, [0], keepdims=0),
                    op.Slice(x, [0], [1], [0]),
                )
            },
        )
    (suggestion,) = found.diagnostics[0].suggestions
    exec(suggestion.text, {"torch": torch})
    torch.library.opcheck(lost, (torch.ones(3, 2), 1), test_utils=("test_faketensor",))


@pytest.mark.parametrize(
    ("tensor", "instead"),
    [
        (lambda: torch.eye(3).to_sparse(), "model.table.to_dense()"),
        (lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8), "dequantize()"),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_a_weight_that_is_no_plain_tensor(tensor, instead):
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", tensor())

        def forward(self, x):
            return x @ self.table.dequantize() if self.table.is_quantized else self.table @ x

    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(Table().eval(), (torch.ones(3, 3),))
    (problem,) = caught.value.diagnostics
    assert problem.code == "OP212"
    assert instead in problem.help


def test_a_class_without_a_name_in_programs():
    import dataclasses

    @dataclasses.dataclass
    class Pair:
        a: torch.Tensor

    class First(torch.nn.Module):
        def forward(self, pair):
            return pair.a + 1

    torch.export.register_dataclass(Pair)
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(First().eval(), (Pair(torch.ones(2)),))
    (problem,) = caught.value.diagnostics
    assert problem.code == "OP213"
    assert 'serialized_type_name="' in problem.help
    assert "Pair" in problem.message


def test_what_pytorch_logs_of_attempts_is_not_shown(capfd):
    refused(Listed(), torch.ones(3))
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_what_the_module_prints_is_shown(capfd):
    import sys

    class Loud(torch.nn.Module):
        def forward(self, x):
            print("here", file=sys.stderr)
            return x + 1

    onnxport.export(Loud(), (torch.ones(3),))
    assert "here\n" in capfd.readouterr().err


def test_a_report_for_tools_that_review_code(tmp_path, monkeypatch):
    class Odd:
        def __init__(self, x):
            self.x = x

    class Inner(torch.nn.Module):
        def forward(self, odd):
            return odd.x + 1

    path = tmp_path / "deep" / "found.sarif"
    monkeypatch.chdir(Path(__file__).parent)
    with pytest.raises(onnxport.CaptureError):
        onnxport.export(Inner().eval(), (Odd(torch.ones(2)),), report=path)
    log = json.loads(path.read_text())
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "OP213"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "test_said.py", "uriBaseId": "%SRCROOT%"}
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"]["text"].startswith("torch.utils._pytree.register")
    lines = Path(__file__).read_text().splitlines()
    assert lines[replacement["deletedRegion"]["startLine"] - 2].strip() == "self.x = x"
    if SCHEMA.exists():
        pytest.importorskip("jsonschema").validate(log, json.loads(SCHEMA.read_text()))
    with pytest.raises(onnxport.UsageError, match=r"`found\.txt` is not"):
        onnxport.export(Inner().eval(), (torch.ones(2),), report="found.txt")


@torch.library.custom_op("found_said::odd", mutates_args=())
def odd(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@odd.register_fake
def _(x):
    return torch.empty_like(x)


LIBRARY = """import torch


class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.ops.found_said.odd(x)
"""


def test_a_library_that_the_module_wraps_has_its_own_line(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "wrapped_by_said.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(folder)

    class Wrapper(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = importlib.import_module("wrapped_by_said").Layer()

        def forward(self, x):
            return self.layer(x) * 2

    path = tmp_path / "found.sarif"
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(Wrapper(), (torch.ones(2),), report=path)
    (problem,) = (one for one in caught.value.diagnostics if one.severity == "error")
    assert (problem.file, problem.line) == (__file__, line_of(Wrapper.forward, "self.layer(x)"))
    library = onnxport.SourceLine(
        str(folder / "wrapped_by_said.py"), 6, "return torch.ops.found_said.odd(x)"
    )
    assert problem.library == library
    assert f"  ::: {library.file}:6\n   |  {library.source}" in str(problem)
    (result,) = json.loads(path.read_text())["runs"][0]["results"]
    (related,) = result["relatedLocations"]
    place = related["physicalLocation"]
    assert place["artifactLocation"]["uri"] == folder.as_uri() + "/wrapped_by_said.py"
    assert place["region"]["startLine"] == 6
    if SCHEMA.exists():
        log = json.loads(path.read_text())
        pytest.importorskip("jsonschema").validate(log, json.loads(SCHEMA.read_text()))
