"""A program in memory gives the files that its archive gives, byte for byte."""

import json
import zipfile

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import onnxport
from onnxport import _guards
from onnxport._export import serialize, shapes
from tests.python.models.registry import load_all

MODELS = load_all()


def written(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def said(program, path):
    try:
        return onnxport.export(program, (), path).diagnostics
    except onnxport.UnsupportedError as refused:
        return refused.diagnostics


def archived(program, path):
    names = shapes.names(program, shapes.Wanted((None,)))
    extra = {
        "onnxport.dims.json": json.dumps(names),
        "onnxport.guards.json": json.dumps(_guards.traces(program)),
    }
    torch.export.save(program, path, extra_files=extra)
    return path


def held(archive):
    with zipfile.ZipFile(archive) as file:
        name = next(name for name in file.namelist() if name.endswith("models/model.json"))
        return file.read(name)


@pytest.mark.parametrize("name", MODELS)
def test_a_model(name, tmp_path):
    program = MODELS[name].export(MODELS[name].recipe())
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    archive = archived(program, tmp_path / "m.pt2")
    assert serialize.to_json(program) == held(archive)
    ours, theirs = said(program, here / "m.onnx"), said(archive, there / "m.onnx")
    if name == "ensemble":
        # The package decomposes calls of `vmap`, which an archive keeps and no lowering takes.
        assert ours == ()
        assert {problem.code for problem in theirs} == {"OP301"}
        return
    assert ours == theirs
    assert written(here) == written(there)


@pytest.fixture
def program():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 400), torch.nn.BatchNorm1d(400)).eval()
    return torch.export.export(model, (torch.randn(2, 3),))


def test_the_program_is_what_the_archive_holds(program, tmp_path):
    assert held(archived(program, tmp_path / "m.pt2")) == serialize.to_json(program)


def test_tensors_are_described_where_they_are(program):
    parts = serialize.parts(program)
    assert set(parts.weights) == set(program.state_dict)
    for name, tensor in program.state_dict.items():
        buffer = parts.weights[name]
        assert buffer.address == tensor.untyped_storage().data_ptr()
        assert buffer.nbytes == tensor.untyped_storage().nbytes()
        assert (buffer.shape, buffer.strides) == (tuple(tensor.shape), tensor.stride())


def test_tensors_of_one_storage_say_so():
    base = torch.arange(12.0)
    storages = {}
    one, other = (serialize.buffer(view, storages) for view in (base[2:6], base.view(3, 4).t()))
    assert one.storage == other.storage
    assert one.address == other.address
    assert (one.offset, other.offset) == (2, 0)
    assert other.strides == (1, 4)
    assert serialize.buffer(base.clone(), storages).storage != one.storage


def test_pending_operations_are_done():
    tensor = torch.tensor([1 + 2j, 3 - 1j]).conj()
    buffer = serialize.buffer(tensor, {})
    kept, _ = buffer.owner
    values = torch.tensor([], dtype=torch.complex64).set_(kept, 0, (2,), (1,))
    assert values.tolist() == [1 - 2j, 3 + 1j]


def test_what_has_no_data_is_none():
    with FakeTensorMode():
        fake = torch.empty(3)
    assert serialize.buffer(fake, {}) is None
    assert serialize.buffer(torch.empty(3, device="meta"), {}) is None
    assert serialize.unreadable(fake) is None


class Subclass(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (torch.eye(2).to_sparse(), "its layout is sparse_coo"),
        (torch.eye(2).as_subclass(Subclass), "it is a Subclass"),
        (torch.quantize_per_tensor(torch.eye(2), 0.1, 0, torch.qint8), "it is quantised"),
        (torch.nn.UninitializedParameter(), "without a shape yet"),
        (3, "it is a int and no tensor"),
    ],
)
def test_what_cannot_be_read_is_refused(value, said):
    assert said in serialize.unreadable(value)


def test_a_refusal_names_the_tensor(program):
    program.state_dict["0.weight"] = torch.nn.Parameter(torch.eye(2).to_sparse())
    with pytest.raises(onnxport.UnsupportedError, match=r"OP212.*`0.weight` cannot be read"):
        serialize.parts(program)
