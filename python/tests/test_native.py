"""The extension module: what the package's own modules stand on."""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

_native = pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")
PACKAGE = Path(__file__).parents[1]
DATA = Path(__file__).parents[2] / "tests/files/data"
PROGRAM = DATA / "twins.pt2"


def options(**said: object) -> str:
    return json.dumps(said)


@pytest.fixture(scope="module")
def model():
    return _native.Conversion.open(PROGRAM).run(options(verify=False))


def test_a_model_is_written_as_the_command_writes_it(model, tmp_path):
    said = json.loads(model.save(tmp_path / "here.onnx"))
    line = ["convert", str(PROGRAM), "-o", str(tmp_path / "there.onnx"), "--no-verify", "--json"]
    command = [sys.executable, "-m", "onnxport", *line]
    run = subprocess.run(command, capture_output=True, check=True, cwd=PACKAGE)
    there = json.loads(run.stdout)
    assert (tmp_path / "here.onnx").read_bytes() == (tmp_path / "there.onnx").read_bytes()
    assert said["files"] == [str(tmp_path / "here.onnx")]
    assert {key for key in there if key not in said} == set()
    for key in ["nodes", "initializers", "weight_bytes", "inputs", "outputs", "opset", "exit"]:
        assert said[key] == there[key], key


def test_a_model_is_written_more_than_once(model, tmp_path):
    model.save(tmp_path / "a.onnx", options(external_data="inline"))
    said = json.loads(model.save(tmp_path / "b.onnx", options(initializers=False)))
    assert model.to_bytes() == (tmp_path / "a.onnx").read_bytes()
    assert model.to_bytes(options(initializers=False)) == (tmp_path / "b.onnx").read_bytes()
    assert len((tmp_path / "b.onnx").read_bytes()) < len((tmp_path / "a.onnx").read_bytes())
    assert said["initializers"] < len(onnx.load(tmp_path / "a.onnx").graph.initializer)


def test_a_message_has_a_limit(model):
    size = len(model.to_bytes())
    assert len(model.to_bytes(limit=size)) == size
    with pytest.raises(_native.Error, match="more than the"):
        model.to_bytes(limit=size - 1)


def test_options_of_a_write_go_before_those_of_the_conversion(tmp_path):
    model = _native.Conversion.open(PROGRAM).run(options(verify=False, no_initializers=True))
    model.save(tmp_path / "a.onnx")
    model.save(tmp_path / "b.onnx", options(initializers=True))
    held = [len(onnx.load(tmp_path / name).graph.initializer) for name in ["a.onnx", "b.onnx"]]
    assert held[0] < held[1]


def test_the_report_is_there_without_a_file(model):
    report = json.loads(model.report)
    assert report["nodes"] > 0
    assert report["opset"] == 20
    assert "lower" in report["seconds"]
    assert "graph {" in model.text()


def test_a_trace_goes_on_where_the_model_is_saved(tmp_path):
    trace = tmp_path / "trace.json"

    def stages():
        events = json.loads(trace.read_text())["traceEvents"]
        return {event["name"] for event in events if event.get("cat") == "stage"}

    model = _native.Conversion.open(PROGRAM).run(options(profile=str(trace), verify=False))
    assert {"read", "lower", "optimise"} <= stages()
    assert "write" not in stages()
    model.save(tmp_path / "a.onnx")
    assert {"read", "lower", "write"} <= stages()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"opse": 20}, "unknown option `opse` for convert\n  help: did you mean `opset`?"),
        ({"opset": 1}, "opset 1"),
        ({"validate": "yes"}, "`validate` is true or false"),
        (
            {"external_data": "nowhere"},
            "invalid value for `external_data`: unknown variant `nowhere`",
        ),
    ],
)
def test_wrong_options_are_refused(said, why):
    with pytest.raises(_native.Error) as raised:
        _native.Conversion.open(PROGRAM).run(options(**said))
    assert why in str(raised.value)
    assert raised.value.exit == 2
    assert json.loads(raised.value.diagnostics)[0]["severity"] == "error"


def test_a_file_that_is_no_program_is_an_error(tmp_path):
    (tmp_path / "x.pt2").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(_native.Error) as raised:
        _native.Conversion.open(tmp_path / "x.pt2")
    assert raised.value.exit == 5
    [diagnostic] = json.loads(raised.value.diagnostics)
    assert diagnostic["code"].startswith("OP10")


def test_names_hold_any_sign():
    model = _native.Conversion.open(PROGRAM).run(options(verify=False, input_names=["a,b=c"]))
    proto = onnx.load_from_string(model.to_bytes())
    assert proto.graph.input[-1].name == "a,b=c"


def test_commands_are_functions(tmp_path, model):
    model.save(tmp_path / "a.onnx")
    said = options(model=str(tmp_path / "a.onnx"), output=str(tmp_path / "b.onnx"))
    assert json.loads(_native.command("optimize", said))["files"] == [str(tmp_path / "b.onnx")]
    ops = json.loads(_native.command("ops", "{}"))
    assert ops["ok"]
    with pytest.raises(_native.Error, match="unknown command `frobnicate`"):
        _native.command("frobnicate", "{}")
    with pytest.raises(_native.Error, match="`model` is missing"):
        _native.command("optimize", "{}")


def test_a_signature_is_what_a_model_declares(model):
    said = json.loads(_native.signature(model.to_bytes(options(initializers=False))))
    graph = onnx.load_from_string(model.to_bytes()).graph
    assert [port["name"] for port in said["inputs"]] == [port.name for port in graph.input]
    for port, declared in zip(said["outputs"], graph.output, strict=True):
        dims = declared.type.tensor_type.shape.dim
        assert port["dims"] == [dim.dim_param or dim.dim_value for dim in dims]
        assert port["type"] == f"f32[{', '.join(map(str, port['dims']))}]"


def test_states_are_not_given():
    kept = onnx.helper.make_tensor_value_info("seen", onnx.TensorProto.INT64, [])
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, ["n", None, 3])
    graph = onnx.helper.make_graph([], "main", [x, kept], [x, kept])
    model = onnx.helper.make_model(graph)
    states = [{"name": "seen", "kind": "buffer", "input": "seen", "output": "next"}]
    onnx.helper.set_model_props(model, {"onnxport.state": json.dumps(states)})
    said = json.loads(_native.signature(model.SerializeToString()))
    assert said["states"] == states
    assert [port["given"] for port in said["inputs"]] == [True, False]
    assert said["inputs"][0]["dims"] == ["n", None, 3]
    assert said["inputs"][0]["type"] == "f16[n, ?, 3]"


@pytest.mark.parametrize("message", [b"", b"\x3a\xff\xff", b"no model"])
def test_what_is_no_model_has_no_signature(message):
    with pytest.raises(_native.Error, match="not an ONNX model") as raised:
        _native.signature(message)
    assert json.loads(raised.value.diagnostics)[0]["code"] == "OP110"


def test_outputs_are_added(model):
    before = onnx.load_from_string(model.to_bytes())
    inner = before.graph.node[0].output[0]
    after = onnx.load_from_string(_native.with_outputs(model.to_bytes(), [inner, "é"]))
    names = [port.name for port in before.graph.output]
    assert [port.name for port in after.graph.output] == [*names, inner, "é"]
    del after.graph.output[len(names) :]
    assert after == before
