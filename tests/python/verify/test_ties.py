"""Indices of equal elements: PyTorch and a runtime may both be right with different ones."""

import json
import subprocess

import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from torch import nn
from torch.export import export

import onnxport
from tests.python.onnx_runtime import binary, library
from tests.python.verify.test_reference import ACTIVE, converted

SCORES = torch.tensor([[3.0, 1, 3, 3, 2, 3, 1, 3], [1, 2, 2, 2, 2, 0, 2, 2]] * 4)


class Ranked(nn.Module):
    """Indices without the values that they select."""

    def forward(self, x):
        y = torch.exp(x)
        return (
            y.topk(3)[1],
            y.argsort(dim=-1, descending=True)[:, :5].to(torch.int32),
            y.sort(dim=0)[1].flatten(),
            y.argmax(1),
            y.argmin(),
        )


def reordered(path, operator, change):
    """Apply `change` to each node of an operator in the model at `path`."""
    model = onnx.load(path)
    nodes = [node for node in model.graph.node if node.op_type == operator]
    assert nodes
    for node in nodes:
        change(model.graph, node)
    onnx.save(model, path)


def shifted(graph, node):
    """Let indices be off by one."""
    output = node.output[-1]
    node.output[-1] = f"{output}.before"
    one = numpy_helper.from_array(torch.tensor(1).numpy(), f"{output}.one")
    graph.initializer.append(one)
    added = helper.make_node("Add", [f"{output}.before", f"{output}.one"], [output])
    graph.node.insert(list(graph.node).index(node) + 1, added)


def replaced(name, value):
    """Return a change of an attribute."""

    def change(_, node):
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


def verified(archive, *options):
    """Verify the model of an archive; return the exit code and the report."""
    model = archive.with_suffix(".onnx")
    command = [binary(), "verify", model, "--against", archive, "--json"]
    done = subprocess.run(
        [*map(str, command), "--ort-library", library(), *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=ACTIVE,
    )
    return done.returncode, json.loads(done.stdout)


def outputs_of(said):
    """Return the outputs of the first call."""
    return said["verification"]["cases"][0]["outputs"]


@pytest.fixture(scope="module", params=["recorded", "torch"])
def archive(request, tmp_path_factory):
    """Return a converted program, and where its expected values come from."""
    path = tmp_path_factory.mktemp(request.param) / "m.pt2"
    program = export(Ranked(), (SCORES,))
    if request.param == "recorded":
        onnxport.save(program, path)
    else:
        torch.export.save(program, path)
    converted(path)
    return path


def test_another_order_of_equal_elements_is_accepted_and_counted(archive):
    code, said = verified(archive)
    assert code == 0
    outputs = outputs_of(said)
    remarks = [remark for output in outputs for remark in output["remarks"]]
    assert any("indices differ" in remark and "equal elements" in remark for remark in remarks)
    # Neither side has a choice for the first of the largest ones.
    for output in outputs[3:]:
        assert not any("indices" in remark for remark in output["remarks"])


@pytest.mark.parametrize(
    ("operator", "change"),
    [
        ("TopK", shifted),
        ("TopK", replaced("largest", 0)),
        ("TopK", replaced("axis", 0)),
        ("ArgMax", shifted),
        ("ArgMax", replaced("select_last_index", 1)),
        ("ArgMin", shifted),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_wrong_indices_are_refused(archive, operator, change):
    model = archive.with_suffix(".onnx")
    before = model.read_bytes()
    try:
        reordered(model, operator, change)
        code, said = verified(archive)
        assert code == 4, said
        assert [found["code"] for found in said["diagnostics"]] == ["OP701"]
    finally:
        model.write_bytes(before)


def test_rounding_that_swaps_elements_at_the_border_is_accepted(tmp_path):
    """A runtime adds in another order than PyTorch, so nearly equal sums change places."""

    class Sums(nn.Module):
        def forward(self, x):
            return (x.sum(-1) * 0.1 + 0.3).topk(4)[1]

    generator = torch.Generator().manual_seed(1)
    several = torch.randn(4, 257, generator=generator)
    rows = [several[n % 4][torch.randperm(257, generator=generator)] for n in range(64)]
    path = tmp_path / "m.pt2"
    onnxport.save(export(Sums(), (torch.stack(rows),)), path)
    converted(path)
    code, said = verified(path)
    assert code == 0
    (output,) = outputs_of(said)
    assert any("equal but for rounding" in remark for remark in output["remarks"]), output
    reordered(path.with_suffix(".onnx"), "TopK", shifted)
    assert verified(path)[0] == 4
