"""Lines of code for conditions on plain sizes, which PyTorch does not save."""

from __future__ import annotations

import inspect
import json

import pytest
import torch
from torch import nn
from torch.export import Dim, export

import onnxport

INPUTS = torch.rand(6, 5), torch.rand(3)
SHAPES = ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO})


def factor(n):
    return 2 if n <= 8 else 3


class Branches(nn.Module):
    """Compares plain sizes: in a helper, and by itself."""

    def forward(self, x, y):
        x = x * factor(x.shape[0])
        if x.shape[1] * x.shape[0] > y.shape[0] * 2:
            x = x + 1
        return x, y


def numbered(function, text):
    source, first = inspect.getsourcelines(function)
    return next(first + index for index, line in enumerate(source) if text in line)


BOUND = numbered(factor, "<= 8")
PRODUCT = numbered(Branches.forward, " > ")


def only_strict(*args, strict=False, **kwargs):
    if not strict:
        raise NotImplementedError
    return export(*args, strict=True, **kwargs)


@pytest.mark.parametrize("strategy", ["non-strict", "strict"])
def test_an_export_knows_them(strategy, monkeypatch):
    if strategy == "strict":
        monkeypatch.setattr(torch.export, "export", only_strict)
    with pytest.warns(UserWarning, match="OP310"):
        made = onnxport.export(Branches().eval(), INPUTS, dynamic_shapes=SHAPES)
    bounded = [one for one in made.diagnostics if one.code == "OP310" and "to 8" in str(one)]
    assert [(one.line, one.source) for one in bounded] == [(BOUND, "return 2 if n <= 8 else 3")]
    (condition,) = made.sizes.conditions
    assert condition.line.endswith(f"test_guard_lines.py:{PRODUCT}")


def test_an_archive_has_them(tmp_path):
    onnxport.save(export(Branches(), INPUTS, dynamic_shapes=SHAPES), tmp_path / "m.pt2")
    sizes = onnxport.inspect(tmp_path / "m.pt2")["program"]["sizes"]
    (condition,) = sizes["conditions"]
    assert condition["line"].endswith(f"test_guard_lines.py:{PRODUCT}")


def test_an_archive_of_a_project_names_its_files_from_its_root(tmp_path):
    program = export(Branches(), INPUTS, dynamic_shapes=SHAPES)
    root = __file__.rpartition("/tests/")[0]
    onnxport.save(program, tmp_path / "m.pt2", root=root)
    extra = {"onnxport.guards.json": ""}
    torch.export.load(tmp_path / "m.pt2", extra_files=extra)
    traces = json.loads(extra["onnxport.guards.json"])
    assert traces
    assert all('File "tests/python/package/' in trace for trace in traces.values())
    assert not any('File "/' in trace for trace in traces.values())
