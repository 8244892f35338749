"""`onnxport.pieces`: which module is wrong, and how few conversions tell."""

import json
import warnings

import pytest
import torch
from torch import nn

import onnxport

pytest.importorskip("onnxruntime")


@torch.library.custom_op("onnxport_pieces::shift", mutates_args=())
def shift(x: torch.Tensor) -> torch.Tensor:
    return x + 1


shift.register_fake(torch.empty_like)


class Shift(nn.Module):
    def forward(self, x):
        return torch.ops.onnxport_pieces.shift(x)


class Hash(nn.Module):
    def forward(self, x):
        return torch.hash_tensor(x).float() + x


class Uncaught(nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting():
            raise RuntimeError("not for export")
        return x * 2


class Layer(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.inner = inner or nn.Tanh()

    def forward(self, x):
        return self.inner(self.linear(x))


class Deep(nn.Module):
    def __init__(self, count, bad):
        super().__init__()
        self.layers = nn.ModuleList(Layer(bad.get(number)) for number in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


def deep(count, **bad):
    torch.manual_seed(0)
    return Deep(count, {int(name[1:]): layer for name, layer in bad.items()}).eval()


def wrong(op, x):
    return op.Add(x, 1.5)


def paths(found):
    return [node.path for node in found.found]


X = torch.linspace(-1, 1, 8).reshape(2, 4)


def test_a_model_that_agrees_is_converted_once():
    found = onnxport.pieces(deep(3), X)
    assert found.ok
    assert found.conversions == 1
    assert found["layers.1"].verdict == "not looked at"
    assert paths(found) == []


def test_one_operator_without_a_lowering_is_found_among_hundreds_of_layers():
    found = onnxport.pieces(deep(300, _217=Hash()), X)
    assert paths(found) == ["layers.217.inner"]
    assert found.conversions == 3
    bad = found["layers.217.inner"]
    assert (bad.kind, bad.verdict) == ("Hash", "does not convert")
    assert [one.module for one in bad.diagnostics] == ["layers.217.inner"]
    assert found["layers.216"].verdict == "not looked at"
    assert "299 more" in str(found)


def test_one_wrong_lowering_is_found_among_hundreds_of_layers():
    table = {torch.ops.onnxport_pieces.shift.default: wrong}
    found = onnxport.pieces(deep(300, _41=Shift()), X, custom_translation_table=table)
    assert paths(found) == ["layers.41.inner"]
    assert found.conversions == 3
    assert found["layers.41"].max_abs_diff == pytest.approx(0.5)
    assert found["layers.40"].verdict == "agrees"


def test_one_layer_that_cannot_be_captured_is_found_by_halves():
    found = onnxport.pieces(deep(16, _5=Uncaught()), X)
    assert paths(found) == ["layers.5.inner"]
    assert found["layers.5.inner"].verdict == "is not captured"
    assert "not for export" in found["layers.5.inner"].reason
    # The model, four times two halves, the layers together, and the layer's two parts.
    assert found.conversions <= 13


def test_several_faults_are_found_together():
    found = onnxport.pieces(deep(12, _2=Hash(), _7=Hash(), _9=Hash()), X)
    assert paths(found) == ["layers.2.inner", "layers.7.inner", "layers.9.inner"]
    assert found.conversions == 3


class Calls(nn.Module):
    """Calls in all the ways that modules are called."""

    def __init__(self):
        super().__init__()
        self.shared = Layer()
        self.again = self.shared
        self.parts = Parts()
        self.scaled = Scaled()
        self.quiet = Quiet()
        self.unused = nn.Linear(2, 2)

    def forward(self, x, *, flag=True):
        x = self.shared(x) + self.again(x[:1])
        first, (second, none) = self.parts({"x": x, "n": 3}, None)
        assert none is None
        buffer = first.clone()
        assert self.quiet(buffer, by=2.0) is None
        return self.scaled(buffer, scale=second), self.scaled(x, scale=None)


class Parts(nn.Module):
    def forward(self, given, mask=None):
        return given["x"] * given["n"], (given["x"].sum(), mask)


class Scaled(nn.Module):
    def forward(self, x, *, scale):
        return x if scale is None else x * scale


class Quiet(nn.Module):
    def forward(self, x, by):
        x.mul_(by)


def test_modules_are_called_in_all_ways():
    found = onnxport.pieces(Calls().eval(), (X,), {"flag": False}, all=True)
    assert {node.verdict for node in found} == {"agrees", "not called"}
    assert found["unused"].verdict == "not called"
    assert (found["shared"].calls, found["scaled"].calls, found["quiet"].calls) == (2, 2, 1)
    assert found["again"].like == "shared"
    assert found.conversions == 3


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.quiet = Quiet()

    def forward(self, x):
        y = x * 1.0
        self.quiet(y, by=2.0)
        return torch.ops.onnxport_pieces.shift(y)


def test_what_is_wrong_in_the_code_of_the_model_begins_there():
    table = {torch.ops.onnxport_pieces.shift.default: lambda op, x: op.Add(x, 2.0)}
    found = onnxport.pieces(Twice(), X, custom_translation_table=table)
    assert paths(found) == [""]
    assert found["quiet"].verdict == "agrees"


class Writes(nn.Module):
    """Writes the wrong thing, and returns nothing."""

    def forward(self, x):
        x.copy_(torch.ops.onnxport_pieces.shift(x))


class Caller(nn.Module):
    def __init__(self):
        super().__init__()
        self.writes = Writes()

    def forward(self, x):
        y = x + 0
        self.writes(y)
        return y * 2


def test_what_a_module_writes_is_compared():
    table = {torch.ops.onnxport_pieces.shift.default: wrong}
    found = onnxport.pieces(Caller(), X, custom_translation_table=table, rtol=1e-6, atol=1e-6)
    assert paths(found) == ["writes"]


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen.add_(1)
        return x * self.seen


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.counts = Counts()

    def forward(self, x):
        return self.counts(x) + self.counts(x + 1) + self.counts(x[:1])


def test_buffers_stay_and_every_call_begins_from_them():
    model = Counted().eval()
    found = onnxport.pieces(model, X, all=True)
    assert [node.verdict for node in found] == ["agrees", "agrees"]
    assert found["counts"].calls == 3
    assert model.counts.seen.item() == 0


def test_equal_layers_are_converted_once_if_that_is_asked():
    model = deep(6, _3=nn.Sigmoid())
    found = onnxport.pieces(model, X, all=True, once=True)
    likes = {node.path: node.like for node in found if node.path.count(".") == 1}
    assert likes == {f"layers.{n}": None if n in (0, 3) else "layers.0" for n in range(6)}
    assert {node.verdict for node in found if node.calls} <= {"agrees", "not looked at"}


def test_a_decoder_with_its_cache():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 50}
    config = transformers.LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **sizes)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    ids = torch.tensor([[3, 1, 4]])
    with torch.no_grad():
        cache = model(ids, use_cache=True).past_key_values
    length = cache.get_seq_length()
    call = {"input_ids": torch.tensor([[1]]), "past_key_values": cache, "use_cache": True}
    found = onnxport.pieces(model, (), call, all=True)
    assert found.ok, found
    assert {node.verdict for node in found if node.calls} == {"agrees"}, found
    assert found["model.layers.1.self_attn"].calls == 1
    assert cache.get_seq_length() == length


def test_a_program_is_cut_at_the_borders_of_its_modules(tmp_path):
    program = torch.export.export(deep(3, _1=Hash()), (X,))
    torch.export.save(program, tmp_path / "m.pt2")
    for model in (program, tmp_path / "m.pt2"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            found = onnxport.pieces(model)
        assert paths(found) == ["layers.1.inner"]
        assert found["layers.1.inner"].kind == "Hash"


def test_the_result_is_shown():
    found = onnxport.pieces(deep(3, _1=Hash()), X)
    said = json.loads(found.to_json())
    assert said["found"] == ["layers.1.inner"]
    assert said["root"]["verdict"] == "does not convert"
    html = found._repr_html_()
    assert "<b><code>layers.1.inner</code>" in html
    assert html.count("<details") == html.count("</details>")
    with pytest.raises(KeyError):
        found["layers.3"]


def test_what_is_no_model_is_refused():
    with pytest.raises(onnxport.UsageError, match="has no modules"):
        onnxport.pieces(torch.sin, X)
    with pytest.raises(onnxport.UsageError, match="opset"):
        onnxport.pieces(deep(1), X, opset_version=3)
    with pytest.raises(onnxport.UsageError, match="is a dict and no tuple"):
        onnxport.pieces(deep(1), {"x": X})
