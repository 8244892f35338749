"""Reports of models: their contents, compared with the model, and how they look."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary, library
from tests.python.pages import browser

FORMS = ("json", "md", "html")
# OASIS publishes it; its terms are not those of this repository.
SCHEMA = Path(os.environ.get("SARIF_SCHEMA", "sarif-schema-2.1.0.json"))


def run(*arguments, code=0, folder=None):
    command = [binary(), *map(str, arguments)]
    environment = {**os.environ, "ORT_DYLIB_PATH": str(library())}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    assert done.returncode == code, done.stderr
    return done


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(x)))


class Stack(torch.nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(blocks))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """Return a model with the reports of its conversion."""
    folder = tmp_path_factory.mktemp("reports")
    archive, model = folder / "stack.pt2", folder / "stack.onnx"
    shapes = ({0: torch.export.Dim("batch", max=9)},)
    program = torch.export.export(Stack(3).eval(), (torch.randn(3, 8),), dynamic_shapes=shapes)
    torch.export.save(program, archive)
    reports = [option for form in FORMS for option in ("--report", folder / f"report.{form}")]
    run("convert", archive, "-o", model, "--metadata", "full", *reports)
    return model


def test_a_report_says_what_the_model_is(converted):
    said = json.loads((converted.parent / "report.json").read_text())
    model = onnx.load(converted)
    parts = said["model"]
    assert parts["nodes"] == len(model.graph.node) == parts["with_module"] == parts["with_line"]
    sizes = {tensor.name: int(np.prod(tensor.dims)) for tensor in model.graph.initializer}
    rows = {row["path"]: row for row in parts["modules"]}
    for path, row in rows.items():
        held = [size for name, size in sizes.items() if name.rpartition(".")[0] == path]
        assert (row["tensors"], row["elements"]) == (len(held), sum(held))
    assert sum(row["nodes"] for row in rows.values()) == len(model.graph.node)
    assert re.fullmatch(r"\{s\d+: VR\[0, 9\]\}", parts["program"]["ranges"])
    for at, node in enumerate(parts["graph"]):
        made = {name: n for n, other in enumerate(model.graph.node) for name in other.output}
        assert node["reads"] == [made[name] for name in model.graph.node[at].input if name in made]
    assert said["conversion"]["verification"]["cases"]
    assert str(converted.parent) not in json.dumps(said["conversion"]["verification"])


@pytest.mark.parametrize("form", FORMS)
def test_a_report_that_was_changed_is_refused(converted, tmp_path, form):
    report = converted.parent / f"report.{form}"
    run("report", converted, "--check", report)
    text = report.read_text()
    nodes = len(onnx.load(converted, load_external_data=False).graph.node)
    changed = tmp_path / f"changed.{form}"

    changed.write_text(re.sub(rf'"nodes":( ?){nodes}\b', rf'"nodes":\g<1>{nodes + 1}', text))
    said = run("report", converted, "--check", changed, code=5).stderr
    assert "OP618" in said
    assert f"{nodes + 1}" in said

    if form != "json":
        shown = text.replace("Parameters by element type", "Parameters by type")
        assert shown != text
        changed.write_text(shown)
        said = run("report", converted, "--check", changed, code=5).stderr
        assert "its page does not match its data" in said

    changed.write_text("nothing")
    assert "OP618" in run("report", converted, "--check", changed, code=5).stderr


# A number of each section, and how one would change it.
SECTIONS = {
    "stages": lambda said: said["conversion"]["seconds"].update(lower=99.5),
    "interface": lambda said: said["model"]["summary"]["inputs"][0].update(type="f32[1]"),
    "program": lambda said: said["model"]["program"].update(ranges="{}"),
    "types": lambda said: said["model"]["types"][0].update(elements=1),
    "modules": lambda said: said["model"]["modules"][0].update(nodes=99),
    "operators": lambda said: said["model"]["summary"]["ops"][0].update(count=99),
    "weights": lambda said: said["model"]["weights"]["largest"][0].update(bytes=1),
    "forms": lambda said: said["conversion"]["weight_forms"][0].update(tensors=99),
    "lowered": lambda said: said["conversion"]["lowered"][0].update(calls=99),
    "rules": lambda said: said["conversion"]["optimised"].update(before=99),
    "target": lambda said: said["conversion"]["target"].update(version="0.0"),
    "graph": lambda said: said["model"]["graph"][0].update(operator="Abs"),
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Return a model whose values were compared, with the reports of its conversion."""
    folder = tmp_path_factory.mktemp("compared")
    reports = [option for form in FORMS for option in ("--report", folder / f"report.{form}")]
    run("convert", load_all()["mlp"].make(), "-o", folder / "mlp.onnx", *reports)
    return folder / "mlp.onnx"


