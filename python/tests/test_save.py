import json

import pytest
import torch
from safetensors import safe_open
from torch import nn
from torch.export import Dim, export

import onnxport


def read(path):
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    assert metadata["format"] == onnxport.SIDECAR_FORMAT
    return json.loads(metadata["cases"]), json.loads(metadata["complex"]), tensors


def save(tmp_path, exported, args, kwargs=None, **options):
    shapes = options.pop("dynamic_shapes", None)
    program = export(exported, args, kwargs, dynamic_shapes=shapes, strict=False)
    path = tmp_path / "m.pt2"
    sidecar = onnxport.save(program, path, **options)
    assert sidecar == tmp_path / "m.expected.safetensors"
    torch.export.load(path)
    return read(sidecar)


class Tree(nn.Module):
    def forward(self, x, aux, extras, *, scale=2.0):
        return {"sum": x + aux["b"] * scale, "none": None, "list": [extras[0] @ extras[1], 3]}


def test_inputs_and_outputs_are_named_by_the_program(tmp_path):
    x, b = torch.randn(4, 3), torch.randn(4, 3)
    extras = [torch.randn(2, 4), torch.randn(4, 5)]
    cases, _, tensors = save(tmp_path, Tree(), (x, {"b": b}, extras), {"scale": 0.5})
    (case,) = cases
    assert case["name"] == "traced"
    assert case["inputs"] == ["x", "aux_b", "extras_0", "extras_1"]
    assert [name is None for name in case["outputs"]] == [False, True, False, False]
    assert torch.equal(tensors["traced/input/aux_b"], b)
    torch.testing.assert_close(tensors["traced/output/0"], x + b * 0.5)
    assert "traced/output/1" not in tensors
    assert tensors["traced/output/3"].item() == 3
    assert tensors["traced/output/3"].shape == ()


def test_the_result_of_an_export_is_saved_as_its_program(tmp_path):
    program = onnxport.export(nn.ReLU().eval(), (torch.randn(3),))
    sidecar = onnxport.save(program, tmp_path / "m.pt2")
    assert torch.export.load(tmp_path / "m.pt2").example_inputs is not None
    assert read(sidecar)[0][0]["name"] == "traced"
    with pytest.raises(onnxport.SaveError, match="Tensor has no exported program"):
        onnxport.save(torch.ones(1), tmp_path / "other.pt2")


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, ids, x):
        return self.table(ids) + x.mean(0)


def test_further_sizes_tile_integers_and_draw_floats(tmp_path):
    ids, x = torch.tensor([[1, 9, 3]]).repeat(2, 1), torch.randn(6, 4)
    module = Embed()
    cases, _, tensors = save(
        tmp_path,
        module,
        (ids, x),
        dynamic_shapes=({0: Dim("batch"), 1: Dim("seq")}, {0: 2 * Dim("half")}),
        module=module,
    )
    assert [case["name"] for case in cases] == ["traced", "size-1", "size-2"]
    sizes = set()
    for case in cases:
        got = tensors[f"{case['name']}/input/ids"]
        rows = tensors[f"{case['name']}/input/x"]
        sizes.add((*got.shape, rows.shape[0]))
        assert torch.equal(got[0], ids[0][torch.arange(got.shape[1]) % 3])
        assert rows.shape[0] % 2 == 0
        torch.testing.assert_close(tensors[f"{case['name']}/output/0"], module(got, rows))
    assert len(sizes) == 3


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("fixed", torch.ones(3))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def forward(self, x):
        self.count[1:].add_(x.sum())
        self.scratch.fill_(7)
        x.select(1, 0).mul_(2)
        return x + self.count + self.fixed


@pytest.mark.parametrize("given", [False, True])
def test_state_starts_from_the_recorded_one_in_each_case(tmp_path, given):
    module = Counter()
    x = torch.ones(2, 3)
    cases, _, tensors = save(
        tmp_path,
        module,
        (x,),
        dynamic_shapes=({0: Dim("batch", max=8)},),
        module=module if given else None,
    )
    assert torch.equal(x, torch.ones(2, 3))
    assert torch.equal(module.count, torch.zeros(3))
    for case in cases:
        name = case["name"]
        assert sorted(case["states"]) == ["count", "scratch", "x"]
        before = tensors[f"{name}/input/x"]
        total = before.sum()
        torch.testing.assert_close(
            tensors[f"{name}/state/count"], torch.stack([torch.tensor(0.0), total, total])
        )
        assert torch.equal(tensors[f"{name}/state/scratch"], torch.full((2,), 7.0))
        torch.testing.assert_close(
            tensors[f"{name}/state/x"], before * torch.tensor([2.0, 1.0, 1.0])
        )


