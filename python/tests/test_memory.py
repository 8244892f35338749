"""Programs and weights that never leave the memory of the process."""

import gc
import json
import threading
import weakref

import pytest
import safetensors.torch
import torch
from torch._export.serde import serialize

import onnxport

_native = pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")


class Tied(torch.nn.Module):
    """Shared, transposed, sliced and mutated tensors, and one without elements."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(40, 32)
        self.head = torch.nn.Linear(32, 40, bias=False)
        self.head.weight = self.embed.weight
        self.turned = torch.nn.Parameter(torch.randn(32, 32).t())
        whole = torch.randn(64, 32)
        self.register_buffer("part", whole[16:48:2])
        self.register_buffer("other", whole[8:24])
        self.register_buffer("count", torch.zeros(3), persistent=False)
        self.register_buffer("none", torch.zeros(0, 4))
        self.small = torch.nn.Parameter(torch.randn(7).to(torch.bfloat16))

    def forward(self, x):
        self.count.add_(1)
        y = self.embed(x) @ self.turned @ self.embed.weight[:32].t()
        y = (y + self.part.sum(0)).abs() + self.other.sum(0) + self.small.float().sum()
        return self.head(y), self.count.sum() + self.none.sum()


def exported():
    return torch.export.export(Tied().eval(), (torch.arange(6).reshape(2, 3),))


def tensor(value):
    storage = value.untyped_storage()
    return _native.Tensor(
        address=storage.data_ptr(),
        nbytes=storage.nbytes(),
        dtype=str(value.dtype).removeprefix("torch."),
        shape=value.shape,
        strides=value.stride(),
        offset=value.storage_offset(),
        storage=storage._cdata,
        owner=value,
    )


def parts(program):
    artifact = serialize.serialize(
        program,
        serialize_state_dict=False,
        serialize_constants=False,
        serialize_example_inputs=False,
    )
    return {
        "program": artifact.exported_program,
        "weights": {name: tensor(value.detach()) for name, value in program.state_dict.items()},
        "constants": {name: tensor(value.detach()) for name, value in program.constants.items()},
    }


UNVERIFIED = json.dumps({"verify": False})


def written(**said):
    return json.dumps(said)


@pytest.mark.parametrize("external", ["inline", "external"])
def test_memory_gives_the_bytes_of_an_archive(tmp_path, external):
    program = exported()
    torch.export.save(program, tmp_path / "m.pt2")
    for way in ["file", "memory"]:
        conversion = (
            _native.Conversion.open(tmp_path / "m.pt2")
            if way == "file"
            else _native.Conversion.from_parts(**parts(program))
        )
        (tmp_path / way).mkdir()
        conversion.run(UNVERIFIED).save(tmp_path / way / "m.onnx", written(external_data=external))
    there, here = (
        {f.name: f.read_bytes() for f in (tmp_path / d).iterdir()} for d in ["file", "memory"]
    )
    assert sorted(here) == sorted(there)
    for name, data in there.items():
        assert here[name] == data, name


def test_shared_storage_is_stored_once(tmp_path):
    model = _native.Conversion.from_parts(**parts(exported())).run(UNVERIFIED)
    said = json.loads(model.save(tmp_path / "m.onnx", written(plan="tensors")))
    rows = {row["name"]: row for row in said["weights"]["tensors"]}
    assert len(rows.keys() & {"embed.weight", "head.weight"}) == 1
    # The sums are computed when the model is written.
    sums = [rows[f"{name}.folded"] for name in ("part", "other")]
    assert sums[0]["shared"] == sums[1]["shared"] is not None


def test_a_model_outlives_its_module(tmp_path):
    module = Tied().eval()
    program = torch.export.export(module, (torch.arange(6).reshape(2, 3),))
    kept = weakref.ref(module.embed.weight)
    model = _native.Conversion.from_parts(**parts(program)).run(UNVERIFIED)
    before = model.to_bytes()
    del module, program
    gc.collect()
    model.save(tmp_path / "m.onnx", written(external_data="inline"))
    assert (tmp_path / "m.onnx").read_bytes() == before
    del model
    gc.collect()
    assert kept() is None, "somebody still holds the weights"


def test_what_lies_outside_of_its_storage_is_refused():
    given = parts(exported())
    weights = given["weights"]
    name = "embed.weight"
    value = torch.zeros(2, 2)
    storage = value.untyped_storage()
    weights[name] = _native.Tensor(
        address=storage.data_ptr(),
        nbytes=storage.nbytes(),
        dtype="float32",
        shape=(40, 32),
        strides=(32, 1),
        offset=0,
        storage=1,
        owner=value,
    )
    with pytest.raises(
        _native.Error, match="needs 5120 bytes of its storage, which has 16"
    ) as raised:
        _native.Conversion.from_parts(**given)
    assert raised.value.exit == 5
    del weights[name]
    with pytest.raises(
        _native.Error, match=r"the tensor `embed\.weight` of the program is missing"
    ):
        _native.Conversion.from_parts(**given)


def test_tensors_without_data_make_a_model_that_waits(tmp_path):
    given = parts(exported())
    given["weights"] = dict.fromkeys(given["weights"])
    conversion = _native.Conversion.from_parts(**given)
    with pytest.raises(_native.Error, match="weightless"):
        conversion.run(UNVERIFIED)
    model = conversion.run(written(verify=False, weightless=True))
    assert json.loads(model.save(tmp_path / "m.onnx"))["unbound"] > 0


def test_names_of_dimensions_cross(tmp_path):
    program = torch.export.export(
        Tied().eval(),
        (torch.arange(6).reshape(2, 3),),
        dynamic_shapes=({0: torch.export.Dim("n", max=64), 1: torch.export.Dim("m", max=64)},),
    )
    symbols = [str(s) for s in program.range_constraints]
    names = dict(zip(symbols, ["rows", "columns"], strict=True))
    text = _native.Conversion.from_parts(**parts(program), dims=names).run(UNVERIFIED).text()
    assert "i64[rows, columns]" in text


def test_two_threads_export_at_once():
    given = parts(exported())
    found = []

    def export():
        for _ in range(3):
            found.append(_native.Conversion.from_parts(**given).run(UNVERIFIED).to_bytes())

    threads = [threading.Thread(target=export) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1


def recording(folder, program, change=lambda values: values):
    """The bytes of a recording of `program`, its values changed."""
    path = onnxport.save(program, folder / "recorded.pt2")
    with safetensors.safe_open(path, framework="pt") as file:
        values = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    return safetensors.torch.save(change(values), metadata)


def test_a_model_is_held_against_recorded_calls(tmp_path):
    program = exported()
    given = {**parts(program), "recorded": recording(tmp_path, program)}
    model = _native.Conversion.from_parts(**given).run(json.dumps({"verify": True}))
    said = json.loads(model.save(tmp_path / "m.onnx", written()))
    assert [case["name"] for case in said["verification"]["cases"]] == ["traced"]


def test_a_model_that_departs_from_recorded_calls_is_not_written(tmp_path):
    def moved(values):
        return {key: v + 1 if "/output/0" in key else v for key, v in values.items()}

    program = exported()
    given = {**parts(program), "recorded": recording(tmp_path, program, moved)}
    model = _native.Conversion.from_parts(**given).run(json.dumps({"verify": True}))
    with pytest.raises(_native.Error) as refused:
        model.save(tmp_path / "m.onnx", written())
    assert "OP701" in str(refused.value)
    assert not list(tmp_path.glob("m.onnx*"))


def test_a_recording_that_is_none_is_refused():
    given = {**parts(exported()), "recorded": b"no recording"}
    with pytest.raises(_native.Error, match="OP704"):
        _native.Conversion.from_parts(**given)
