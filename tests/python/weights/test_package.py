"""Several models in one folder that share one data file."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.export import Dim, export, save

import onnxport as python_package
from tests.python.onnx_runtime import binary, library, reported
from tests.python.weights.test_sources import onnxport, run


class Encoder(nn.Module):
    """Takes an embedding that the decoder takes as well."""

    def __init__(self, table: nn.Embedding, body: nn.Linear) -> None:
        super().__init__()
        self.table, self.body = table, body

    def forward(self, ids: Tensor) -> Tensor:
        return self.body(self.table(ids)).mean(1)


class Decoder(nn.Module):
    """The same embedding, also as the head, and a layer of its own."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self.words, self.own = table, nn.Linear(48, 48)

    def forward(self, ids: Tensor, memory: Tensor) -> Tensor:
        return (self.own(self.words(ids)) + memory[:, None]) @ self.words.weight.t()


@pytest.fixture
def parts(tmp_path):
    torch.manual_seed(0)
    table = nn.Embedding(64, 48)
    encoder, decoder = Encoder(table, nn.Linear(48, 48)).eval(), Decoder(table).eval()
    ids = torch.randint(0, 64, (2, 5))
    memory = encoder(ids).detach()
    save(export(encoder, (ids,)), tmp_path / "enc.pt2")
    save(export(decoder, (ids, memory)), tmp_path / "dec.pt2")
    return decoder, ids, memory, tmp_path


def locations(path):
    """Return where a model has its weights: file, offset and length by name."""
    graph = onnx.load(path, load_external_data=False).graph
    entries = {t.name: {e.key: e.value for e in t.external_data} for t in graph.initializer}
    return {name: (e["location"], e["offset"], e["length"]) for name, e in entries.items() if e}


def test_equal_tensors_of_two_archives_are_stored_once(parts):
    decoder, ids, memory, folder = parts
    out = folder / "package"
    programs = (f"encoder={folder / 'enc.pt2'}", f"decoder={folder / 'dec.pt2'}")
    onnxport("package", *programs, "-o", out)
    names = ["decoder.onnx", "encoder.onnx", "weights.data"]
    assert sorted(path.name for path in out.iterdir()) == names
    first, second = locations(out / "encoder.onnx"), locations(out / "decoder.onnx")
    assert first["table.weight"] == second["words.weight"]
    assert first["body.weight"] != second["own.weight"]
    large = (64 + 48 + 48) * 48 * 4
    assert large <= (out / "weights.data").stat().st_size <= large + 8192
    with torch.no_grad():
        expected = decoder(ids, memory).numpy()
    found = run(out / "encoder.onnx", {"ids": ids.numpy()})
    np.testing.assert_allclose(found, memory.numpy(), rtol=1e-4, atol=1e-5)
    found = run(out / "decoder.onnx", {"ids": ids.numpy(), "memory": memory.numpy()})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # The same again, elsewhere; and the folder can be moved.
    onnxport("package", *programs, "-o", folder / "again")
    for name in names:
        assert (out / name).read_bytes() == (folder / "again" / name).read_bytes()
    moved = shutil.move(out, folder / "moved")
    run(moved / "encoder.onnx", {"ids": ids.numpy()})


def test_a_package_is_not_written_over_anything(parts):
    *_, folder = parts
    (folder / "there").mkdir()
    before = sorted(folder.iterdir())
    report = onnxport("package", folder / "enc.pt2", "-o", folder / "there", code=5)
    assert "OP601" in report
    same = (f"a={folder / 'enc.pt2'}", f"a={folder / 'dec.pt2'}")
    assert "OP307" in onnxport("package", *same, "-o", folder / "new", code=2)
    assert sorted(folder.iterdir()) == before


def test_every_model_of_a_package_is_verified(parts):
    decoder, ids, memory, folder = parts
    batch = {0: Dim("batch", max=64)}
    exported = export(decoder, (ids, memory), dynamic_shapes=(batch, batch))
    python_package.save(exported, folder / "dec.pt2")
    programs = (f"encoder={folder / 'enc.pt2'}", f"decoder={folder / 'dec.pt2'}")
    options = ("--ort-library", library(), "--dim", "decoder/ids:0=n", "--opset", "21")
    found = reported("package", *programs, "-o", folder / "plain", *options)
    checks = {model["name"]: model["verification"] for model in found["models"]}
    assert [checks[name]["values_compared"] for name in ("encoder", "decoder")] == [False, True]
    assert len(checks["decoder"]["cases"]) > 1
    graph = onnx.load(folder / "plain/decoder.onnx").graph
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    assert found["exit"] == 0
    # Changed weights give other values: they are measured, and the models run at every size.
    int4 = ("--quantize", "int4", "--quantize-skip", "body.*")
    found = reported("package", *programs, "-o", folder / "int4", *options, *int4)
    checks = {model["name"]: model["verification"] for model in found["models"]}
    assert checks["decoder"]["measured"] is True
    outputs = [case["outputs"][0] for case in checks["decoder"]["cases"]]
    assert all(output["problem"] is None for output in outputs)
    assert all(0.9 < output["difference"]["cosine"] < 1 for output in outputs)
    # A model that disagrees with the recording is reported, with its name.
    sidecar = folder / "dec.expected.safetensors"
    tensors = safetensors.torch.load_file(sidecar)
    with safetensors.safe_open(sidecar, "pt") as file:
        metadata = file.metadata()
    tensors["traced/output/0"] += 1
    safetensors.torch.save_file(tensors, sidecar, metadata)
    found = reported("package", *programs, "-o", folder / "wrong", *options, code=4)
    wrong = [d for d in found["diagnostics"] if d["severity"] == "error"]
    assert [d["notes"][-1] for d in wrong] == ["in `decoder`"]
    found = reported("package", *programs, "-o", folder / "unseen", *options, "--no-verify")
    assert not any("verification" in model for model in found["models"])