def test_complex_tensors_are_stored_as_pairs(tmp_path):
    class Double(nn.Module):
        def forward(self, x):
            return x * 2

    x = torch.randn(3, dtype=torch.complex64)
    _, complex_keys, tensors = save(tmp_path, Double(), (x,))
    assert sorted(complex_keys) == ["traced/input/x", "traced/output/0"]
    torch.testing.assert_close(torch.view_as_complex(tensors["traced/output/0"]), x * 2)


def test_symbolic_integer_inputs_are_scalars(tmp_path):
    class Narrow(nn.Module):
        def forward(self, x, n):
            return x[:, :n]

    cases, _, tensors = save(
        tmp_path, Narrow(), (torch.randn(2, 40), 3), dynamic_shapes=({}, Dim.DYNAMIC)
    )
    assert cases[0]["inputs"] == ["x", "n"]
    assert tensors["traced/input/n"].dtype == torch.int64
    assert len({int(tensors[f"{case['name']}/input/n"]) for case in cases}) == 3


def test_where_no_other_size_runs_the_rest_is_recorded_with_a_warning(tmp_path):
    class Fails(nn.Module):
        def forward(self, x):
            return x + 1

    program = export(Fails(), (torch.ones(4),), dynamic_shapes=({0: Dim("n")},), strict=False)

    class Picky(nn.Module):
        def forward(self, x):
            if x.shape[0] != 4:
                raise ValueError("only four")
            return x + 1

    with pytest.warns(UserWarning, match="no further size is recorded.*only four") as told:
        sidecar = onnxport.save(program, tmp_path / "m.pt2", module=Picky())
    assert told[0].filename == __file__
    cases, _, tensors = read(sidecar)
    assert [case["name"] for case in cases] == ["traced"]
    assert torch.equal(tensors["traced/output/0"], torch.full((4,), 2.0))


class Branching(nn.Module):
    def forward(self, x, flag, *, scale):
        return torch.cond(flag, lambda x: x + 1, lambda x: x - 1, (x,)) * scale["by"]


def test_given_inputs_are_recorded(tmp_path):
    x, yes, no = torch.randn(3), torch.tensor(True), torch.tensor(False)
    by = {"by": torch.tensor(2.0)}
    given = [
        onnxport.Inputs(x, no, scale=by),
        {"x": x + 1, "flag": yes, "scale": by},
    ]
    cases, _, tensors = save(tmp_path, Branching(), (x, yes), {"scale": by}, inputs=given)
    assert [case["name"] for case in cases] == ["traced", "given-1", "given-2"]
    torch.testing.assert_close(tensors["given-1/output/0"], (x - 1) * 2)
    torch.testing.assert_close(tensors["given-2/output/0"], (x + 2) * 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((torch.ones(3), torch.tensor(True)), "the program takes other arguments: 2 positional"),
        (onnxport.Inputs(torch.ones(4), torch.tensor(True), scale={"by": torch.ones(())}), ""),
    ],
)
def test_given_inputs_that_the_program_does_not_take_are_refused(tmp_path, given, says):
    by = {"by": torch.tensor(2.0)}
    args = (torch.ones(3), torch.tensor(True))
    with pytest.raises(onnxport.SaveError, match=rf"does not run with inputs\[0\].*{says}"):
        save(tmp_path, Branching(), args, {"scale": by}, inputs=[given])
    assert not (tmp_path / "m.pt2").exists()


def test_calls_that_draw_random_numbers_say_so(tmp_path):
    class Noise(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x, 0.5, self.training)

    for training in (True, False):
        cases, *_ = save(tmp_path, Noise().train(training), (torch.randn(8),))
        assert [case["random"] for case in cases] == [training]


def test_names_of_dimensions_go_into_the_archive(tmp_path):
    class Add(nn.Module):
        def forward(self, x, y):
            return x + y

    batch = Dim("batch")
    shapes = ({0: batch, 1: Dim("length")}, {0: batch, 1: Dim.DYNAMIC})
    program = export(Add(), (torch.ones(2, 3), torch.ones(2, 3)), dynamic_shapes=shapes)
    onnxport.save(program, tmp_path / "m.pt2")
    extra = {"onnxport.dims.json": ""}
    loaded = torch.export.load(tmp_path / "m.pt2", extra_files=extra)
    symbols = [str(size) for size in next(iter(loaded.graph.nodes)).meta["val"].shape]
    names = json.loads(extra["onnxport.dims.json"])
    assert [names[symbol] for symbol in symbols] == ["batch", "length"]


def test_stack_traces_lose_the_place_of_the_source(tmp_path):
    program = export(nn.Linear(3, 4), (torch.ones(2, 3),), strict=False)
    onnxport.save(program, tmp_path / "m.pt2", root=tmp_path)
    traces = [node.meta.get("stack_trace", "") for node in program.graph.nodes]
    assert any('File "torch/nn/modules/linear.py"' in trace for trace in traces)
    assert not any('File "/' in trace for trace in traces)
