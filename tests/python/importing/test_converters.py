"""Models of converters are smaller or as large, and the same, after the exact rules."""

import onnx
import pytest

from tests.python.importing import converters, same


def nodes(path):
    """Return the nodes of a model, nested ones included."""

    def of(graph):
        held = (a for node in graph.node for a in node.attribute)
        return len(graph.node) + sum(of(g) for a in held for g in (a.g, *a.graphs))

    return of(onnx.load(str(path)).graph)


def test_the_exact_rules_change_no_bit_of_what_converters_write(tmp_path):
    pytest.importorskip("skl2onnx", reason="pip install skl2onnx onnxmltools xgboost lightgbm")
    known = converters.write(tmp_path)
    assert len(known) >= 100
    counts, problems = same.judge_each(known, optimise=True)
    # Some converters state types of outputs that their models contradict.
    wrong = [problem for problem in problems if "error[OP110]" not in problem]
    assert not wrong, "\n".join(wrong)
    assert counts["equal"] >= 0.9 * len(known)
    refused = {problem.split(":")[0] for problem in problems}
    before = after = 0
    for name, source, _ in known:
        if name in refused:
            continue
        target = tmp_path / "shorter.onnx"
        same.copy(source, target, optimise=True)
        assert nodes(target) <= nodes(source), name
        before, after = before + nodes(source), after + nodes(target)
    print(f"{len(known)} models: {before} nodes became {after}")
