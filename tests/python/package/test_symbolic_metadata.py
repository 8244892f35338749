"""`metadata_props` of `torch.onnx.ops.symbolic` are metadata of the node."""

import onnx
import pytest
import torch
from torch import nn

import onnxport

OPS = torch.onnx.ops


class One(nn.Module):
    def forward(self, x):
        props = {"team": "vision", "namespace": "mine"}
        return OPS.symbolic(
            "LeakyRelu",
            (x,),
            {"alpha": 0.25},
            dtype=x.dtype,
            shape=x.shape,
            metadata_props=props,
        )


class Several(nn.Module):
    def forward(self, x):
        return OPS.symbolic_multi_out(
            "TopK",
            (x, torch.tensor([2])),
            {"largest": 0},
            dtypes=(x.dtype, 7),
            shapes=((3, 2), (3, 2)),
            metadata_props={"team": "search", "empty": ""},
        )


def metadata(path, module, op, **options):
    """Return the metadata of the model's node `op`."""
    onnxport.export(module.eval(), (torch.rand(3, 4),), path, **options)
    model = onnx.load(path)
    (node,) = (node for node in model.graph.node if node.op_type == op)
    assert node.name
    return {entry.key: entry.value for entry in node.metadata_props}


def test_metadata_of_a_node(tmp_path):
    found = metadata(tmp_path / "m.onnx", One(), "LeakyRelu")
    assert found["team"] == "vision"
    assert found["onnxport.node"]
    assert found["namespace"] == "mine"


@pytest.mark.parametrize("kind", ["none", "full"])
def test_metadata_about_the_program_is_chosen_separately(kind, tmp_path):
    found = metadata(tmp_path / "m.onnx", Several(), "TopK", options={"metadata": kind})
    assert (found["team"], found["empty"]) == ("search", "")
    assert ("pkg.torch.onnx.fx_node" in found) == (kind == "full")


def test_metadata_of_the_program_stays(tmp_path):
    found = metadata(tmp_path / "m.onnx", One(), "LeakyRelu", options={"metadata": "full"})
    assert found["namespace"] != "mine"
    assert found["team"] == "vision"
