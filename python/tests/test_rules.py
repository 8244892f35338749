"""Rules and passes that are written in Python."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport
from onnxport._operators import functions


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    before = dict(functions.RULES), dict(functions.PASSES)
    yield
    for kept, was in zip((functions.RULES, functions.PASSES), before, strict=True):
        kept.clear()
        kept.update(was)


def model(*nodes, opset=20, inputs=(("x", (2, 3)),), outputs=("y",), constants=()):
    """Make a model of nodes such as `("Add", "a b", "c", {"axis": 1})`."""
    made = [
        onnx.helper.make_node(op, i.split(), o.split(), name=f"n{at}", **dict(*more))
        for at, (op, i, o, *more) in enumerate(nodes)
    ]
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        made,
        "g",
        [onnx.helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs],
        [onnx.helper.make_tensor_value_info(name, kind, None) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants],
    )
    domains = {node.domain for node in made}
    opsets = [onnx.helper.make_opsetid(d, opset if not d else 1) for d in {"", *domains}]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def kinds(proto):
    return [node.op_type for node in proto.graph.node]


def computes_the_same(before, after):
    feeds = {
        one.name: np.random.default_rng(0)
        .standard_normal([d.dim_value for d in one.type.tensor_type.shape.dim])
        .astype(np.float32)
        for one in before.graph.input
    }
    found = [
        onnxruntime.InferenceSession(m.SerializeToString()).run(None, feeds)
        for m in (before, after)
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


SILU = model(("Sigmoid", "x", "s"), ("Mul", "x s", "m"), ("Neg", "m", "y"))


def test_a_rule_is_a_text_and_a_function():
    @onnxport.rule("Neg(Mul(x, Sigmoid(x)))", exact=True, register=False)
    def negate_first(op, x):
        """The sign moves to the operand."""
        return (-x) * op.Sigmoid(x)

    after = onnxport.optimize(SILU, rules=[negate_first])
    assert kinds(after) == ["Neg", "Sigmoid", "Mul"]
    assert [value.name for value in after.graph.output] == ["y"]
    computes_the_same(SILU, after)
    assert negate_first.is_exact
    assert negate_first.documentation.startswith("The sign")
    assert kinds(onnxport.optimize(SILU)) == kinds(SILU)


def test_the_pattern_can_be_a_function():
    def negated(op, x):
        return -(x * op.sigmoid(x))

    @onnxport.rule(negated, exact=True, register=False)
    def negate_first(op, x, root):
        assert (root.op, root.output.name) == ("Neg", "y")
        return (-x) * op.Sigmoid(x)

    assert negate_first.pattern == "Neg(Mul(x, Sigmoid(x)))"
    assert kinds(onnxport.optimize(SILU, rules=[negate_first])) == ["Neg", "Sigmoid", "Mul"]


def test_a_rule_says_what_it_asks_for():
    with pytest.raises(TypeError, match="state `exact=True`, or how far"):
        onnxport.rule("Neg(x)")
    with pytest.raises(TypeError, match="state `exact=True`, or how far"):
        onnxport.rule("Neg(x)", exact=True, bound=1e-3)
    with pytest.raises(ValueError, match="expected"):
        onnxport.rule("Neg(x", exact=True)
    with pytest.raises(TypeError, match="binds no `z`; it binds x"):
        onnxport.rule("Neg(x)", exact=True)(lambda op, z: z)
    with pytest.raises(TypeError, match="binds no `z`"):
        onnxport.rule("Neg(x)", exact=True, where=lambda z: True)(lambda op, x: x)
    with pytest.raises(TypeError, match=r"is not a result of `@onnxport\.rule`"):
        onnxport.optimize(SILU, rules=[lambda op, x: x])
    assert not functions.RULES


def test_attributes_extents_and_nodes_are_bound():
    before = model(
        ("Transpose", "x", "a", {"perm": [1, 0]}),
        ("Transpose", "a", "b", {"perm": [1, 0]}),
        ("Neg", "b", "y"),
    )
    seen = []

    @onnxport.rule(
        "inner @ Transpose(Transpose(x: [A, B], perm = p), perm = q)",
        exact=True,
        priority=5,
        register=False,
    )
    def one(op, x, p, q, inner, **rest):
        seen.append((p, q, inner.op, inner.attributes, rest["A"], rest["B"], x.name, x.dtype))
        return op.Transpose(x, perm=[p[axis] for axis in q])

    after = onnxport.optimize(before, rules=[one])
    assert seen == [([1, 0], [1, 0], "Transpose", {"perm": [1, 0]}, 2, 3, "x", 1)]
    assert kinds(after) == ["Neg"]


def test_a_condition_decides_over_facts():
    before = model(("Relu", "x", "a"), ("Relu", "z", "b"), ("Add", "a b", "y"),
                   inputs=(("x", (2, 3)), ("z", (1, 3))))  # fmt: skip
    asked = []

    def wide(x):
        asked.append(x.shape)
        return x.shape[0] > 1

    @onnxport.rule("Relu(x)", exact=True, where=wide, register=False)
    def as_maximum(op, x):
        return op.Max(x, 0)

    after = onnxport.optimize(before, rules=[as_maximum])
    assert sorted(kinds(after)) == ["Add", "Max", "Relu"]
    assert set(asked) == {(2, 3), (1, 3)}
    computes_the_same(before, after)


def test_a_registered_rule_joins_every_conversion(tmp_path):
    @onnxport.rule("Sigmoid(x)", bound=1e-6)
    def by_tanh(op, x):
        return op.tanh(x * 0.5) * 0.5 + 0.5

    assert "Tanh" in kinds(onnxport.optimize(SILU))
    onnx.save(SILU, tmp_path / "a.onnx")
    said = onnxport.optimize(tmp_path / "a.onnx", tmp_path / "b.onnx")
    counted = {"plugin": "python", "name": "by_tanh", "applied": 1, "nodes": 3}
    assert counted in said["optimised"]["counts"]
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid())
    program = onnxport.export(module, (torch.randn(2, 3),))
    assert "Tanh" in kinds(program.model_proto)
    assert "Sigmoid" not in kinds(program.model_proto)
    off = onnxport.export(module, (torch.randn(2, 3),), optimize=False)
    assert "Sigmoid" in kinds(off.model_proto)


def test_rules_and_passes_of_one_export():
    @onnxport.rule("Sigmoid(x)", bound=1e-6, register=False)
    def by_tanh(op, x):
        return op.tanh(x * 0.5) * 0.5 + 0.5

    @onnxport.graph_pass(register=False)
    def rectify(op, graph):
        for node in graph.nodes:
            if node.op == "Relu":
                graph.before(node)
                graph.replace(node.output, op.Max(node.inputs[0], 0.0))
                graph.remove(node)

    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid(), torch.nn.ReLU()).eval()
    args = (torch.randn(2, 3),)
    program = onnxport.export(module, args, rules=[by_tanh], passes=[rectify])
    found = kinds(program.model_proto)
    assert "Tanh" in found
    assert "Max" in found
    assert not {"Sigmoid", "Relu"} & {*found}
    torch.testing.assert_close(program(*args)[0], module(*args))
    plain = onnxport.export(module, args)
    assert {"Sigmoid", "Relu"} < {*kinds(plain.model_proto)}
    onnxport.optimize(plain, rules=[by_tanh])
    assert "Tanh" in kinds(plain.model_proto)
    assert "Relu" in kinds(plain.model_proto)


def diagnostics(before, tmp_path, **given):
    onnx.save(before, tmp_path / "before.onnx")
    said = onnxport.optimize(tmp_path / "before.onnx", tmp_path / "after.onnx", **given)
    return said.diagnostics, onnx.load(tmp_path / "after.onnx")


def test_a_rule_that_raises_is_reported_with_its_line(tmp_path):
    @onnxport.rule("Sigmoid(x)", exact=True, register=False)
    def broken(op, x):
        return x.shape[7]

    @onnxport.rule("Neg(x)", exact=True, where=lambda x: 1 / 0, register=False)
    def worse(op, x):
        return x

    found, after = diagnostics(SILU, tmp_path, rules=[broken, worse])
    assert kinds(after) == kinds(SILU)
    by_rule = {one.message.split("`")[1]: one for one in found}
    assert {one.code for one in found} == {"python:raised"}
    assert "IndexError: tuple index out of range" in by_rule["broken"].message
    assert "return x.shape[7]" in by_rule["broken"].message
    assert "ZeroDivisionError" in by_rule["worse"].message


def test_a_refusal_leaves_a_place_alone(tmp_path):
    @onnxport.rule("Sigmoid(x)", exact=True, register=False)
    def never(op, x):
        op.Exp(x)
        raise onnxport.Refusal("not here")

    found, after = diagnostics(SILU, tmp_path, rules=[never])
    assert not found
    assert kinds(after) == kinds(SILU)
    found, _ = diagnostics(SILU, tmp_path, rules=[never], explain_rule="never")
    said = json.dumps(dict(onnxport.optimize(
        tmp_path / "before.onnx", tmp_path / "after.onnx", rules=[never], explain_rule="never"
    )))  # fmt: skip
    assert "not here" in said


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda op, x: op.cast(x, "int64"), "OP402"),
        (lambda op, x: op.ReduceSum(x, [0]), "OP402"),
        (lambda op, x: (x, x), "OP402"),
        (lambda op, x: 3, "python:raised"),
        (lambda op, x: op.If(x, then_branch=1), "python:raised"),
    ],
)
def test_a_patch_that_is_not_sound_is_not_applied(tmp_path, build, said):
    unsound = onnxport.rule("Sigmoid(x)", exact=True, register=False, name="unsound")(build)
    found, after = diagnostics(SILU, tmp_path, rules=[unsound])
    assert [one.code for one in found] == [said]
    assert after.graph == SILU.graph or kinds(after) == kinds(SILU)


def test_a_rule_that_grows_without_end_is_stopped(tmp_path):
    @onnxport.rule("Sigmoid(x)", exact=True, register=False)
    def more(op, x):
        return op.Sigmoid(op.Neg(op.Neg(op.Abs(op.Abs(x)))))

    found, _ = diagnostics(SILU, tmp_path, rules=[more], max_growth=20)
    assert [one.code for one in found] == ["OP403"]


def test_what_is_kept_of_a_call_is_of_no_use_later(tmp_path):
    kept = []

    @onnxport.rule("Sigmoid(x)", exact=True, register=False)
    def keep(op, x, root):
        kept.extend([op, x, root])
        with pytest.raises(TypeError, match="only a lowering"):
            op.result()
        return op.Sigmoid(x)

    onnxport.optimize(SILU, rules=[keep], max_sweeps=1)
    for use in (lambda: kept[0].Neg(kept[1]), lambda: kept[1].shape, lambda: kept[2].op):
        with pytest.raises(RuntimeError, match="only during the call"):
            use()


def test_levels_choose_by_what_a_rule_states():
    @onnxport.rule("Sigmoid(x)", bound=1e-6, register=False)
    def by_tanh(op, x):
        return op.tanh(x * 0.5) * 0.5 + 0.5

    assert "Tanh" not in kinds(onnxport.optimize(SILU, rules=[by_tanh], optimize=1))
    assert "Tanh" in kinds(onnxport.optimize(SILU, rules=[by_tanh], optimize=2))
    assert "Tanh" in kinds(onnxport.optimize(SILU, rules=[by_tanh], optimize="target"))
    assert "Tanh" not in kinds(onnxport.optimize(SILU, rules=[by_tanh], optimize=False))
    assert "Tanh" in kinds(onnxport.optimize(SILU, rules=[by_tanh], optimize=True))
    with pytest.raises(TypeError, match="not both"):
        onnxport.graph_pass(exact=True, bound=1e-3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        onnxport.graph_pass(bound=2.0)


def test_what_a_wrong_rule_makes_is_not_written(tmp_path):
    @onnxport.rule("Sigmoid(x)", exact=True, register=False)
    def wrong(op, x):
        return op.tanh(x)

    before, after = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(SILU, before)
    verified = {"verify": True, "executor": "reference"}
    with pytest.raises(onnxport.MismatchError):
        onnxport.optimize(before, after, rules=[wrong], **verified)
    assert not after.exists()
    with pytest.raises(onnxport.MismatchError):
        onnxport.optimize(before, after, rules=[wrong], keep_failed=True, **verified)
    assert not after.exists()
    assert "Tanh" in kinds(onnx.load(tmp_path / "b.failed.onnx"))
    said = onnxport.optimize(before, after, **verified)
    assert said["verification"]["values_compared"]
    assert after.exists()
    with pytest.raises(onnxport.MismatchError):
        onnxport.optimize(SILU, rules=[wrong], **verified)
