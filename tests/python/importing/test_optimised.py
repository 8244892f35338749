"""The optimizer keeps the results of models of `torch.onnx`, and makes none larger."""

from itertools import chain

from tests.python.importing import optimised, sources

# A product with a transposed operand is two nodes, and faster than `Einsum`. ONNX Runtime expands
# `GroupNormalization`; the nodes that replace it are faster than its expansion. `HardSwish` of
# opset 14 has no kernel either, and is replaced by its definition.
LARGER = {"einsum", "groupnorm", "hardswish"}


def test_models_of_torch_onnx_are_no_larger_and_the_same_by_default():
    known = list(chain(*sources.of_torch(everything=False).values()))
    assert len(known) >= 200
    found = [optimised.judge(model, "2") for model in known]
    larger = {it.name.split(".")[0] for it in found if it.nodes[1] > it.nodes[0]}
    assert larger <= LARGER
    apart = {it.name: it.apart for it in found if it.apart is not None}
    # The others draw numbers, or use an operator that ONNX Runtime has no kernel for.
    assert len(apart) >= 0.95 * len(found)
    assert max(apart.values()) <= optimised.APART
    nodes = [sum(it.nodes[at] for it in found) for at in range(2)]
    print(f"{len(found)} models: {nodes[0]} nodes became {nodes[1]}")
    assert nodes[1] < nodes[0]


def test_results_that_differ_are_seen():
    one = [optimised.np.ones(2, dtype="float32")]
    assert optimised.distance(one, one) == 0
    assert optimised.distance(one, [one[0] * 3]) == 2
    assert optimised.distance([one[0] * 4], [one[0] * 3]) == 0.25
    assert optimised.distance(one, [one[0].astype("float64")]) == float("inf")
    assert optimised.distance(one, [one[0] * float("nan")]) == float("inf")
