"""The sizes that a model takes: stated, warned of and required."""

import json

import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import onnxport


class Padded(nn.Module):
    """Computes something else where the size, padded to a multiple of eight, is more than eight."""

    def forward(self, x):
        y = F.pad(x, (0, (-x.shape[0]) % 8))
        return y * 3 if y.shape[0] <= 8 else y * 2


class Free(nn.Module):
    def forward(self, x):
        return x @ x.transpose(0, 1)


def exported(module, dims):
    return torch.export.export(
        module.eval(),
        (torch.rand(6, 3)[:, 0] if dims == 1 else torch.rand(6, 3),),
        dynamic_shapes=({0: Dim.AUTO},),
    )


def test_a_branch_on_a_size_is_a_warning_with_its_line():
    with pytest.warns(Warning, match="`x:0` .* is restricted: 2 to 8") as caught:
        made = onnxport.export(exported(Padded(), 1))
    del caught
    (size,) = made.sizes.dims
    assert (size.min, size.max, size.step, size.axes) == (2, 8, 1, ("x:0",))
    (found,) = [one for one in made.diagnostics if one.code == "OP310"]
    assert "test_sizes.py" in str(found.__dict__)


class Speech(nn.Module):
    """Repeats each token as often as it says, and branches on the number of frames."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 8)

    def forward(self, durations):
        frames = torch.repeat_interleave(torch.arange(durations.shape[0]), durations)
        spoken = self.embed(frames)
        return spoken if frames.shape[0] == 12 else -spoken


def test_a_size_that_draft_export_took_from_the_example_is_a_warning_with_its_line():
    example = (torch.full((6,), 2),)
    program = torch.export.draft_export(Speech().eval(), example, dynamic_shapes=({0: Dim.AUTO},))
    with pytest.warns(
        Warning, match="the number `u0`, which depends on values, is restricted: only 12"
    ):
        made = onnxport.export(program)
    (found,) = [one for one in made.diagnostics if "only 12" in str(one)]
    assert "test_sizes.py" in str(found)
    assert "the program requires Eq(u0, 12)" in str(found)
    assert (12, 12) in [(size.min, size.max) for size in made.sizes.dims]


def test_the_model_states_its_sizes(tmp_path):
    path = tmp_path / "m.onnx"
    with pytest.warns(Warning, match="restricted"):
        onnxport.export(exported(Padded(), 1), f=path)
    session = onnxruntime.InferenceSession(path)
    stated = json.loads(session.get_modelmeta().custom_metadata_map["onnxport.sizes"])
    assert stated["dims"][0]["max"] == 8
    assert onnxport.inspect(path)["model"]["sizes"] == stated


def test_an_axis_that_must_be_dynamic():
    with pytest.raises(onnxport.Error, match=r"OP311.*2 to 8"):
        onnxport.export(exported(Padded(), 1), options={"require_dynamic": "x:0"})
    with pytest.raises(onnxport.Error, match=r"OP311.*always 3"):
        onnxport.export(exported(Free(), 2), options={"require_dynamic": "x:1"})


def test_a_module_for_every_size_is_not_warned_of(recwarn):
    made = onnxport.export(exported(Free(), 2), options={"require_dynamic": "x:0"})
    assert not [one for one in made.diagnostics if one.code == "OP310"]
    assert not [one for one in recwarn if "OP310" in str(one.message)]
    assert made.sizes.dims == ()


class Number(nn.Module):
    def forward(self, x, k):
        return x * k if k == 3 else x


def test_a_number_that_a_branch_fixes_is_stated_and_warned_of():
    shapes = ({0: Dim.AUTO}, Dim.AUTO)
    with pytest.warns(Warning, match="the input `k`, a number, is restricted: only 3"):
        made = onnxport.export(Number(), (torch.ones(4), 3), dynamic_shapes=shapes)
    assert [(one.axes, one.min, one.max) for one in made.sizes.dims if one.name == "k"] == [
        (("k",), 3, 3)
    ]


class Shifted(nn.Module):
    """Has a size that PyTorch states wrongly where there are no rows: one less than none."""

    def forward(self, x):
        x[:1] = 1
        return x * 2 if x.shape[0] <= 8 else x[1:]


def test_an_axis_of_nothing_is_not_stated():
    with pytest.warns(Warning, match="`x:0` .* is restricted: 1 to 8"):
        made = onnxport.export(Shifted(), (torch.ones(4),), dynamic_shapes=({0: Dim.AUTO},))
    assert [(one.min, one.max) for one in made.sizes.dims] == [(1, 8)]


class Rows(nn.Module):
    def forward(self, x, y):
        first, second = x[:2]
        return y * 2 if y.shape[0] <= 8 else first + second


def test_guards_of_strict_export_are_read():
    shapes, args = ({0: Dim.AUTO}, {0: Dim.AUTO}), (torch.ones(4, 3), torch.ones(5, 3))
    program = torch.export.export(Rows(), args, dynamic_shapes=shapes, strict=True)
    assert any("flat_args" in guard for guard in program._guards_code)
    with pytest.warns(Warning, match="`y:0` .* is restricted: 2 to 8"):
        made = onnxport.export(program)
    assert {one.axes: (one.min, one.max) for one in made.sizes.dims} == {
        ("x:0",): (2, None),
        ("y:0",): (2, 8),
    }


class FirstRows(nn.Module):
    def forward(self, x):
        first, second = x[:2]
        return first + second


def test_rows_of_an_axis_that_may_be_small_are_captured():
    made = onnxport.export(FirstRows(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim.AUTO},))
    assert made.capture.strategy == "non-strict"
    x = torch.rand(7, 3)
    torch.testing.assert_close(made(x), (x[0] + x[1],))
