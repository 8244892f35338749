"""The commands as functions."""

import inspect
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest

_native = pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport  # noqa: E402
from onnxport import _commands  # noqa: E402

PROGRAM = Path(__file__).parents[2] / "examples/mlp/mlp.pt2"
PACKAGE = Path(onnxport.__file__).parents[1]
NAMES = [
    "bisect",
    "convert",
    "check",
    "diff",
    "inspect",
    "verify",
    "run",
    "ops",
    "package",
    "profile",
    "rules",
    "draw",
    "report",
    "weights_bind",
    "legal",
    "partition",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "mlp.onnx"
    onnxport.convert(PROGRAM, output=path, dim=["x:0=batch"], verify=False)
    return path


def test_a_program_is_converted_as_the_command_does_it(model, tmp_path):
    said = onnxport.convert(PROGRAM, output=tmp_path / "a.onnx", opset=21, verify=False)
    assert said["files"] == said.files == [str(tmp_path / "a.onnx")]
    assert (said.opset, said["ok"]) == (21, True)
    assert onnx.load(tmp_path / "a.onnx").opset_import[0].version == 21


def test_results_are_what_the_command_prints(model):
    assert onnxport.check(PROGRAM)["ok"]
    assert onnxport.inspect(model).model["inputs"][0]["name"] == "x"
    assert onnxport.ops()["ok"]
    with pytest.raises(AttributeError, match="the result has no `nothing`; it has"):
        _ = onnxport.check(PROGRAM).nothing


@pytest.mark.parametrize(
    ("name", "places", "options"),
    [
        ("convert", (PROGRAM,), {"output": "a.onnx", "verify": False}),
        ("check", (PROGRAM,), {}),
        ("inspect", (PROGRAM,), {}),
        ("explain", ("OP301",), {}),
    ],
)
def test_a_result_is_printed_as_the_shell_prints_it(name, places, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = getattr(_commands, name if name != "explain" else "_explain")(*places, **options)
    line = [name, *map(str, places)]
    line += ["-o", "a.onnx", "--no-verify"] if options else []
    start = "import sys; from onnxport._cli import main; sys.exit(main())"
    found = subprocess.run(
        [sys.executable, "-c", start, *line],
        env={"PYTHONPATH": str(PACKAGE), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip()

    # How long it took differs from run to run.
    def timeless(text):
        return [line for line in text.rstrip().splitlines() if not line.startswith("time ")]

    assert timeless(repr(said)) == timeless(found.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_signature_is_that_of_the_command_line(name):
    command = getattr(onnxport, name)
    parameters = inspect.signature(command).parameters
    known = json.loads(_native.describe(command.name))["arguments"]
    assert {one["name"] for one in known} == {name.removesuffix("_") for name in parameters}
    assert all(f"{one}:" in inspect.getdoc(command) for one in parameters)
    assert command.__name__ == name


def test_each_key_of_the_description_is_an_option(model):
    """An option that is known fails for another reason than an unknown one."""
    for name in NAMES:
        for one in json.loads(_native.describe(getattr(onnxport, name).name))["arguments"]:
            with pytest.raises(onnxport.Error) as raised:
                _native_command(name, {one["name"]: [[]], "no_such": 1})
            said = str(raised.value)
            assert "unknown option `no_such`" in said or one["name"] in said
            assert f"unknown option `{one['name']}`" not in said


def _native_command(name, options):
    return getattr(onnxport, name)(**options)


def test_what_is_wrong_is_an_exception_of_its_exit_code(tmp_path):
    with pytest.raises(onnxport.UsageError, match="unknown option `opse` for convert"):
        onnxport.convert(PROGRAM, opse=3)
    with pytest.raises(onnxport.FileError):
        onnxport.check(tmp_path / "nothing.pt2")
    with pytest.raises(TypeError, match="takes 1 positional"):
        onnxport.check(PROGRAM, PROGRAM)
    with pytest.raises(TypeError, match="several values for `program`"):
        onnxport.check(PROGRAM, program=PROGRAM)
    with pytest.raises(TypeError, match="an option is a object"):
        onnxport.check(PROGRAM, opset=object())


def test_a_model_is_optimised_in_a_file_and_in_memory(model, tmp_path):
    said = onnxport.optimize(model, tmp_path / "a.onnx")
    assert said["files"] == [str(tmp_path / "a.onnx")]
    proto = onnx.load(model)
    again = onnxport.optimize(proto)
    assert isinstance(again, onnx.ModelProto)
    assert len(again.graph.node) == said["nodes"]
    assert len(again.graph.initializer) == len(proto.graph.initializer)
    with pytest.raises(TypeError, match="`output` is for a model in a file"):
        onnxport.optimize(proto, tmp_path / "b.onnx")
    with pytest.raises(TypeError, match="neither a path nor a model"):
        onnxport.optimize(3)


def test_a_model_in_memory_needs_no_folder(model, monkeypatch):
    onnx_ir = pytest.importorskip("onnx_ir")
    given, ir = onnx.load(model), onnx_ir.load(model)
    before = given.SerializeToString(deterministic=True)

    def refuse(*_, **__):
        raise AssertionError("a folder is created")

    for name in ("TemporaryDirectory", "mkdtemp", "NamedTemporaryFile"):
        monkeypatch.setattr(tempfile, name, refuse)
    after = onnxport.optimize(given)
    again = onnx_ir.to_proto(onnxport.optimize(ir))
    assert given.SerializeToString(deterministic=True) == before
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in given.graph.initializer}
    for made in (after, again):
        onnx.checker.check_model(made, full_check=True)
        assert [one.name for one in made.graph.initializer] == list(weights)
        for one in made.graph.initializer:
            np.testing.assert_array_equal(onnx.numpy_helper.to_array(one), weights[one.name])


MEMORY = """
import re, threading, time
from pathlib import Path
import numpy as np, onnx, onnxport

def anonymous():
    return int(re.search(r"RssAnon:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) << 10

weights = [
    onnx.numpy_helper.from_array(np.full((1 << 20,), i, np.float32), f"w{i}") for i in range(32)
]
names = ["x", *(f"s{i}" for i in range(32))]
nodes = [
    onnx.helper.make_node("Add", [names[i], f"w{i}"], [names[i + 1]]) for i in range(32)
]
value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1 << 20])
graph = onnx.helper.make_graph(nodes, "g", [value("x")], [value(names[-1])], weights)
model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
del weights, graph
onnxport.optimize(onnx.helper.make_model(onnx.helper.make_graph(
    [onnx.helper.make_node("Abs", ["x"], ["y"])], "g", [value("x")], [value("y")]
)), optimize=0)
before, peak, done = anonymous(), 0, False

def watch():
    global peak
    while not done:
        peak = max(peak, anonymous())
        time.sleep(0.002)

thread = threading.Thread(target=watch)
thread.start()
made = onnxport.optimize(model, optimize=0)
done = True
thread.join()
assert made.graph.initializer[31].raw_data == model.graph.initializer[31].raw_data
print((max(peak, anonymous()) - before) / (128 << 20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_weights_in_memory_are_copied_out_of_a_message_and_into_one():
    said = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, cwd=PACKAGE
    )
    assert said.returncode == 0, said.stderr
    # One copy out of protobuf, one into the result, and a few of a single weight.
    assert 0.9 < float(said.stdout) < 2.5, said.stdout


@pytest.mark.parametrize("dtype", ["BFLOAT16", "FLOAT16", "INT4", "BOOL", "DOUBLE"])
def test_weights_of_every_type_cross_in_memory(dtype):
    onnx_ir = pytest.importorskip("onnx_ir")
    kind = getattr(onnx.TensorProto, dtype)
    values = np.arange(3000) % 2
    weight = onnx.numpy_helper.from_array(
        values.astype(onnx.helper.tensor_dtype_to_np_dtype(kind)), "w"
    )
    assert len(weight.raw_data) > 1024
    declared = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Cast", ["w"], ["a"], to=onnx.TensorProto.FLOAT),
            onnx.helper.make_node("Add", ["a", "x"], ["y"]),
        ],
        "g",
        [declared("x", onnx.TensorProto.FLOAT, [3000])],
        [declared("y", onnx.TensorProto.FLOAT, [3000])],
        [weight],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    for made in (
        onnxport.optimize(model, optimize=0),
        onnx_ir.to_proto(onnxport.optimize(onnx_ir.from_proto(model), optimize=0)),
    ):
        found = onnx.numpy_helper.to_array(made.graph.initializer[0]).astype(np.float32)
        np.testing.assert_array_equal(found, values.astype(np.float32))


def test_external_data_that_is_not_in_memory_is_refused(model, tmp_path):
    proto = onnx.load(model)
    onnx.save(
        proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0
    )
    proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    with pytest.raises(onnxport.FileError, match=r"`m\.data`, which is not in memory"):
        onnxport.optimize(proto)


def test_models_in_memory_are_compared_before_they_return(model):
    proto = onnx.load(model)
    again = onnxport.optimize(proto, verify=True, executor="reference")
    assert isinstance(again, onnx.ModelProto)


def test_a_model_of_onnx_ir_is_optimised(model):
    onnx_ir = pytest.importorskip("onnx_ir")
    again = onnxport.optimize(onnx_ir.load(model))
    assert isinstance(again, onnx_ir.Model)
    assert all(value.const_value is not None for value in again.graph.initializers.values())


def test_a_model_is_run_and_weights_are_bound(model, tmp_path):
    assert onnxport.run(model, executor="reference", random=True, dim=["batch=3"])["ok"]
    packed = onnxport.package([str(PROGRAM)], output=tmp_path / "all", verify=False)
    assert packed["ok"]
    waiting = tmp_path / "waiting.onnx"
    onnxport.convert(PROGRAM, output=waiting, weightless=True, verify=False)
    bound = onnxport.weights_bind(waiting, from_=[PROGRAM], output=tmp_path / "bound.onnx")
    assert bound["ok"]


def test_a_code_is_explained():
    known = onnxport.explain("op301")
    assert known.code == "OP301"
    assert all([known.means, known.why, known.ways_out, known.example])
    assert str(known).startswith("OP301: ")
    assert "Ways out" in str(known)
    with pytest.raises(onnxport.UsageError, match="unknown code `OP000`"):
        onnxport.explain("OP000")


def test_a_code_is_found_in_a_program():
    assert onnxport.explain("OP301", PROGRAM, opset=20).found == []
    assert "found" not in onnxport.explain("OP301")
    with pytest.raises(onnxport.UsageError, match="unknown option `opse` for explain"):
        onnxport.explain("OP301", PROGRAM, opse=20)


def test_a_rule_is_shown_with_its_example():
    [rule] = onnxport.rules("negate_twice").rules
    assert (rule["pattern"], rule["level"], rule["class"]) == ("Neg(Neg(x))", "1", "exact")
    assert [rule[side].count("Neg(") for side in ("before", "after")] == [2, 0]
    assert len(onnxport.rules().rules) > 100
    with pytest.raises(onnxport.UsageError, match="unknown rule or pass `negate_thrice`"):
        onnxport.rules("negate_thrice")


def test_nodes_are_judged_for_a_target(model, tmp_path):
    for file in (PROGRAM, model):
        judged = onnxport.legal(file, target="openvino").legal
        assert judged["counts"]["native"] == len(judged["nodes"]) > 0
        assert {node["verdict"] for node in judged["nodes"]} == {"native"}
        assert all(node["reason"] and node["node"] for node in judged["nodes"])
        # A model states the lines of its nodes with `--metadata full`.
        assert all(node["line"] for node in judged["nodes"]) is (file is PROGRAM)
        assert judged["source"].startswith("openvino ")
    table = tmp_path / "chip.txt"
    table.write_text("base tensorrt\ntarget chip\nlacks Gemm 1-99 : no matrix unit\n")
    with pytest.raises(onnxport.UnsupportedError, match="no matrix unit") as raised:
        onnxport.legal(model, target=table)
    refused = [n for n in raised.value.report["legal"]["nodes"] if n["verdict"] == "refused"]
    assert {node["operator"] for node in refused} == {"Gemm"}
    assert all(node["module"] and node["change"] for node in refused)


def test_graphs_are_drawn(model, tmp_path):
    pictures = [tmp_path / "a.svg", tmp_path / "a.html"]
    drawn = onnxport.draw(PROGRAM, output=pictures, depth=1)
    assert drawn.pictures == [str(path) for path in pictures]
    assert pictures[0].read_text().startswith("<svg")
    assert onnxport.draw(PROGRAM, output=pictures, only="fc0").nodes < drawn.nodes
    assert onnxport.draw([model, model], output=pictures[0]).nodes % 2 == 0
    assert onnxport.draw(rule="negate_twice", output=pictures[0]).nodes > 0
    with pytest.raises(onnxport.UsageError, match="unsupported picture format"):
        onnxport.draw(PROGRAM, output="a.png")


def test_a_model_is_reported_and_a_report_is_checked(model, tmp_path):
    assert onnxport.report(model).report["model"]["nodes"] > 0
    page = tmp_path / "a.html"
    assert onnxport.report(model, output=page).reports == [str(page)]
    assert "describes the model" in str(onnxport.report(model, check=page))
    page.write_text(page.read_text().replace("mlp.onnx", "net.onnx"))
    with pytest.raises(onnxport.Error, match="does not describe the model"):
        onnxport.report(model, check=page)


def test_lowerings_of_decorators_count_for_commands(tmp_path):
    torch = pytest.importorskip("torch")
    from onnxport._operators import functions

    @torch.library.custom_op("onnxport_commands::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x + x

    twice.register_fake(torch.empty_like)

    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.ops.onnxport_commands.twice(x)

    path = tmp_path / "twice.pt2"
    torch.export.save(torch.export.export(Module(), (torch.ones(2),)), path)
    with pytest.raises(onnxport.UnsupportedError, match="has no lowering"):
        onnxport.convert(path, output=tmp_path / "a.onnx")
    before = dict(functions.LOWERINGS)
    try:
        onnxport.lowering("onnxport_commands::twice")(lambda op, x: op.Add(x, x))
        assert onnxport.convert(path, output=tmp_path / "a.onnx", verify=False)["nodes"] == 1
    finally:
        functions.LOWERINGS.clear()
        functions.LOWERINGS.update(before)


def test_a_command_says_what_it_is():
    assert repr(onnxport.check) == "<the command `onnxport check`>"
    assert _commands.Command("weights bind").__name__ == "weights_bind"


def test_a_runtime_can_have_a_process_of_its_own(model):
    given = {"random": True, "dim": ["batch=2"], "executor": "reference"}
    ran = onnxport.run(model, **given, isolate=True)
    assert ran.run["executor"].endswith(", in a separate process")
    with pytest.raises(onnxport.Error, match="its process was ended"):
        onnxport.run(model, **given, isolate=True, timeout=0.001)
    # Without a process of its own, a run under a limit would be in this process.
    with pytest.raises(onnxport.UsageError, match="is not supported here"):
        onnxport.run(model, **given, timeout=0.001)


def test_the_runtime_of_this_python_is_found_without_its_environment_being_active(tmp_path):
    pytest.importorskip("onnxruntime")
    script = (
        "import onnxport, sys\n"
        "said = onnxport.convert(sys.argv[1], output=sys.argv[2], require_verified=True)\n"
        "print(said['verification']['executor'])"
    )
    environment = {"HOME": str(tmp_path), "PATH": "", "PYTHONPATH": str(PACKAGE)}
    command = [sys.executable, "-c", script, PROGRAM, tmp_path / "a.onnx"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ONNX Runtime" in done.stdout


def test_options_of_a_request_are_read_as_data(model, tmp_path):
    """They do not become words of a command line."""
    path = tmp_path / "a.onnx"
    with pytest.raises(onnxport.UsageError, match="unknown option `ouput` for optimize"):
        onnxport.optimize(model, ouput=path)
    with pytest.raises(onnxport.UsageError, match="`stop_after` takes an integer, not true"):
        onnxport.optimize(model, path, stop_after=True)
    with pytest.raises(onnxport.UsageError, match="`seed` needs `verify`"):
        onnxport.optimize(model, path, seed=1)
    with pytest.raises(onnxport.UsageError, match="neither `output` nor `emit` is given"):
        onnxport.optimize(model)
    assert "graph {" in onnxport.optimize(model, emit=True).text
    odd = onnxport.run(model, random=True, dim="batch=2", executor="reference", color="never")
    assert odd["ok"]
    assert onnxport.diff(model, model).same


def test_the_old_spelling_of_optimize_is_read(model, tmp_path):
    said = [
        onnxport.optimize(model, tmp_path / "a.onnx", **{name: 0}).get("optimised")
        for name in ("optimize", "optimise")
    ]
    assert said == [None, None]
    new = onnxport.convert(PROGRAM, output=tmp_path / "new.onnx", optimize=1, verify=False)
    old = onnxport.convert(PROGRAM, output=tmp_path / "old.onnx", optimise=1, verify=False)
    assert new["nodes"] == old["nodes"]
    assert (tmp_path / "new.onnx").read_bytes() == (tmp_path / "old.onnx").read_bytes()


def test_signatures_for_type_checkers_are_those_of_the_commands():
    """`_signatures.pyi` is generated; this is what a keyword of it is at run time."""
    import ast

    stub = ast.parse((PACKAGE / "onnxport/_signatures.pyi").read_text())
    classes = {one.name: one for one in stub.body if isinstance(one, ast.ClassDef)}
    for name in NAMES:
        call = classes["".join(part.title() for part in name.split("_"))].body[0]
        stated = [one.arg for one in (*call.args.args[1:], *call.args.kwonlyargs)]
        known = inspect.signature(getattr(onnxport, name)).parameters
        assert set(known) <= set(stated), name
        assert {one.removeprefix("no_") for one in stated} == {
            one.removeprefix("no_") for one in known
        }