def test_a_package_is_planned_split_listed_and_limited(parts):
    *_, folder = parts
    programs = (folder / "enc.pt2", folder / "dec.pt2", "--no-verify")
    out = folder / "package"
    options = ("--shard-size", "10kB", "--manifest", "--max-memory", "1GB")
    plan = reported("package", *programs, "-o", out, *options, "--plan")["plan"]
    assert not out.exists()
    reported("package", *programs, "-o", out, *options)
    sizes = {path.name: path.stat().st_size for path in out.iterdir()}
    assert {Path(f["path"]).name: f["bytes"] for f in plan["files"]}.items() <= sizes.items()
    assert sum(name.endswith(".data") for name in sizes) == 3
    for name in ("enc", "dec"):
        lines = (out / f"{name}.onnx.sha256").read_text().splitlines()
        listed = dict(reversed(line.split("  ")) for line in lines)
        assert {file for file, *_ in locations(out / f"{name}.onnx").values()} < set(listed)
        for file, expected in listed.items():
            assert hashlib.sha256((out / file).read_bytes()).hexdigest() == expected
    before = sorted(folder.iterdir())
    found = reported("package", *programs, "-o", folder / "small", "--max-memory", "1MB", code=5)
    assert found["diagnostics"][0]["code"] == "OP611"
    found = reported(
        "package", *programs, "-o", folder / "small", "--dtype", "f16", "--keep-dtype", "x", code=2
    )
    assert found["diagnostics"][0]["code"] == "OP663"
    # `table` is in one of the two programs only.
    reported(
        "package", *programs, "-o", folder / "f16", "--dtype", "f16", "--keep-dtype", "table.*"
    )
    shutil.rmtree(folder / "f16")
    assert sorted(folder.iterdir()) == before


def test_each_program_takes_its_own_from_common_weights(parts):
    decoder, ids, memory, folder = parts
    programs = (folder / "enc.pt2", folder / "dec.pt2", "--no-verify")
    own = {"words.weight": torch.ones(64, 48), "own.weight": torch.zeros(48, 48)}
    torch.save({f"part.{name}": tensor for name, tensor in own.items()}, folder / "w.pt")
    rules = folder / "rules.toml"
    rules.write_text('[prefix]\n"words." = "part.words."\n"own." = "part.own."\n')
    given = ("--weights", folder / "w.pt", "--weights-map", rules)
    reported("package", *programs, "-o", folder / "new", *given)
    # The encoder has none of these rules and tensors, and keeps its saved weights.
    found = run(folder / "new/enc.onnx", {"ids": ids.numpy()})
    np.testing.assert_allclose(found, memory.numpy(), rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        decoder.words.weight.fill_(1)
        decoder.own.weight.zero_()
        expected = decoder(ids, memory).numpy()
    feeds = {"ids": ids.numpy(), "memory": memory.numpy()}
    np.testing.assert_allclose(run(folder / "new/dec.onnx", feeds), expected, rtol=1e-4, atol=1e-5)
    found = reported(
        "package", *programs, "-o", folder / "none", "--weights", folder / "w.pt", code=5
    )
    assert [d["code"] for d in found["diagnostics"]] == ["OP632"]
    rules.write_text(rules.read_text() + '"misspelt." = "part."\n')
    found = reported("package", *programs, "-o", folder / "none", *given, code=5)
    assert [d["code"] for d in found["diagnostics"]] == ["OP637"]


@pytest.mark.skipif(sys.platform != "linux", reason="folders are not locked everywhere")
def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path):
    torch.manual_seed(0)
    wide = nn.Sequential(nn.Linear(2048, 2048), nn.Linear(2048, 2048))
    save(export(wide, (torch.zeros(1, 2048),)), tmp_path / "wide.pt2")
    arguments = ("package", tmp_path / "wide.pt2", "--no-verify", "-o", tmp_path / "out")
    for _ in range(20):
        run = subprocess.Popen([binary(), *map(str, arguments), "--quantize", "int8", "--opset=21"])
        left = []
        while run.poll() is None and not left:
            left = list(tmp_path.glob(".onnxport-package-*.tmp"))
            time.sleep(0.001)
        run.send_signal(signal.SIGKILL)
        run.wait()
        if any(path.exists() for path in left):
            break
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    else:
        pytest.fail("no run could be killed while it wrote")
    assert not (tmp_path / "out").exists()
    onnxport(*arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "wide.pt2"]
