"""`optimize` reaches a fixed point: a second run finds nothing to do."""

import subprocess

import onnx
import pytest

from tests.python.importing import sources
from tests.python.onnx_runtime import binary

pytestmark = pytest.mark.minutes


def nodes(model):
    """Return the nodes of a model and of its functions, nested graphs included."""
    return [*model.graph.node, *(node for function in model.functions for node in function.node)]


def computed_from_weights(model):
    """Return reshapes of weights, which are weights of another shape."""
    weights = {tensor.name for tensor in model.graph.initializer}
    reshapes = (node for node in model.graph.node if node.op_type == "Reshape")
    return [node.name for node in reshapes if weights.issuperset(node.input)]


@pytest.mark.parametrize("way", ["dynamo", "script"])
def test_a_second_run_changes_nothing(way, tmp_path):
    found = sources.of_torch(everything=False)[f"torch.onnx, {way}"]
    assert found
    changed = set()
    for name, path, _ in found:
        once, twice = tmp_path / "once.onnx", tmp_path / "twice.onnx"
        for source, target in ((path, once), (once, twice)):
            command = [binary(), "optimize", str(source), "-o", str(target)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, (name, done.stderr)
        first, second = (onnx.load(model, load_external_data=False) for model in (once, twice))
        assert not computed_from_weights(first), name
        if nodes(first) != nodes(second):
            changed.add(name)
    assert not changed
