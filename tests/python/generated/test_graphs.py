"""Some generated graphs through the optimizer, and the tests of their judge and shrinker."""

from pathlib import Path

import onnx

from tests.python import known_failures
from tests.python.generated.graphs import judge, search
from tests.python.generated.graphs.draw import draw
from tests.python.generated.graphs.graph import Graph, K, N, Node, Value, fixed, model
from tests.python.generated.graphs.judge import Counts, Pack, Run
from tests.python.generated.graphs.shrink import shrink

KNOWN = known_failures.load(Path(__file__).with_name("known_failures.toml"))
SEEDS = [int(name.removeprefix("graph-")) for name in KNOWN if name.startswith("graph-")]
# With the programs, 200 in all.
FIRST, COUNT = 0, 188
EXACT = Run((("optimize", "1"),), True)


def test_results_stay_at_every_level():
    counts = Counts()
    wrong = [
        search.reproduced(failure, opset)
        for failure, opset in search.failures(FIRST, COUNT, counts)
        if failure.kind != search.RUNTIME_ONLY and failure.graph.seed not in SEEDS
    ]
    assert not wrong, "\n".join(wrong)
    assert counts.graphs == COUNT
    assert counts.compared > 2000
    assert counts.evaluated > 200


def test_known_failures_stay():
    gone = [seed for seed in SEEDS if not list(search.failures(seed, 1, Counts()))]
    assert not gone, "remove them from known_failures.toml"


def test_a_seed_has_one_graph():
    assert model([draw(3)], 20) == model([draw(3)], 20)
    assert len({tuple(node.op for node in draw(seed).nodes) for seed in range(8)}) == 8


ROWS = Value("float32", (N, fixed(4), K))
CHAIN = Graph(
    0,
    False,
    {"x": ROWS},
    {},
    (
        Node("Abs", ("x",), ("a",)),
        Node("Neg", ("a",), ("b",)),
        Node("Relu", ("x",), ("c",)),
        Node("Add", ("b", "c"), ("d",)),
    ),
    ("d", "c"),
    dict.fromkeys("xabcd", ROWS),
)


def broken(optimized):
    """Return an optimizer that takes `Relu` for `Abs`."""

    def run(message, run):
        made = onnx.ModelProto.FromString(optimized(message, run))
        for node in made.graph.node:
            node.op_type = "Abs" if node.op_type == "Relu" else node.op_type
        return made.SerializeToString()

    return run


def test_a_wrong_result_is_found_and_shrunk(monkeypatch):
    assert not list(Pack([CHAIN], 20, Counts()).judged(EXACT, 0))
    monkeypatch.setattr(judge, "optimized", broken(judge.optimized))
    (failure,) = Pack([CHAIN], 20, Counts()).judged(EXACT, 0)
    assert (failure.graph, failure.kind) == (CHAIN, "differs")
    found = search.smallest(failure, 20).graph
    assert [node.op for node in found.nodes] == ["Relu"]
    assert found.outputs == ("c",)


def test_a_difference_of_zeros_is_one_at_level_1_only():
    zeros = [judge.np.array(number, "float32") for number in (0.0, -0.0)]
    assert judge.difference(*zeros, is_exact=True)
    assert not judge.difference(*zeros, is_exact=False)


def test_a_graph_is_shrunk_to_the_nodes_that_matter():
    found = shrink(CHAIN, lambda graph: any(node.op == "Relu" for node in graph.nodes))
    assert [node.op for node in found.nodes] == ["Relu"]
    assert not {dim for value in found.inputs.values() for dim in value.dims} & {N, K}
