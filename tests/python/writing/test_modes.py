"""The four ways in which PyTorch's exporter saves initializers, beside ours."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import nn

from tests.python.onnx_runtime import convert

MODES = {
    (True, False): [],
    (True, True): ["--initializers-as-inputs"],
    (False, False): ["--no-initializers"],
    (False, True): ["--no-initializers", "--initializers-as-inputs"],
}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.linear(x)).reshape(x.shape[0], 2, 2)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    torch.manual_seed(0)
    inner = Network().eval()
    example = (torch.randn(3, 8),)
    shapes = {"x": {0: torch.export.Dim("batch")}}
    exported = torch.export.export(inner, example, dynamic_shapes=shapes)
    path = tmp_path_factory.mktemp("modes") / "network.pt2"
    torch.export.save(exported, path)
    return exported, path


def names(path):
    graph = onnx.load(path).graph
    return [v.name for v in graph.input], {t.name for t in graph.initializer}


def run(path, feeds):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


@pytest.mark.parametrize(("included", "as_inputs"), MODES)
def test_modes_are_those_of_pytorch(program, included, as_inputs, tmp_path):
    exported, source = program
    ours, theirs = tmp_path / "ours.onnx", tmp_path / "theirs.onnx"
    convert(source, ours, "--optimize", "0", *MODES[included, as_inputs])
    torch.onnx.export(exported, dynamo=True, optimize=False, verbose=False).save(
        theirs, include_initializers=included, keep_initializers_as_inputs=as_inputs
    )
    weights = {k: v.detach().numpy() for k, v in exported.state_dict.items()}
    (our_inputs, our_initializers), (their_inputs, their_initializers) = names(ours), names(theirs)
    # PyTorch keeps an unused buffer: the counter of the batch norm.
    unread = "norm.num_batches_tracked"
    assert our_inputs == [name for name in their_inputs if name != unread]
    assert our_initializers & set(weights) == (their_initializers & set(weights)) - {unread}
    assert ("linear.weight" in our_inputs, "linear.weight" in our_initializers) == (
        as_inputs,
        included,
    )
    x = torch.randn(5, 8)
    expected = exported.module()(x).detach().numpy()
    feeds = {"x": x.numpy()}
    if not included and not as_inputs:
        model = onnx.load(ours)
        used = {name for node in model.graph.node for name in node.input}
        for name in used & set(weights):
            model.graph.initializer.append(onnx.numpy_helper.from_array(weights[name], name))
        onnx.save(model, ours)
    elif not included:
        feeds |= {name: weights[name] for name in our_inputs if name != "x"}
    np.testing.assert_allclose(run(ours, feeds), expected, rtol=1e-4, atol=1e-5)
    if included and as_inputs:
        # A call may replace a weight.
        feeds["linear.weight"] = np.zeros_like(weights["linear.weight"])
        assert np.abs(run(ours, feeds) - expected).max() > 1e-2


def test_data_files_are_read_wherever_they_are_split(tmp_path):
    split = tmp_path / "split.onnx"
    torch.manual_seed(1)
    wide = nn.Sequential(*(nn.Linear(64, 64) for _ in range(4)))
    example = torch.randn(2, 64)
    torch.export.save(torch.export.export(wide, (example,)), tmp_path / "wide.pt2")
    convert(tmp_path / "wide.pt2", split, "--external-data", "external", "--shard-size", "20kB")
    assert len(list(tmp_path.glob("split-0000?-of-00004.onnx.data"))) == 4
    expected = wide(example).detach().numpy()
    graph = onnx.load(split, load_external_data=False).graph
    np.testing.assert_allclose(
        run(split, {graph.input[0].name: example.numpy()}), expected, rtol=1e-4, atol=1e-5
    )
