"""Options in a file, from Python: the same file, keys and errors as those of the command."""

import json
from pathlib import Path

import pytest

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport

PROGRAM = Path(__file__).parents[2] / "examples/mlp/mlp.pt2"
OPTIONS = """
[convert]
opset = 18
verify = false
manifest = true
dim = ["x:0=batch"]

[preset.new.convert]
opset = 21
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "onnxport.toml").write_text(OPTIONS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONNXPORT_CONFIG", raising=False)
    monkeypatch.delenv("ONNXPORT_PRESET", raising=False)
    return tmp_path


def test_a_command_takes_the_table_of_its_name(folder):
    said = onnxport.convert(PROGRAM, output="a.onnx")
    assert said.opset == 18
    assert said.config["file"] == "onnxport.toml"
    named = [option["name"] for option in said.config["options"]]
    assert named == ["opset", "no-verify", "manifest", "dim"]
    assert (folder / "a.onnx.sha256").exists()
    assert onnxport.convert(PROGRAM, output="a.onnx", opset=19).opset == 19
    assert onnxport.convert(PROGRAM, output="a.onnx", preset="new").opset == 21
    said = onnxport.convert(PROGRAM, output="b.onnx", config=False, verify=False)
    assert said.opset == 20
    assert "config" not in said


def test_false_switches_off_what_the_file_says(folder):
    onnxport.convert(PROGRAM, output="a.onnx", manifest=False)
    assert not (folder / "a.onnx.sha256").exists()
    onnxport.convert(PROGRAM, output="b.onnx", unset=["manifest"])
    assert not (folder / "b.onnx.sha256").exists()


def test_a_path_names_the_file(folder):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "own.toml").write_text("[convert]\noutput = 'made.onnx'\nverify = false\n")
    onnxport.convert(PROGRAM, config=elsewhere / "own.toml")
    assert (elsewhere / "made.onnx").exists()


def test_what_is_printed_says_where_it_comes_from(folder):
    said = onnxport.convert(preset="new", shard_size="1MB", print_config=True)
    found = {option["name"]: option for option in said.config["options"]}
    assert (found["opset"]["value"], found["opset"]["from"]) == (21, "preset")
    assert found["shard-size"]["from"] == "command-line"
    assert found["manifest"]["place"] == "onnxport.toml:5:1"


@pytest.mark.parametrize(
    ("options", "code", "kind"),
    [
        ("[convert", "OP002", onnxport.FileError),
        ("[convert]\nopst = 18", "OP003", onnxport.UsageError),
        ("[convert]\nopset = '18'", "OP004", onnxport.UsageError),
        ("[convert]\nplugin = 'a.so'", "OP005", onnxport.UsageError),
    ],
)
def test_what_is_wrong_is_an_exception_with_the_code(folder, options, code, kind):
    (folder / "onnxport.toml").write_text(options)
    for call in (
        lambda: onnxport.convert(PROGRAM, output="a.onnx"),
        lambda: onnxport.export(PROGRAM),
    ):
        with pytest.raises(kind) as raised:
            call()
        assert raised.value.diagnostics[0].code == code
    assert onnxport.convert(PROGRAM, output="a.onnx", config=False, verify=False)["ok"]


def test_presets_are_known(folder):
    with pytest.raises(onnxport.UsageError, match="unknown preset `nwe`"):
        onnxport.convert(PROGRAM, output="a.onnx", preset="nwe")


def test_an_export_takes_the_table_of_convert(folder):
    def opset(**options):
        return onnxport.export(PROGRAM, **options).report["opset"]

    assert opset() == 18
    assert opset(preset="new") == 21
    assert opset(opset_version=19) == 19
    assert opset(options={"opset": 22}) == 22
    assert opset(config=False) == 20
    program = onnxport.export(PROGRAM)
    assert program.report["config"]["options"][0]["name"] == "opset"
    written = program.save(folder / "m.onnx")
    assert json.dumps(written).count("m.onnx.sha256") == 1, "options about writing count too"


def test_the_file_can_switch_rules_off(folder):
    (folder / "onnxport.toml").write_text("[convert]\noptimize = false\n")
    assert onnxport.export(PROGRAM).report["config"]["options"][0]["name"] == "no-optimize"
    assert "config" not in onnxport.export(PROGRAM, options={"optimize": 1}).report