def written_as(said):
    """Return a report as the program writes it."""
    return json.dumps(said, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def test_errors_are_drawn_and_held_against_what_was_written(compared, tmp_path):
    assert '<svg class="bars"' in (compared.parent / "report.html").read_text()
    text = (compared.parent / "report.md").read_text()
    assert re.search(r"\| equal: \d+(, 1e-\d+ to 1e-\d+: \d+)*", text)
    for form in FORMS:
        run("report", compared, "--check", compared.parent / f"report.{form}")
    said = json.loads((compared.parent / "report.json").read_text())
    difference = said["conversion"]["verification"]["cases"][0]["outputs"][0]["difference"]
    difference["max_abs"] *= 2
    difference["spread"]["decades"][0] += 1
    changed = tmp_path / "changed.json"
    changed.write_text(written_as(said))
    told = run("report", compared, "--check", changed, code=5).stderr
    assert "digest" in told
    assert "are not as many as its elements" in told


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_is_held_against_what_was_written(converted, tmp_path, section):
    said = json.loads((converted.parent / "report.json").read_text())
    before = json.dumps(said)
    SECTIONS[section](said)
    assert json.dumps(said) != before
    changed = tmp_path / "changed.json"
    # As the program writes it, so that nothing but the number is another one.
    changed.write_text(written_as(said))
    told = run("report", converted, "--check", changed, code=5).stderr
    assert "OP618" in told
    assert "digest" in told or "model." in told


def test_sections_of_a_conversion(converted):
    said = json.loads((converted.parent / "report.json").read_text())
    lowered = {row["operator"]: row for row in said["conversion"]["lowered"]}
    assert lowered["aten.linear.default"] == {
        "plugin": "aten",
        "operator": "aten.linear.default",
        "calls": 6,
    }
    forms = said["conversion"]["weight_forms"]
    assert sum(row["tensors"] for row in forms) == len(onnx.load(converted).graph.initializer)
    weights = said["model"]["weights"]
    assert weights["tensors"] == len(onnx.load(converted).graph.initializer)
    assert weights["largest"][0]["bytes"] == max(row["bytes"] for row in weights["largest"])
    text = (converted.parent / "report.md").read_text()
    for title in ("Weights", "Changes of weights", "Operators by plugin", "Optimisation"):
        assert f"## {title}\n" in text
    optimised = said["conversion"]["optimised"]
    assert f"|  | before |  | {optimised['before']} |" in text
    assert f"|  | after |  | {optimised['after']} |" in text


def test_shared_weights_are_named(tmp_path):
    (tmp_path / "m.data").write_bytes(bytes(64))
    weights = []
    for name in ("first", "second"):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4, 4])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "m.data"), ("offset", "0"), ("length", "64")):
            tensor.external_data.add(key=key, value=value)
        weights.append(tensor)
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, [4, 4]) for end in "xy"]
    nodes = [
        helper.make_node("Add", ["x", "first"], ["h"]),
        helper.make_node("Mul", ["h", "second"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    said = json.loads(run("report", tmp_path / "m.onnx", "--json").stdout)["report"]["model"]
    parts = said["weights"]
    assert (parts["bytes"], parts["distinct_bytes"]) == (128, 64)
    assert parts["shared"] == [["first", "second"]]
    assert "| shared: first, second |" in run("report", tmp_path / "m.onnx").stdout


def test_a_report_of_another_model_is_refused(converted, tmp_path):
    model = onnx.load(converted)
    tensor = next(t for t in model.graph.initializer if t.name == "blocks.0.first.bias")
    tensor.CopyFrom(numpy_helper.from_array(np.zeros(16, np.float16), tensor.name))
    onnx.save(model, tmp_path / "other.onnx")
    report = converted.parent / "report.html"
    said = run("report", tmp_path / "other.onnx", "--check", report, code=5)
    assert "model.types" in said.stderr


def test_any_model_has_a_report(tmp_path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "</script>--><b>", [x], [y])
    graph.node[0].name = "</script>--><b>|`"
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    reports = [option for form in FORMS for option in ("-o", tmp_path / f"r.{form}")]
    run("report", tmp_path / "m.onnx", *reports)
    for form in FORMS:
        run("report", tmp_path / "m.onnx", "--check", tmp_path / f"r.{form}")
    assert "<b>" not in (tmp_path / "r.html").read_text()
    assert "| Abs | 1 |" in run("report", tmp_path / "m.onnx").stdout
    run("report", tmp_path / "m.onnx", "-o", tmp_path / "r.pdf", code=2)


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Return an archive of a program that has no lowering, in a folder with its source."""
    folder = tmp_path_factory.mktemp("refused")
    source = folder / "my model.py"
    line = "return torch.lgamma(torch.hash_tensor(x).float())"
    source.write_text(f"import torch\n\n\ndef forward(x):\n    {line}\n")
    space = {}
    exec(compile(source.read_text(), str(source), "exec"), space)

    class Model(torch.nn.Module):
        def forward(self, x):
            return space["forward"](x)

    program = torch.export.export(Model(), (torch.arange(6),))
    torch.export.save(program, folder / "model.pt2")
    return folder


def test_gaps_are_shown_with_their_lines(refused):
    run("check", "model.pt2", "--report", "r.md", "--report", "r.sarif", code=3, folder=refused)
    text = (refused / "r.md").read_text()
    assert "return torch.lgamma(torch.hash_tensor(x).float())" in text
    log = json.loads((refused / "r.sarif").read_text())
    results = log["runs"][0]["results"]
    assert results
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20model.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 5
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert all(rules[result["ruleId"]]["help"]["text"] for result in results)


def test_logs_follow_the_published_schema(refused):
    jsonschema = pytest.importorskip("jsonschema")
    if not SCHEMA.exists():
        pytest.skip("SARIF_SCHEMA names no file")
    run("convert", "model.pt2", "-o", "m.onnx", "--report", "c.sarif", code=3, folder=refused)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(json.loads((refused / "c.sarif").read_text()), schema)


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
def test_a_page_draws_modules_and_the_graph(converted, tmp_path):
    page = converted.parent / "report.html"
    text = page.read_text()
    assert not re.search(r"(src|href)=\"(?!#)", text), "it needs the network"
    document = browser.document(page)
    tiles = re.findall(r'class="tile[^"]*" data-path="([^"]*)"', document)
    assert sorted(tiles) == ["blocks.0", "blocks.1", "blocks.2"]
    assert document.count('class="node') >= 3
    assert 'class="node here"' in document
    picture = browser.picture(page, tmp_path / "page.png", (1200, 2400))
    colours = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 20
