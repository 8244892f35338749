"""Patches: their registry, how they are chosen, and where they are shown."""

import sys
import threading
import types
from pathlib import Path

import pytest
import torch
from torch import nn

import onnxport
from onnxport._export.patches import install, registry


def by_value(x):
    """Branch on a value, which PyTorch cannot trace."""
    return x + 1 if bool((x > 0).all()) else x - 1


class Library(nn.Module):
    def forward(self, x):
        return sys.modules["some_library"].by_value(x) * 2


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("some_library")
    module.by_value = by_value
    monkeypatch.setitem(sys.modules, "some_library", module)
    monkeypatch.setattr(registry, "_OTHERS", {})
    return module


@pytest.fixture
def patch(library):
    patch = onnxport.Patch("by-value", reason="`by_value` branches on a value", version=3)

    @patch.replaces("some_library.by_value")
    def replacement(original, x):
        if x.dim() != 1:
            return NotImplemented
        return torch.where((x > 0).all(), x + 1, x - 1)

    return onnxport.register_patch(patch)


def test_a_registered_patch_is_used_when_the_plain_capture_fails(patch, tmp_path):
    report = tmp_path / "report.md"
    program = onnxport.export(
        Library().eval(), (torch.ones(3),), dynamic_shapes=({0: "n"},), report=report
    )
    assert program.capture.strategy == "patched"
    (used,) = program.patches
    assert (used.name, used.version, used.functions) == ("by-value", 3, ("some_library.by_value",))
    assert "patch `by-value` (version 3) replaced `some_library.by_value`: " in report.read_text()
    for x in (torch.ones(4), -torch.ones(2), torch.tensor([1.0, -1.0])):
        assert torch.equal(program(x)[0], Library()(x))


def test_no_patch_is_used_for_a_module_that_needs_none(patch):
    program = onnxport.export(nn.ReLU().eval(), (torch.ones(3),))
    assert program.capture.strategy == "non-strict"
    assert program.patches == ()


def test_none_forbids_patches(patch):
    with pytest.warns(UserWarning, match="OP211"):
        program = onnxport.export(Library().eval(), (torch.ones(3),), patches="none")
    assert [one.strategy for one in program.capture.attempts] == ["non-strict", "strict", "draft"]


def test_chosen_patches_come_first(patch):
    program = onnxport.export(Library().eval(), (torch.ones(3),), patches=["by-value"])
    assert [one.strategy for one in program.capture.attempts] == ["patched"]


def test_calls_that_a_patch_declines_go_to_the_original(patch, library):
    x = torch.ones(2, 2)
    with install.installed([patch]) as uses:
        assert torch.equal(library.by_value(x), x + 1)
        assert uses.summary() == ()
        library.by_value(x[0])
    assert [one.name for one in uses.summary()] == ["by-value"]


def test_an_exception_of_a_replacement_is_that_of_the_attempt(library):
    patch = onnxport.Patch("broken", reason="a test")

    @patch.replaces("some_library.by_value")
    def replacement(original, x):
        raise NotImplementedError("not for this input")

    onnxport.register_patch(patch)
    with pytest.warns(UserWarning, match="OP211"):
        program = onnxport.export(Library().eval(), (torch.ones(3),))
    attempt = program.capture.attempts[2]
    assert attempt.reason == "NotImplementedError: not for this input"
    assert [one.name for one in attempt.patches] == ["broken"]


def test_every_reference_is_replaced_and_put_back(patch, library, monkeypatch):
    other = types.ModuleType("some_user")
    other.imported = by_value
    monkeypatch.setitem(sys.modules, "some_user", other)
    original = library.by_value
    with install.installed([patch]):
        assert other.imported is library.by_value is not original
        assert other.imported.__name__ == "by_value"
    assert other.imported is library.by_value is original


def test_methods_are_replaced_and_put_back():
    patch = onnxport.Patch("own", reason="a test")
    patch.replaces("torch.nn.ReLU.forward")(lambda original, self, x: original(self, x) + 1)
    inherited = onnxport.Patch("inherited", reason="a test")
    inherited.replaces("torch.nn.LSTM.eval")(lambda original, self: original(self))
    own, before = nn.ReLU.forward, dict(vars(nn.LSTM))
    with install.installed([patch, inherited]):
        assert torch.equal(nn.ReLU()(torch.zeros(1)), torch.ones(1))
    assert nn.ReLU.forward is own
    assert dict(vars(nn.LSTM)) == before


def test_other_threads_call_the_original(patch, library):
    seen = []
    with install.installed([patch]) as uses:
        thread = threading.Thread(target=lambda: seen.append(library.by_value(torch.ones(2))))
        thread.start()
        thread.join()
    assert torch.equal(seen[0], torch.full((2,), 2.0))
    assert uses.summary() == ()


def test_libraries_that_are_not_loaded_stay_so(patch, monkeypatch):
    monkeypatch.delitem(sys.modules, "some_library")
    with install.installed([patch]):
        assert "some_library" not in sys.modules


@pytest.mark.parametrize("choice", ["all", "by-value", 3])
def test_choices_of_another_form_are_refused(choice):
    with pytest.raises(onnxport.UsageError, match="is not a list of names"):
        onnxport.export(nn.ReLU().eval(), (torch.ones(3),), patches=choice)


def test_unknown_names_are_refused():
    with pytest.raises(onnxport.UsageError, match="there is no patch 'casual-mask'") as caught:
        onnxport.export(nn.ReLU().eval(), (torch.ones(3),), patches=["casual-mask"])
    assert "causal-mask" in caught.value.diagnostics[0].help


def test_patches_that_cannot_be_registered_are_refused(library):
    with pytest.raises(onnxport.UsageError, match="replaces nothing"):
        onnxport.register_patch(onnxport.Patch("empty", reason="a test"))
    own = onnxport.Patch("causal-mask", reason="a test")
    own.replaces("some_library.by_value")(by_value)
    with pytest.raises(onnxport.UsageError, match="one of onnxport's own"):
        onnxport.register_patch(own)
    with pytest.raises(onnxport.UsageError, match="needs a name and a reason"):
        onnxport.Patch("silent", reason="")
    with pytest.raises(onnxport.UsageError, match="dotted paths"):
        onnxport.Patch("pathless", reason="a test").replaces("function")
    with pytest.raises(onnxport.UsageError, match=r"a int is not an `onnxport\.Patch`"):
        onnxport.register_patch(3)


def test_the_documentation_lists_every_patch():
    text = (Path(__file__).parents[4] / "docs" / "patches.md").read_text(encoding="utf-8")
    table = text.split("| name | version | the original |\n|---|---|---|\n")[1].split("\n\n")[0]
    own = registry._own().values()
    expected = [f"| `{one.name}` | {one.version} | {one.reason} |" for one in own]
    assert table.splitlines() == expected
