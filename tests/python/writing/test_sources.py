"""Sources from which is only read: on read-only mounts, and in the place of the output."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import export, save

from tests.python.onnx_runtime import binary

LINKS = {"by name": None, "by a symbolic link": os.symlink, "by a hard link": os.link}


class Layers(nn.Module):
    """A weight that goes to a data file, and one that goes into the model."""

    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Linear(32, 32)

    def forward(self, x: Tensor) -> Tensor:
        return self.large(x)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with every kind of source."""
    folder = tmp_path_factory.mktemp("made")
    x = torch.zeros(1, 32)
    module = Layers().eval()
    save(export(module, (x,)), folder / "m.pt2")
    save_file({k: v.clone() for k, v in module.state_dict().items()}, folder / "w.safetensors")
    save_file({"another": x}, folder / "extra.safetensors")
    index = {"weight_map": dict.fromkeys(module.state_dict(), "w.safetensors")}
    (folder / "w.safetensors.index.json").write_text(json.dumps(index))
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = Layers().eval()
    save(export(fake, (x,)), folder / "fake.pt2")
    run("convert", folder / "fake.pt2", "-o", folder / "waits.onnx", "--weightless")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the sources, each a file of its own."""
    return Path(shutil.copytree(made, tmp_path / "sources"))


def run(*arguments: object) -> tuple[int, list[str]]:
    """Return the exit code and the codes of the diagnostics."""
    command = [binary(), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, [found["code"] for found in json.loads(done.stdout)["diagnostics"]]


def convert(program: Path, output: Path, *more: object) -> tuple[int, list[str]]:
    options = ("--no-verify", "--external-data", "external")
    return run("convert", program, "-o", output, *options, *more)


def bind(model: Path, output: Path, *more: object) -> tuple[int, list[str]]:
    return run("weights", "bind", model, "-o", output, "--external-data", "external", *more)


def state(folder: Path) -> dict[str, str]:
    """Return the hash of every file."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    """Mount the sources read-only, for root as well; skip where that is not permitted."""
    model = folder / "m.onnx"
    assert convert(folder / "m.pt2", model)[0] == 0
    command = ["mount", "--bind", str(folder), str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounts are not permitted here")
    try:
        remount = ["mount", "-o", "remount,bind,ro", str(folder)]
        if subprocess.run(remount, capture_output=True).returncode:
            pytest.skip("read-only mounts are not permitted here")
        with pytest.raises(OSError, match="Read-only"):
            (folder / "probe").touch()
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_sources_on_a_read_only_mount(read_only: Path, tmp_path: Path):
    program, fake, weights = (read_only / name for name in ("m.pt2", "fake.pt2", "w.safetensors"))
    expected = [hashlib.sha256((read_only / n).read_bytes()) for n in ("m.onnx", "m.onnx.data")]
    for number, arguments in enumerate(
        [(program,), (fake, "--weights", weights), (fake, "--weights", read_only / "m.pt2")]
    ):
        out = tmp_path / f"{number}" / "m.onnx"
        out.parent.mkdir()
        assert convert(arguments[0], out, *arguments[1:]) == (0, [])
        if number == 0:
            hashes = list(state(out.parent).values())
            assert hashes == [digest.hexdigest() for digest in expected]
    bound = tmp_path / "bound.onnx"
    assert bind(read_only / "waits.onnx", bound, "--from", weights) == (0, [])
    assert run("package", program, "-o", tmp_path / "package") == (0, [])
    for command in (["check", program], ["inspect", weights], ["inspect", read_only / "m.onnx"]):
        assert run(*command) == (0, [])


def test_output_to_a_read_only_mount(read_only: Path):
    before = state(read_only)
    program, weights = read_only / "m.pt2", read_only / "w.safetensors"
    for output in ("m.onnx", "new.onnx"):
        assert convert(program, read_only / output) == (5, ["OP601"])
        assert bind(read_only / "waits.onnx", read_only / output, "--from", weights) == (
            5,
            ["OP601"],
        )
    assert run("weights", "bind", read_only / "waits.onnx", "--from", weights) == (5, ["OP601"])
    assert run("package", program, "-o", read_only / "package") == (5, ["OP601"])
    assert state(read_only) == before


@pytest.mark.parametrize("how", LINKS)
@pytest.mark.parametrize("source", ["m.pt2", "w.safetensors", "extra.safetensors"])
@pytest.mark.parametrize("place", ["out.onnx", "out.onnx.data", "out.onnx.sha256"])
def test_output_onto_a_source(folder: Path, how: str, source: str, place: str):
    """The model, the data file and the list of hashes, each in the place of a source."""
    at = folder / place
    link = LINKS[how]
    weights = [folder / "w.safetensors", folder / "extra.safetensors"]
    program = folder / "m.pt2"
    if link is None:
        (folder / source).rename(at)
        weights = [at if path.name == source else path for path in weights]
        program = at if source == "m.pt2" else program
    else:
        link(folder / source, at)
    before = state(folder)
    given = [part for path in weights for part in ("--weights", path)]
    code, said = convert(program, folder / "out.onnx", *given)
    assert (code, said[-1:]) == (5, ["OP603"])
    if source != "m.pt2":
        given = [part for path in weights for part in ("--from", path)]
        code, said = bind(folder / "waits.onnx", folder / "out.onnx", *given)
        assert (code, said[-1:]) == (5, ["OP603"])
    assert state(folder) == before


def test_output_onto_rules_and_lists(folder: Path):
    rules = folder / "rules.toml"
    rules.write_text('[prefix]\n"large." = "large."\n')
    index = folder / "w.safetensors.index.json"
    sidecar = folder / "m.expected.safetensors"
    sidecar.write_bytes(b"recorded values")
    before = state(folder)
    given = ("--weights", index, "--weights-map", rules)
    for output in (rules, index, sidecar):
        assert convert(folder / "m.pt2", output, *given) == (5, ["OP603"])
    given = ("--from", index, "--weights-map", rules)
    for output in (rules, index):
        assert bind(folder / "waits.onnx", output, *given) == (5, ["OP603"])
    assert state(folder) == before


def test_a_model_is_bound_over_itself_and_over_nothing_else_of_its_own(folder: Path):
    waits, weights = folder / "waits.onnx", ("--from", folder / "w.safetensors")
    for make in (os.symlink, os.link):
        other = folder / "other.onnx"
        make(waits, other)
        assert bind(waits, other, *weights) == (5, ["OP603"])
        other.unlink()
    data = folder / "other.onnx.data"
    shutil.copyfile(waits, data)
    before = state(folder)
    assert bind(data, folder / "other.onnx", *weights) == (5, ["OP603"])
    assert state(folder) == before

    assert bind(waits, folder / "." / "waits.onnx", *weights) == (0, [])
    assert run("inspect", "--weights", waits) == (0, [])
    assert run("weights", "bind", waits, *weights) == (5, ["OP639"])


def test_a_package_is_written_over_no_source(folder: Path):
    before = state(folder)
    for output in ("m.pt2", "w.safetensors"):
        given = ("--weights", folder / "w.safetensors", "-o", folder / output)
        assert run("package", folder / "m.pt2", *given) == (5, ["OP601"])
    os.symlink(folder, folder.parent / "link")
    assert run("package", folder / "m.pt2", "-o", folder.parent / "link") == (5, ["OP601"])
    assert state(folder) == before
