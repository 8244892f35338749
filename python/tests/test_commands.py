"""The commands as functions."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

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
    "weights_bind",
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
    with pytest.raises(onnxport.UsageError, match="unknown code `OP000`"):
        onnxport.explain("OP000")


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
