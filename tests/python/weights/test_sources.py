"""Weights from files, models that wait for weights, models that point at them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import export, save
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from tests.python.onnx_runtime import binary, library, reported


class Small(nn.Module):
    """Tied weights, a buffer that is not saved, and layouts that a view of a storage has."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(48, 48)
        self.second = nn.Linear(48, 48, bias=False)
        self.second.weight = self.first.weight
        self.wide = nn.Parameter(torch.randn(96, 48).t())
        self.register_buffer("scale", torch.rand(48))
        self.register_buffer("shift", torch.rand(48), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x)) @ self.wide[:, ::2] * self.scale + self.shift


class Bert(nn.Module):
    """One tensor in, one tensor out."""

    def __init__(self) -> None:
        super().__init__()
        config = BertConfig(
            vocab_size=64,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=32,
        )
        self.bert = BertModel(config)

    def forward(self, ids: Tensor) -> Tensor:
        return self.bert(ids).last_hidden_state


class Gpt(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.gpt = GPT2LMHeadModel(
            GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
        )

    def forward(self, ids: Tensor) -> Tensor:
        return self.gpt(input_ids=ids, use_cache=False).logits


IDS = {"ids": (1, 9)}
MODULES = {"small": (Small, {"x": (3, 48)}), "bert": (Bert, IDS), "gpt": (Gpt, IDS)}


def sample(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape) if len(shape) == 2 and shape[0] == 3 else torch.randint(0, 64, shape)


def onnxport(*arguments: object, code: int = 0) -> str:
    """Run the binary; return its report."""
    done = subprocess.run(
        [binary(), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def run(model: Path, feeds: dict[str, np.ndarray]) -> np.ndarray:
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def every_tensor(module: nn.Module) -> dict[str, Tensor]:
    """The state dictionary with the buffers that it leaves out."""
    return dict(module.named_buffers(remove_duplicate=False)) | dict(module.state_dict())


@pytest.fixture(params=MODULES)
def case(request, tmp_path):
    """A module, its inputs, its program, and its program without weights."""
    make, shapes = MODULES[request.param]
    torch.manual_seed(0)
    module = make().eval()
    inputs = {name: sample(shape) for name, shape in shapes.items()}
    save(export(module, tuple(inputs.values())), tmp_path / "whole.pt2")
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = make().eval()
        fakes = tuple(torch.empty_like(x) for x in inputs.values())
    save(export(fake, fakes), tmp_path / "fake.pt2")
    feeds = {name: x.numpy() for name, x in inputs.items()}
    return module, feeds, tmp_path


def test_a_program_of_fake_tensors_takes_its_weights_from_files(case):
    module, feeds, folder = case
    tensors = every_tensor(module)
    torch.save(tensors, folder / "w.pt")
    save_file({k: v.clone().contiguous() for k, v in tensors.items()}, folder / "w.safetensors")
    # Weights that are given by name stay as they are.
    own = ("--weights", folder / "whole.pt2")
    onnxport("convert", folder / "whole.pt2", "-o", folder / "whole.onnx", *own, "--no-verify")
    expected = run(folder / "whole.onnx", feeds)
    with torch.no_grad():
        reference = module(*map(torch.from_numpy, feeds.values()))
    np.testing.assert_allclose(expected, reference.numpy(), rtol=1e-3, atol=1e-4)
    for name in ("w.pt", "w.safetensors", "whole.pt2"):
        out = folder / f"{name}.onnx"
        onnxport(
            "convert", folder / "fake.pt2", "-o", out, "--weights", folder / name, "--no-verify"
        )
        np.testing.assert_array_equal(run(out, feeds), expected)


def test_without_weights_nothing_is_written(case):
    _, _, folder = case
    report = onnxport("convert", folder / "fake.pt2", "-o", folder / "m.onnx", code=5)
    assert "OP630" in report
    assert not (folder / "m.onnx").exists()


@pytest.mark.parametrize("mode", ["inline", "external"])
def test_binding_gives_the_bytes_of_a_direct_conversion(case, mode):
    module, _, folder = case
    torch.save(every_tensor(module), folder / "w.pt")
    where = ("--external-data", mode)
    for name in ("direct", "bound"):
        (folder / name).mkdir()
    program = folder / "fake.pt2"
    weights = ("--weights", folder / "w.pt")
    onnxport("convert", program, "-o", folder / "direct/m.onnx", *weights, *where, "--no-verify")
    waiting = folder / "m.onnx"
    onnxport("convert", program, "-o", waiting, "--weightless", *where)
    with pytest.raises(Exception, match="onnxport-weights-bind"):
        ort.InferenceSession(waiting)
    onnxport(
        "weights", "bind", waiting, "--from", folder / "w.pt", "-o", folder / "bound/m.onnx", *where
    )
    direct = {path.name: path.read_bytes() for path in (folder / "direct").iterdir()}
    bound = {path.name: path.read_bytes() for path in (folder / "bound").iterdir()}
    assert direct == bound


@pytest.mark.parametrize("source", ["whole.pt2", "w.pt", "w.safetensors"])
def test_a_model_that_points_at_its_weights_computes_the_same(case, source):
    module, feeds, folder = case
    tensors = every_tensor(module)
    torch.save(tensors, folder / "w.pt")
    save_file({k: v.clone().contiguous() for k, v in tensors.items()}, folder / "w.safetensors")
    given = ("--weights", folder / source, "--no-verify", "--external-data")
    program, inline, out = folder / "whole.pt2", folder / "i.onnx", folder / "r.onnx"
    onnxport("convert", program, "-o", inline, *given, "inline")
    report = onnxport("convert", program, "-o", out, *given, "reference")
    assert "OP642" in report
    np.testing.assert_array_equal(run(out, feeds), run(inline, feeds))
    assert out.stat().st_size < inline.stat().st_size
    (folder / "elsewhere").mkdir()
    out = folder / "elsewhere/r.onnx"
    report = onnxport("convert", program, "-o", out, *given, "reference", code=5)
    assert "OP640" in report
    assert not out.exists()


def test_a_checkpoint_that_holds_one_of_two_tied_tensors(tmp_path):
    torch.manual_seed(0)
    module, x = Small().eval(), torch.randn(3, 48)
    save(export(module, (x,)), tmp_path / "p.pt2")
    other = Small()
    tensors = every_tensor(other)
    del tensors["second.weight"]
    torch.save({"step": 7, "model": tensors}, tmp_path / "w.pt")
    report = onnxport(
        "convert",
        tmp_path / "p.pt2",
        "-o",
        tmp_path / "m.onnx",
        "--weights",
        tmp_path / "w.pt",
        code=5,
    )
    assert "--weights-key model" in report
    arguments = ("--weights", tmp_path / "w.pt", "--weights-key", "model", "--no-verify")
    onnxport("convert", tmp_path / "p.pt2", "-o", tmp_path / "m.onnx", *arguments)
    with torch.no_grad():
        expected = other(x).numpy()
    np.testing.assert_allclose(
        run(tmp_path / "m.onnx", {"x": x.numpy()}), expected, rtol=1e-4, atol=1e-5
    )


def test_what_is_no_data_is_refused_by_name(tmp_path):
    module, x = Small(), torch.randn(3, 48)
    save(export(module, (x,)), tmp_path / "p.pt2")
    torch.save(module, tmp_path / "module.pt")
    torch.save(module.state_dict(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    for name, parts in (
        ("module.pt", ("OP107", "Small")),
        ("old.pt", ("OP631", "torch.save(torch.load(")),
    ):
        arguments = ("-o", tmp_path / "m.onnx", "--weights", tmp_path / name)
        report = onnxport("convert", tmp_path / "p.pt2", *arguments, code=5)
        assert all(part in report for part in parts), report


def test_a_program_on_the_meta_device(tmp_path):
    torch.manual_seed(0)
    module, x = Small().eval(), torch.randn(3, 48)
    with torch.device("meta"):
        meta, fake = Small().eval(), torch.randn(3, 48)
    save(export(meta, (fake,)), tmp_path / "p.pt2")
    torch.save(every_tensor(module), tmp_path / "w.pt")
    arguments = ("--weights", tmp_path / "w.pt", "--no-verify")
    onnxport("convert", tmp_path / "p.pt2", "-o", tmp_path / "m.onnx", *arguments)
    with torch.no_grad():
        expected = module(x).numpy()
    np.testing.assert_allclose(
        run(tmp_path / "m.onnx", {"x": x.numpy()}), expected, rtol=1e-4, atol=1e-5
    )


def test_a_program_of_fake_tensors_is_run_with_inputs_that_are_made_up(case):
    module, _, folder = case
    torch.save(every_tensor(module), folder / "w.pt")
    arguments = (folder / "fake.pt2", "-o", folder / "m.onnx", "--weights", folder / "w.pt")
    found = reported("convert", *arguments, "--ort-library", library())["verification"]
    assert (found["made"], found["values_compared"]) == (True, False)
    assert all(case["error"] is None and case["outputs"] for case in found["cases"])


def test_inputs_that_are_made_up_may_not_fit(tmp_path):
    # There is no row 1, which says nothing about the model.
    with FakeTensorMode():
        program = export(nn.Embedding(1, 8), (torch.zeros(3, dtype=torch.int64),))
    save(program, tmp_path / "p.pt2")
    torch.save({"weight": torch.ones(1, 8)}, tmp_path / "w.pt")
    arguments = ("-o", tmp_path / "m.onnx", "--weights", tmp_path / "w.pt")
    found = reported("convert", tmp_path / "p.pt2", *arguments, "--ort-library", library())
    assert found["verification"]["cases"][0]["error"]
    assert [d["severity"] for d in found["diagnostics"] if d["code"] == "OP701"] == ["warning"]
