"""Checks of sizes in the model itself: `--emit-guards`."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export

import onnxport
from tests.python.onnx_runtime import library, reported

HOLDS = "onnxport.sizes_hold"


class Padded(nn.Module):
    """Computes something else where the size, padded to a multiple of eight, is more than eight."""

    def forward(self, x):
        y = F.pad(x, (0, (-x.shape[0]) % 8))
        return y * 3 if y.shape[0] <= 8 else y * 2


class Related(nn.Module):
    """Branches on two sizes: an order, a division, a remainder and a maximum."""

    def forward(self, x, y):
        n, m = x.shape[0], y.shape[0]
        total = x.sum() + y.sum()
        total = total * 2 if n <= m else total * 3
        total = total + 1 if n // 3 <= 3 else total + 2
        total = total - 1 if m % 4 == 2 else total
        return total * 5 if torch.sym_max(n, 2 * m) < 30 else total


class Equal(nn.Module):
    """Needs equal sizes."""

    def forward(self, x, y):
        return x + y


class Counted(nn.Module):
    """Keeps a state, and returns two results."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return (x * 2 if x.shape[0] <= 8 else x * 3), self.count + 0


class Chosen(nn.Module):
    """Asserts something about a size that depends on values."""

    def forward(self, x):
        chosen = x.nonzero()
        torch._check(chosen.shape[0] <= 100)
        return chosen * (2 if x.shape[0] <= 8 else 3)


def program(module, *inputs):
    return export(module.eval(), inputs, dynamic_shapes=tuple({0: Dim.AUTO} for _ in inputs))


def converted(exported, path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onnxport.export(exported, f=path, options={"emit_guards": True, **options})


def holds(session, *inputs):
    """Return whether the model takes these inputs, by its own check; check that of its type."""
    names = [port.name for port in session.get_inputs()]
    feeds = dict(zip(names, (x.numpy() for x in inputs), strict=True))
    (found,) = session.run([HOLDS], feeds)
    assert (found.dtype, found.shape) == (np.bool_, ())
    return bool(found)


def accepts(exported, *inputs):
    """Return whether PyTorch runs the program, with its guards, on these inputs."""
    try:
        exported.module()(*inputs)
    except (AssertionError, RuntimeError):
        return False
    return True


def test_the_output_tells_where_the_model_and_the_module_differ(tmp_path):
    exported = program(Padded(), torch.rand(6))
    converted(exported, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    same = {}
    for size in (2, 3, 7, 8, 9, 16, 17, 40):
        x = torch.rand(size)
        found, _ = session.run(None, {"x": x.numpy()})
        expected = Padded()(x).numpy()
        same[size] = found.shape == expected.shape and np.allclose(found, expected)
        assert holds(session, x) == accepts(exported, x) == (size <= 8)
    assert same[8]
    assert not same[9]


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("target", ["onnxruntime", "onnx"])
def test_relations_agree_with_the_program(tmp_path, opset, target):
    exported = program(Related(), torch.rand(5), torch.rand(6))
    converted(exported, tmp_path / "m.onnx", opset=opset, target=target)
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    sizes = list(itertools.product([2, 3, 5, 9, 11, 12, 14], [2, 6, 9, 10, 14, 18]))
    found = {size: holds(session, *map(torch.rand, size)) for size in sizes}
    expected = {size: accepts(exported, *map(torch.rand, size)) for size in sizes}
    assert found == expected
    assert set(found.values()) == {True, False}
    # Where it holds, the model is the module.
    for size, taken in found.items():
        if taken:
            x, y = map(torch.rand, size)
            (result, _) = session.run(None, {"x": x.numpy(), "y": y.numpy()})
            np.testing.assert_allclose(result, Related()(x, y).numpy(), rtol=1e-5)


def test_axes_of_one_size_are_compared(tmp_path):
    exported = program(Equal(), torch.rand(5), torch.rand(5))
    converted(exported, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert holds(session, torch.rand(4), torch.rand(4))
    assert not holds(session, torch.rand(4), torch.rand(1))


def test_the_model_is_verified_and_its_results_stay_in_order(tmp_path):
    exported = program(Counted(), torch.rand(5))
    onnxport.save(exported, tmp_path / "m.pt2")
    out = tmp_path / "m.onnx"
    options = ("--emit-guards", "--ort-library", library())
    found = reported("convert", tmp_path / "m.pt2", "-o", out, *options)
    assert found["verified"] is True
    assert [port["name"] for port in found["outputs"]][-1] == HOLDS
    assert [state["name"] for state in found["states"]] == ["count"]
    found = reported("verify", out, "--against", tmp_path / "m.pt2", "--ort-library", library())
    assert found["verified"] is True


def test_a_call_in_python_returns_what_the_module_does(tmp_path):
    made = converted(program(Padded(), torch.rand(6)), tmp_path / "m.onnx")
    x = torch.rand(8)
    (result,) = made(x)
    torch.testing.assert_close(result, x * 3)
    with pytest.raises(onnxport.UsageError, match="sizes"):
        made(torch.rand(9))


def test_conditions_on_values_are_reported(tmp_path):
    exported = export(Chosen(), (torch.rand(6),), dynamic_shapes=({0: Dim.AUTO},))
    with pytest.warns(Warning, match="does not check some conditions") as caught:
        onnxport.export(exported, f=tmp_path / "m.onnx", options={"emit_guards": True})
    assert any("<= 100" in str(one.message) for one in caught)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert holds(session, torch.rand(8))
    assert not holds(session, torch.rand(9))


def test_a_model_for_all_sizes_has_no_output(tmp_path):
    exported = program(nn.ReLU(), torch.rand(6))
    converted(exported, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert len(session.get_outputs()) == 1


def test_an_output_of_the_program_keeps_its_name(tmp_path):
    exported = program(Padded(), torch.rand(6))
    made = converted(exported, tmp_path / "m.onnx", output_names=HOLDS)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert [port.name for port in session.get_outputs()] == [HOLDS, f"{HOLDS}_1"]
    (result,) = made(torch.ones(4))
    assert result.shape == (8,)
