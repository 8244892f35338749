"""Suggestions of messages are pasted, and work."""

import json
import linecache
import subprocess
import warnings

import pytest
import torch

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport
from tests.python import forked
from tests.python.failures import page
from tests.python.failures.cases import FAILURES


def failure(program):
    return next(one for one in FAILURES if one.program == program)


def suggested(program, tmp_path, subject):
    """Run a program of the page, and return its folder and the suggestion of this subject."""
    folder = page.prepared(failure(program), tmp_path / "pasted")
    path = folder / f"{program}.py"
    code = (
        "import json, runpy, sys, warnings, onnxport\n"
        "from onnxport._export import job\n"
        "found = []\n"
        "job.said = lambda one, said=job.said: (found.append(one), said(one))[1]\n"
        "warnings.simplefilter('ignore')\n"
        "try:\n"
        f"    runpy.run_path({str(path)!r}, run_name='__main__')\n"
        "except onnxport.Error as error:\n"
        "    found += error.diagnostics\n"
        "print(json.dumps([vars(s) for d in found for s in d.suggestions]))\n"
    )
    environment = page.environment()
    done = subprocess.run(
        [forked.python(), "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    records = [one for one in json.loads(done.stdout.splitlines()[-1]) if one["subject"] == subject]
    return path, onnxport.Suggestion.read(records[0])


def paste(path, suggestion):
    """Insert a suggestion where it says."""
    assert suggestion.file == str(path)
    lines = path.read_text().splitlines()
    lines[suggestion.line - 1 : suggestion.line - 1] = ["", "", *suggestion.text.splitlines()]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("program", "subject"), [("custom_class", "class"), ("missing_fake_kernel", "kernel")]
)
def test_what_has_a_place_is_pasted_there(program, subject, tmp_path):
    path, suggestion = suggested(program, tmp_path, subject)
    paste(path, suggestion)
    said = page.run(failure(program).run, path.parent)
    assert said == ""
    assert list(path.parent.glob("*.onnx"))


def test_a_lowering_is_pasted_and_refuses_until_it_is_written(tmp_path):
    path, suggestion = suggested("unsupported_operator", tmp_path, "lowering")
    text = path.read_text()
    path.write_text(text.replace("class Scores", f"{suggestion.text}\n\n\nclass Scores"))
    said = page.run(failure("unsupported_operator").run, path.parent)
    assert "error[OP302]" in said
    assert "return the result of `shop::softcap` here" in said
    body = suggestion.text[suggestion.text.index("    raise") :]
    written = path.read_text().replace(body, "    return op.Tanh(x / cap) * cap")
    path.write_text(written)
    assert page.run(failure("unsupported_operator").run, path.parent) == ""


def test_the_command_prints_files(tmp_path):
    folder = page.prepared(failure("unsupported_operator"), tmp_path / "printed")
    page.run(failure("unsupported_operator").run, folder)
    for command in ("check scores.pt2 --suggest=python --json", "explain OP301 scores.pt2 --json"):
        said = json.loads(page.run(f"onnxport {command}", folder))
        found = said.get("found", said["diagnostics"])
        assert [one["subject"] for one in found[0]["suggestions"]] == ["lowering", "plugin"]
    text = page.run("onnxport check scores.pt2 --suggest=python --quiet", folder)
    code = text.split("error[")[0]
    compile(code, "lowerings.py", "exec")
    assert code.startswith("# a lowering of `shop::softcap` in Python")
    explained = page.run("onnxport explain op301 scores.pt2", folder)
    assert "In scores.pt2\nerror[OP301]" in explained
    assert "`onnxport check` finds none" in page.run("onnxport explain OP302 scores.pt2", folder)


def test_dynamic_shapes_are_pasted(tmp_path):
    folder = page.prepared(failure("forgotten_batch"), tmp_path / "shapes")
    page.run(failure("forgotten_batch").run, folder)
    command = "onnxport convert mean.pt2 -o mean.onnx --dim tokens:0=batch --json"
    (problem,) = json.loads(page.run(command, folder))["diagnostics"]
    (suggestion,) = problem["suggestions"]
    path = folder / "forgotten_batch.py"
    text = path.read_text()
    path.write_text(text.replace("torch.export.export(model, args)", suggestion["text"]))
    page.run(failure("forgotten_batch").run, folder)
    said = page.run(command, folder)
    assert json.loads(said)["inputs"][0]["type"] == "f32[batch, 5, 8]"


@torch.library.custom_op("pasted::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class Twice(torch.nn.Module):
    def forward(self, x):
        return twice(x)


def test_a_module_is_put_in_the_place_of_another():
    model = torch.nn.Sequential(torch.nn.ReLU(), Twice()).eval()
    args = (torch.randn(3),)
    wanted = model(*args)
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(model, args)
    (suggestion,) = (
        one
        for problem in caught.value.diagnostics
        for one in problem.suggestions
        if one.subject == "module"
    )
    exec(suggestion.text, {"model": model})
    assert type(model[1]).__name__ == "OwnTwice"
    assert torch.equal(model(*args), wanted)
    exec(suggestion.text.replace("self.old(*args, **kwargs)", "args[0] * 2"), {"model": model})
    assert torch.equal(model(*args), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnxport.export(model, args)


def test_an_error_shows_what_can_be_pasted_once():
    model = torch.nn.Sequential(Twice(), Twice()).eval()
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(model, (torch.randn(3),))
    assert str(caught.value).count("@onnxport.lowering") == 1


def test_a_dataclass_is_one_line():
    import dataclasses

    @dataclasses.dataclass
    class Pair:
        a: torch.Tensor
        b: torch.Tensor

    class Add(torch.nn.Module):
        def forward(self, pair):
            return pair.a + pair.b

    pair = Pair(torch.ones(2), torch.ones(2))
    with pytest.raises(onnxport.CaptureError) as caught:
        onnxport.export(Add(), (pair,))
    (problem,) = caught.value.diagnostics
    (suggestion,) = problem.suggestions
    assert problem.code == "OP213"
    assert suggestion.text.startswith("torch.export.register_dataclass(Pair, serialized_type_name=")
    assert suggestion.text in problem.help
    place = linecache.getline(suggestion.file, suggestion.line - 1).strip()
    assert place == "b: torch.Tensor"
    exec(suggestion.text, {"torch": torch, "Pair": Pair})
    onnxport.export(Add(), (pair,))
