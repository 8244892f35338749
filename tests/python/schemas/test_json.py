"""The output of `--json`, checked against the schemas of `onnxport schema`.

Every command runs on real input, with success and with failure. A key that a schema does not have
is against it, and a key that no run here prints is named below, with the reason.
"""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from jsonschema import Draft202012Validator

from tests.python import forked
from tests.python.llm import checkpoints
from tests.python.onnx_runtime import binary, library

ROOT = Path(__file__).parents[3]
MLP = ROOT / "examples/mlp/mlp.pt2"

# Keys that no run here prints.
UNSEEN: dict[str, dict[str, str]] = {
    "bisect": {"modules": "they need the package in the active Python"},
    "convert": {
        "weights_changed_by_plugins": "printed with the other two counts only",
        "not_verified": "there is a runtime",
        "decomposed": "no call of these programs is made of others",
    },
}


def run(folder, *arguments):
    """Run a command with `--json`; return the object that it prints."""
    environment = {
        **os.environ,
        "ORT_DYLIB_PATH": str(library()),
        "VIRTUAL_ENV": str(forked.prefix()),
    }
    command = [binary(), *map(str, arguments), "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    said = json.loads(done.stdout)
    assert said["exit"] == done.returncode, done.stderr
    return said


@functools.cache
def schema(name):
    said = json.loads(subprocess.run([binary(), "schema", *name.split()], **_TEXT).stdout)
    Draft202012Validator.check_schema(said)
    return said


_TEXT = {"capture_output": True, "text": True, "check": True}


class Refused(torch.nn.Module):
    def forward(self, x):
        return torch.lgamma(torch.hash_tensor(x).float())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a refused program, a checkpoint, and a plugin library."""
    folder = tmp_path_factory.mktemp("json")
    program = torch.export.export(Refused(), (torch.arange(6),))
    torch.export.save(program, folder / "refused.pt2")
    checkpoints.save(checkpoints.build("gpt2"), folder / "checkpoint")
    (folder / "onnxport.toml").write_text(
        "[convert]\nopset = 21\n[preset.small.convert]\nmanifest = true\n"
    )
    headers, source = ROOT / "plugin-sdk/abi/include", ROOT / "examples/c-plugin/plugin.c"
    command = ["cc", "-std=c11", "-shared", "-fPIC", "-I", headers, "-o", "libplugin.so", source]
    subprocess.run(command, check=True, cwd=folder)
    return folder


PACK_REPORTS = ["--profile", "k.json", "--report", "k.md"]
DIM = ["--dim", "x:0=batch"]
SIZE = ["--dim", "batch=3"]
RUNS = [
    ("convert", [MLP, "-o", "m.onnx", *DIM, "--profile", "p.json", "--report", "r.json"], 0),
    ("convert", [MLP, "-o", "small.onnx", "--preset", "small", "--dump-matches", "matches"], 0),
    ("convert", [MLP, "-o", "half.onnx", *DIM, "--dtype", "f16", "--no-verify"], 0),
    ("convert", [MLP, "-o", "waiting.onnx", "--weightless", "--no-verify"], 0),
    ("convert", [MLP, "-o", "all.onnx", *DIM, "--no-optimize"], 0),
    ("convert", [MLP, "-o", "plan.onnx", "--plan=tensors"], 0),
    ("convert", [MLP, "--emit", "ir"], 0),
    ("convert", ["--print-config", "--preset", "small"], 0),
    ("convert", ["refused.pt2", "-o", "x.onnx"], 3),
    ("convert", ["no.pt2", "-o", "x.onnx"], 5),
    ("convert", [MLP], 2),
    ("convert", [MLP, "-o", "x.onnx", "--preset", "none"], 2),
    ("check", [MLP, "--report", "c.md", "--profile", "c.json"], 0),
    ("check", ["refused.pt2"], 3),
    ("inspect", [MLP], 0),
    ("inspect", [MLP, "--weights"], 0),
    ("inspect", ["m.onnx"], 0),
    ("inspect", ["small.onnx", "--manifest"], 0),
    ("inspect", ["m.onnx", "half.onnx"], 0),
    ("inspect", ["no.onnx"], 5),
    ("verify", ["m.onnx", "--against", MLP, "--report", "v.json", "--profile", "v.trace"], 0),
    ("verify", ["m.onnx", "--against", MLP, "--executor", "ort", "--executor", "reference"], 0),
    ("verify", ["m.onnx", "--against", MLP, "--taps"], 0),
    ("verify", ["m.onnx", "--against", MLP, "--rtol", "0", "--atol", "0"], None),
    ("verify", ["no.onnx", "--against", MLP], 5),
    ("bisect", ["m.onnx", "--against", "all.onnx", *SIZE, "--report", "b.json"], 0),
    ("bisect", ["half.onnx", "--against", "m.onnx", *SIZE], None),
    ("bisect", ["--passes", MLP, "--dim", "s27=3"], 0),
    ("bisect", ["--modules", MLP], None),
    ("bisect", ["no.onnx", "--against", "m.onnx"], 5),
    ("diff", ["m.onnx", "all.onnx", "--values", *SIZE], 0),
    ("diff", ["m.onnx", "half.onnx", "--exit-code"], 4),
    ("diff", ["m.onnx", "no.onnx"], 5),
    ("run", ["m.onnx", "--random", *SIZE, "-o", "out.safetensors"], 0),
    ("run", ["m.onnx"], 2),
    ("optimize", ["all.onnx", "-o", "o.onnx", "--verify", "--profile", "o.json"], 0),
    ("optimize", ["all.onnx", "-o", "o2.onnx", "--dump-matches", "matches-o"], 0),
    ("optimize", ["no.onnx", "-o", "o3.onnx"], 5),
    ("report", ["m.onnx"], 0),
    ("report", ["m.onnx", "-o", "m.html"], 0),
    ("report", ["m.onnx", "--check", "m.html"], 0),
    ("report", ["all.onnx", "--check", "m.html"], None),
    ("legal", [MLP, "--target", "openvino", "--report", "legal.html"], 0),
    ("legal", ["no.onnx"], 5),
    ("partition", [MLP, "--backend", "nobody"], 3),
    ("ops", [], 0),
    ("ops", ["--missing", "aten.p"], 0),
    ("ops", ["--plugin", "no.so"], 5),
    ("rules", [], 0),
    ("rules", ["fuse_nothing"], None),
    ("plugin list", [], 0),
    ("plugin info", ["libplugin.so"], 0),
    ("plugin info", ["no.so"], 5),
    ("plugin check", ["libplugin.so"], 0),
    ("plugin check", ["no.so"], 5),
    ("plugin new", ["mylib"], 0),
    ("plugin new", ["mylib"], None),
    ("package", [f"a={MLP}", f"b={MLP}", "-o", "pack", "--dtype", "f16", *PACK_REPORTS], 0),
    ("package", [f"a={MLP}", "-o", "pack2", "--plan"], 0),
    ("package", ["refused.pt2", "-o", "pack3"], 3),
    ("package", [f"a={MLP}", "-o", "pack4", "--dim", "a/x:0=n", "--buckets", "n=2,4"], 0),
    ("llm", ["checkpoint", "-o", "llm"], 0),
    ("llm", ["no", "-o", "llm2"], 5),
    ("bench", ["llm", "--length", "4", "--runs", "1"], 0),
    ("bench", ["no"], 5),
    ("weights bind", ["waiting.onnx", "--from", MLP, "-o", "bound.onnx"], 0),
    ("weights bind", ["no.onnx", "--from", MLP, "-o", "bound.onnx"], 5),
    ("explain", [], 0),
    ("explain", ["OP301"], 0),
    ("explain", ["OP301", "refused.pt2"], 0),
    ("explain", ["OP000"], 2),
    ("draw", [MLP, "-o", "d.svg"], 0),
    ("draw", ["no.pt2", "-o", "d2.svg"], 5),
    ("profile", ["m.onnx", *SIZE, "--against", "all.onnx", "--report", "pr.json"], 0),
    ("profile", ["no.onnx"], 5),
    ("schema", [], 0),
    ("schema", ["convert"], 0),
    ("schema", ["convrt"], 2),
    ("completions", ["bash"], 0),
    ("man", [], 0),
]
OF_BACKENDS = [
    ("convert", [MLP, "-o", "npu.onnx", "--backend", "openvino", "--no-verify"], 0),
    ("convert", [MLP, "--backend", "openvino", "--explain-partition"], 0),
    ("optimize", ["m.onnx", "-o", "npu2.onnx", "--backend", "openvino"], 0),
    ("optimize", ["m.onnx", "--backend", "openvino", "--explain-partition"], 0),
    ("partition", [MLP, "--backend", "openvino", "--picture", "p.svg", "--report", "p.md"], 0),
]
if importlib.util.find_spec("openvino") is not None:
    RUNS += OF_BACKENDS
else:
    for name, _, _ in OF_BACKENDS:
        for key in ("backends", "left", "nodes", "pictures", "placement", "reports"):
            UNSEEN.setdefault(name, {})[key] = "OpenVINO is not installed"


def test_what_is_printed_follows_the_schemas(folder):
    seen: dict[str, set[str]] = {}
    problems = []
    for name, arguments, code in RUNS:
        said = run(folder, *name.split(), *arguments)
        shown = f"{name} {' '.join(map(str, arguments))}"
        if code is not None and said["exit"] != code:
            problems.append(
                f"{shown}: exit {said['exit']}: {json.dumps(said['diagnostics'])[:400]}"
            )
        seen.setdefault(name, set()).update(said)
        for error in Draft202012Validator(schema(name)).iter_errors(said):
            problems.append(f"{shown}: {error.json_path}: {error.message[:300]}")
    for name, keys in seen.items():
        unseen = schema(name)["properties"].keys() - keys - {"text", "config"}
        unseen -= UNSEEN.get(name, {}).keys()
        if unseen:
            problems.append(f"{name}: no run prints {sorted(unseen)}")
    assert not problems, "\n".join(problems)


def test_a_wrong_document_is_told_from_a_right_one(folder):
    said = run(folder, "inspect", MLP)
    validator = Draft202012Validator(schema("inspect"))
    assert validator.is_valid(said)
    assert not validator.is_valid({**said, "further": 1})
    assert not validator.is_valid({key: said[key] for key in said if key != "exit"})
    said["program"]["further"] = 1
    assert not validator.is_valid(said)


def test_each_listed_schema_is_one(folder):
    listed = run(folder, "schema")["schemas"]
    assert {name for name, _, _ in RUNS} == set(listed) - {"onnxport.toml"}
    for name in listed:
        Draft202012Validator.check_schema(schema(name))


def test_the_schema_of_options_takes_what_the_command_takes(folder):
    import tomllib

    validator = Draft202012Validator(schema("onnxport.toml"))
    for text, right in [
        ((folder / "onnxport.toml").read_text(), True),
        ("[all]\nopset = 21\n[weights.bind]\nmanifest = true\n", True),
        ("[convert]\nverify = false\noptimize = 1\ndim = 'x:0=n'\nplan = true\n", True),
        ("plugins = ['a.so']\n[use]\n'aten.relu.default' = 'a'\n", True),
        ("[convert]\nopst = 21\n", False),
        ("[convrt]\n", False),
        ("[convert]\nopset = '21'\n", False),
        ("[preset.a.convert]\ndtype = 'f61'\n", False),
    ]:
        assert validator.is_valid(tomllib.loads(text)) is right, text
        path = folder / "tried.toml"
        path.write_text(text)
        said = run(folder, "convert", "--print-config", "--config", path, "--unset", "plan")
        assert said["ok"] is right, text
    shutil.rmtree(folder / "matches", ignore_errors=True)
