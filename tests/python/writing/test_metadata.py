"""Metadata of models about their programs."""

import subprocess

import onnx
import pytest
import torch
from torch import nn

from benches import metadata
from tests.python.onnx_runtime import binary

SCOPES = metadata.PREFIX + "name_scopes"
STACK = metadata.PREFIX + "stack_trace"


class Model(nn.Module):
    """A module called twice, a call of several results, a branch, a buffer that is written."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("scale", torch.ones(4), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        x = torch.relu_(self.linear(self.linear(x) * 1e-5))
        left, _ = torch.topk(x, 4, dim=1)
        left = torch.cond(left.sum() > 0, lambda y: y.cos() + 1, lambda y: y.sin(), (left,))
        return left.to(torch.float64) * self.scale, x.view(x.shape[0], 2, 2)


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("metadata") / "it's a model.pt2"
    shapes = ({0: torch.export.Dim("batch", max=50)},)
    program = torch.export.export(Model(), (torch.randn(3, 4),), dynamic_shapes=shapes)
    torch.export.save(program, path)
    return path


def test_every_text_is_the_exporters(archive, tmp_path):
    found = metadata.compare(archive, tmp_path)
    assert found["texts"] > 50
    assert found["equal"] == found["texts"]
    assert not found["unknown"]
    assert found["nodes"] == found["lines"]
    # PyTorch records no modules inside of branches.
    assert found["modules"] == found["nodes"] - 3


def test_the_graph_and_its_values_say_what_they_are(archive, tmp_path):
    model = metadata.converted(archive, tmp_path, "--input-names", "features")
    graph = metadata.props(model.graph)
    assert graph[metadata.RANGES] == str(torch.export.load(archive).range_constraints)
    assert "b_count: BUFFER target='count' persistent=True\n" in graph[metadata.SIGNATURE]
    assert "BUFFER_MUTATION target='count'\n" in graph[metadata.SIGNATURE]
    kind = "pkg.torch.export.graph_signature.InputSpec.kind"
    name = "pkg.torch.onnx.original_node_name"
    said = metadata.values(model)
    assert said["features"][kind] == "USER_INPUT"
    assert said["features"][name] == "x"
    assert said["linear.weight"][kind] == "PARAMETER"
    assert said["linear.weight"][name] == "p_linear_weight"
    persistent = "pkg.torch.export.graph_signature.InputSpec.persistent"
    assert [said[name][persistent] for name in ("features", "count", "scale")] == [
        "None",
        "True",
        "False",
    ]
    key = "pkg.torch.export.graph_signature.OutputSpec.kind"
    kinds = [metadata.props(value)[key] for value in model.graph.output]
    assert sorted(set(kinds)) == ["BUFFER_MUTATION", "USER_OUTPUT"]


def test_a_model_says_less_on_request(archive, tmp_path):
    def keys(*options):
        command = [binary(), "convert", archive, "-o", tmp_path / "m.onnx", "--no-verify", "-q"]
        subprocess.run([*command, *options], check=True)
        model = onnx.load(tmp_path / "m.onnx")
        return {entry.key for node in metadata.nodes(model.graph) for entry in node.metadata_props}

    assert keys("--metadata", "none") == set()
    said = {"namespace", "onnxport.node", "onnxport.results"}
    assert keys() == keys("--metadata", "names") == said


def test_paths_of_stacks_are_relative_to_a_root(archive, tmp_path):
    root = str(metadata.ROOT)
    full = metadata.converted(archive, tmp_path)
    short = metadata.converted(archive, tmp_path, "--source-root", root)
    pairs = list(zip(metadata.nodes(full.graph), metadata.nodes(short.graph), strict=True))
    own = 0
    for one, other in pairs:
        stack, relative = metadata.props(one)[STACK], metadata.props(other)[STACK]
        assert relative == stack.replace(f'File "{root}/', 'File "')
        own += stack != relative
    assert own == len(pairs)


def test_a_model_that_is_optimised_later_keeps_what_it_says(archive, tmp_path):
    program = torch.export.load(archive)
    written = torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)
    source, target = tmp_path / "torch.onnx", tmp_path / "optimised.onnx"
    written.save(source)
    subprocess.run([binary(), "optimize", source, "-o", target, "-q"], check=True)
    before = metadata.located(onnx.load(source))
    after = metadata.located(onnx.load(target))
    assert after[0] < before[0], "nothing was rewritten"
    # Nodes that the exporter made of no call say nothing before, and nothing after.
    assert after[0] - after[1] <= before[0] - before[1]
    known = {metadata.props(node).get(SCOPES) for node in metadata.nodes(onnx.load(source).graph)}
    for node in metadata.nodes(onnx.load(target).graph):
        said = metadata.props(node).get(SCOPES)
        assert said in known or "+" in said
