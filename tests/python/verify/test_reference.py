"""A model is compared with PyTorch's results of its program."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import torch
import torchvision
from torch import nn
from torch.export import Dim, export

import onnxport
from onnxport._onnx_program.reference import load
from tests.python import forked
from tests.python.onnx_runtime import ROOT, binary, library

BARE = {name: value for name, value in os.environ.items() if name != "ONNXPORT_REFERENCE"}
# The environment of the Python that runs this; `fake` starts it anew.
ACTIVE = {**BARE, "VIRTUAL_ENV": str(forked.prefix())}


def saved(tmp_path, module, args, shapes=None, name="m"):
    """Save a program without recorded values; return the archive."""
    path = tmp_path / f"{name}.pt2"
    torch.export.save(export(module, args, dynamic_shapes=shapes, strict=False), path)
    return path


def command(*arguments):
    return [binary(), *map(str, arguments), "--ort-library", library(), "--json"]


def converted(archive, *options, code=0, env=None):
    """Convert and verify an archive where PyTorch is active; return the report."""
    target = archive.with_suffix(".onnx")
    done = subprocess.run(
        command("convert", archive, "-o", target, *options),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=env or ACTIVE,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def cases(said):
    return {case["name"]: case for case in said["verification"]["cases"]}


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 4)

    def forward(self, ids, flag, x):
        x = torch.cond(flag, lambda x: x + 1, lambda x: x * 3, (x,))
        x = torch.cond(x.sum() > 1e6, lambda x: x - 1, lambda x: x * 5, (x,))
        return self.table(ids) + x.sum()


def branching(tmp_path):
    args = (torch.tensor([1, 2, 3]), torch.tensor(True), torch.rand(3, 4))
    return saved(tmp_path, Branches(), args, ({0: Dim("seq")}, None, {0: Dim("batch")}))


def test_every_drawn_call_is_held_against_the_program(tmp_path):
    said = converted(branching(tmp_path))
    verification = said["verification"]
    assert verification["torch"].startswith(f"PyTorch {torch.__version__} (")
    assert verification["values_compared"]
    found = cases(said)
    assert list(found) == ["traced", "size-1", "size-2", "values-1"]
    for case in found.values():
        assert case["expected"] == "torch"
        assert not case["random"]
        assert case["outputs"][0]["difference"]["wrong"] == 0
    # Only the second condition is the same in all of them.
    (missed,) = verification["not_entered"]
    assert missed["when"] is True
    assert "test_reference.py" in missed["place"]
    notes = [entry for entry in said["diagnostics"] if entry["severity"] == "note"]
    assert any(
        "no case is known to enter one of the model's branches" in note["message"] for note in notes
    )


class Nested(torch.nn.Module):
    def forward(self, flag, x):
        def inner(x):
            return torch.cond(x.sum() > 1e6, lambda x: x - 1, lambda x: x * 5, (x,))

        return torch.cond(flag, inner, lambda x: x * 3, (x,))


def test_branches_inside_of_others_are_named_as_not_seen(tmp_path):
    args = (torch.tensor(True), torch.rand(3, 4))
    archive = saved(tmp_path, Nested(), args, (None, {0: Dim("batch")}))
    missed = converted(archive)["verification"]["not_entered"]
    assert [entry["when"] for entry in missed] == [None]
    assert "test_reference.py" in missed[0]["place"]


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
        return self.norm(y.float() + x)


def test_a_region_under_autocast_is_judged_as_bfloat16(tmp_path):
    torch.manual_seed(0)
    archive = saved(tmp_path, Autocast().eval(), (torch.randn(16, 8),))
    assert cases(converted(archive, "--reference=torch"))["traced"]["expected"] == "torch"


class Frozen(nn.Module):
    def forward(self, durations):
        total = durations.sum().item()
        torch._check(total == 6)
        return durations * total


def test_a_program_that_holds_at_one_size_is_not_verified(tmp_path):
    shapes = {"durations": {0: Dim("n", min=1, max=9)}}
    archive = saved(tmp_path, Frozen(), (torch.tensor([1, 2, 3]),), shapes)
    said = converted(archive, "--reference=torch")
    assert any("of another size" in found["message"] for found in said["diagnostics"])
    converted(archive, "--reference=torch", "--require-verified", code=6)


class KeepsOne(nn.Module):
    def forward(self, boxes, scores):
        return torchvision.ops.nms(boxes, scores, 0.0)


def test_a_size_that_pytorch_guesses_is_not_asserted(tmp_path):
    boxes = torch.tensor([[0.0, 0, 1, 1], [0.5, 0.5, 1, 1]])
    archive = saved(tmp_path, KeepsOne(), (boxes, torch.tensor([0.1, 0.2])))
    assert cases(converted(archive, "--reference=torch"))["traced"]["expected"] == "torch"


def test_values_come_from_where_the_user_says(tmp_path):
    archive = branching(tmp_path)
    recorded = cases(converted(archive, "--reference", "recorded"))
    assert {case["expected"] for case in recorded.values()} == {"nothing"}
    program = torch.export.load(archive)
    program.example_inputs = ((torch.tensor([1, 2]), torch.tensor(False), torch.rand(2, 4)), {})
    onnxport.save(program, archive)
    for options, sources in [
        ((), {"recorded"}),
        (("--reference", "none"), {"nothing"}),
        (("--reference", "torch"), {"torch"}),
    ]:
        found = cases(converted(archive, *options))
        assert {case["expected"] for case in found.values()} == sources
        # Calls are generated beside recorded ones, once PyTorch can compute their results.
        assert ("drawn-values-1" in found) == (sources == {"torch"})


def test_the_environment_chooses_where_the_command_line_does_not(tmp_path):
    archive = saved(tmp_path, nn.Linear(3, 2), (torch.rand(4, 3),))
    env = {**ACTIVE, "ONNXPORT_REFERENCE": "recorded"}
    assert cases(converted(archive, env=env))["traced"]["expected"] == "nothing"
    found = cases(converted(archive, "--reference", "torch", env=env))
    assert found["traced"]["expected"] == "torch"
    converted(archive, code=2, env={**ACTIVE, "ONNXPORT_REFERENCE": "maybe"})


def test_a_model_that_computes_something_else_is_told_by_pytorch(tmp_path):
    class Scale(nn.Module):
        def __init__(self, by):
            super().__init__()
            self.by = by

        def forward(self, x):
            return x * self.by

    right, wrong = (
        saved(tmp_path, Scale(by), (torch.rand(3),), name=name)
        for by, name in [(2.0, "right"), (2.5, "wrong")]
    )
    converted(wrong)
    done = subprocess.run(
        command("verify", wrong.with_suffix(".onnx"), "--against", right),
        capture_output=True,
        text=True,
        check=False,
        env=ACTIVE,
    )
    assert done.returncode == 4, done.stdout
    assert json.loads(done.stdout)["diagnostics"][0]["code"] == "OP701"


@pytest.mark.parametrize("recorded", [False, True])
def test_random_programs_are_not_condemned(tmp_path, recorded):
    class Noise(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x, 0.5, True) + torch.rand(8)

    archive = saved(tmp_path, Noise(), (torch.rand(8),))
    if recorded:
        onnxport.save(torch.export.load(archive), archive)
    said = converted(archive)
    assert not said["verification"]["values_compared"]
    (case,) = cases(said).values()
    assert case["random"]
    assert case["outputs"][0]["shape"] == [8]


def test_states_start_anew_in_every_call(tmp_path):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x, step):
            self.count.add_(x.sum() * step)
            return x + self.count

    args = (torch.rand(2, 3), torch.tensor(4))
    said = converted(saved(tmp_path, Counter(), args, ({0: Dim("batch", max=9)}, None)))
    found = cases(said)
    # An integer that is not a place is only changed where PyTorch says that the program takes it.
    steps = ["traced", "traced-step-2", "traced-step-3"]
    assert list(found) == [*steps, "size-1", "size-2", "values-2", "values-3"]
    assert all(case["outputs"][1]["state"] == "count" for case in found.values())


def test_classes_of_inputs_need_not_be_known(tmp_path):
    archive = tmp_path / "cache.pt2"
    shutil.copy(ROOT / "tests/files/data" / "dynamic_cache.pt2", archive)
    assert cases(converted(archive))["traced"]["expected"] == "torch"


def tampered(archive, change):
    """Change the JSON of the program in an archive."""
    with zipfile.ZipFile(archive) as old:
        entries = [(name, old.read(name)) for name in old.namelist()]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as new:
        for name, content in entries:
            if "/models/" in name:
                program = json.loads(content)
                change(program)
                content = json.dumps(program).encode()
            new.writestr(name, content)


def with_entry(name):
    def change(archive):
        with zipfile.ZipFile(archive, "a") as file:
            root = file.namelist()[0].split("/")[0]
            file.writestr(f"{root}/{name}", "{}")

    return change


def with_guard(archive):
    guard = f"__import__('pathlib').Path({str(archive.parent / 'trace')!r}).touch() is None"
    tampered(archive, lambda program: program["guards_code"].append(guard))


def with_operator(archive):
    def change(program):
        program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.hub.load"

    tampered(archive, change)


@pytest.mark.parametrize(
    "change",
    [
        with_guard,
        with_entry("data/aotinductor/model/model.so"),
        with_entry("Models/model.json"),
    ],
)
def test_an_archive_that_could_run_code_is_not_loaded_unasked(tmp_path, change):
    archive = saved(tmp_path, nn.Linear(3, 2), (torch.rand(4, 3),), ({0: Dim("n")},))
    change(archive)
    said = converted(archive)
    (note,) = [entry for entry in said["diagnostics"] if entry["code"] == "OP706"]
    assert note["severity"] == "note"
    assert "may run as code" in note["message"]
    assert cases(said)["traced"]["expected"] == "nothing"
    assert not (tmp_path / "trace").exists()


def test_operators_that_are_functions_of_pytorch_are_not_loaded_unasked(tmp_path):
    archive = saved(tmp_path, nn.Linear(3, 2), (torch.rand(4, 3),))
    converted(archive, "--no-verify")
    model = archive.with_suffix(".onnx")
    with_operator(archive)
    done = subprocess.run(
        command("verify", model, "--against", archive),
        capture_output=True,
        text=True,
        check=False,
        env=ACTIVE,
    )
    (note,) = [
        entry for entry in json.loads(done.stdout)["diagnostics"] if entry["code"] == "OP706"
    ]
    assert "torch.hub.load" in note["message"]


def test_the_library_of_an_operator_is_imported_where_the_program_is_trusted(tmp_path, monkeypatch):
    archive = saved(tmp_path, nn.Linear(3, 2), (torch.rand(4, 3),))

    def change(program):
        program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.custom_ops.f.default"

    tampered(archive, change)
    (tmp_path / "custom_ops.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    # The operator is still not known: the library registers none.
    with pytest.raises(RuntimeError, match="deserializing"):
        load(archive)
    assert sys.modules.pop("custom_ops").__file__ == str(tmp_path / "custom_ops.py")


def fake(tmp_path, script):
    """Return an environment whose Python has a folder `torch`, and is a script."""
    prefix = tmp_path / "env"
    (prefix / "lib" / "python3.11" / "site-packages" / "torch").mkdir(parents=True)
    (prefix / "bin").mkdir()
    interpreter = prefix / "bin" / "python3"
    interpreter.write_text(f"#!/bin/sh\n{script}\n")
    interpreter.chmod(0o755)
    return {**BARE, "VIRTUAL_ENV": str(prefix)}


@pytest.mark.parametrize(
    ("script", "options", "says"),
    [
        ("echo 'no module named torch' >&2; exit 1", (), "no module named torch"),
        ("kill -9 $$", (), "killed, as the system does when memory runs out"),
        ("sleep 600", ("--timeout", "1"), "it did not answer within 1 s"),
        ("echo this is not an answer at all", (), "its answer"),
        (f"exec {sys.executable} -c 'import torch_that_is_not_there'", (), "torch_that_is_not"),
    ],
)
def test_a_pytorch_that_fails_is_a_note_unless_it_was_asked_for(tmp_path, script, options, says):
    archive = saved(tmp_path, nn.Linear(3, 2), (torch.rand(4, 3),))
    env = fake(tmp_path, script)
    said = converted(archive, *options, env=env)
    (note,) = [entry for entry in said["diagnostics"] if entry["code"] == "OP706"]
    assert note["severity"] == "note"
    assert says in note["message"]
    assert cases(said)["traced"]["expected"] == "nothing"
    said = converted(archive, *options, "--reference", "torch", code=6, env=env)
    (error,) = [entry for entry in said["diagnostics"] if entry["code"] == "OP706"]
    assert error["severity"] == "error"
    assert says in error["message"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_process_ends_with_the_command(tmp_path, end):
    archive = saved(tmp_path, nn.Linear(3, 2), (torch.rand(4, 3),))
    pid = tmp_path / "pid"
    # It waits for more than it is given, as a library that is loaded may wait for something else.
    script = f'echo $$ > {pid}.new; mv {pid}.new {pid}; exec {sys.executable} "$@"'
    env = fake(tmp_path, script)
    folder = tmp_path / "out"
    folder.mkdir()
    running = subprocess.Popen(
        command("convert", archive, "-o", folder / "m.onnx"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
    )
    wait_for(pid.exists)
    running.send_signal(end)
    running.wait(timeout=60)
    gone = Path("/proc") / pid.read_text().strip()
    wait_for(lambda: not gone.exists() or " Z " in (gone / "stat").read_text())


def wait_for(done):
    """Wait until something is so."""
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_names_of_dimensions_survive(tmp_path):
    class Cat(nn.Module):
        def forward(self, past, new):
            return torch.cat([past, new], 1)

    batch = Dim("batch")
    shapes = ({0: batch, 1: Dim("past")}, {0: batch, 1: Dim.DYNAMIC})
    program = export(Cat(), (torch.rand(2, 5), torch.rand(2, 3)), dynamic_shapes=shapes)
    archive = tmp_path / "m.pt2"
    onnxport.save(program, archive)
    types = {port["name"]: port["type"] for port in converted(archive)["inputs"]}
    assert types["past"] == "f32[batch, past]"
    assert types["new"].startswith("f32[batch, s")
    # The user's choice comes first.
    types = converted(archive, "--dim", "past:0=n")["inputs"]
    assert types[0]["type"] == "f32[n, past]"
