"""Several models in one folder that share one data file."""

from __future__ import annotations

import shutil

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.export import export, save

from tests.weights.test_sources import onnxport, run


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
