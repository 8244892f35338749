"""The replacements of transformers' own exporters, if nothing else captures a model."""

from __future__ import annotations

import sys

import pytest
import torch
from transformers.models.qwen2_vl import modeling_qwen2_vl

import onnxport
from onnxport._export import capture
from onnxport._export.patches import borrowed, registry
from tests.python.package.patches import equal
from tests.python.package.patches.test_packed_images import images, qwen2

ATTENTION = f"{modeling_qwen2_vl.__name__}.VisionAttention.forward"


@pytest.fixture
def inexact(monkeypatch):
    """Leave the attention of encoders to transformers."""
    own = tuple(name for name in registry._OWN if name != "packed_images")
    monkeypatch.setattr(registry, "_OWN", own)


def test_they_come_before_draft_export_with_a_warning(inexact):
    tower = qwen2()
    given = ({0: "patches"}, None)
    with pytest.warns(UserWarning, match=f"OP217.*`{ATTENTION}`"):
        program = onnxport.export(tower, images((1, 4, 4), (1, 4, 4)), dynamic_shapes=given)
    assert program.capture.strategy == "transformers"
    assert [one.name for one in program.patches] == ["transformers"]
    call = images((1, 4, 8), (1, 8, 4))
    with torch.no_grad():
        equal(list(program(*call)), list(tower(*call).values()), rtol=1e-4, atol=1e-5)


def test_they_are_part_of_auto_only():
    assert "transformers" in capture.order("auto")
    assert "transformers" not in {*capture.order("none"), *capture.order(["one-hot"])}


def test_other_models_have_none():
    assert borrowed.of(torch.nn.Linear(3, 3), ()) is None


def test_an_exact_patch_takes_their_place():
    assert ATTENTION in borrowed.of(qwen2(), ()).functions
    assert ATTENTION not in borrowed.of(qwen2(), registry.chosen("auto")).functions


def test_tensors_of_earlier_calls_are_no_constants():
    model = qwen2()
    borrowed.of(model, ())
    model.cached_sequence_length = torch.ones(3)
    with borrowed.stateless(model):
        assert model.cached_sequence_length is None
    assert model.cached_sequence_length is not None


def test_a_release_without_them_has_none(monkeypatch):
    monkeypatch.setitem(sys.modules, borrowed._EXPORTER, None)
    assert borrowed.of(qwen2(), ()) is None
