"""Patterns that are functions, and rules that are held to what they say."""

import pytest

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport
from onnxport import testing
from onnxport._operators import pattern


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda op, x, p: op.Transpose(x, perm=p), "Transpose(x, perm = p)"),
        (lambda op, x, w: op.Conv(x, op.const(w), ...), "Conv(x, const w, ..)"),
        (lambda op, x: op.Softmax(x, axis=1) + 2, "Add(Softmax(x, axis = 1), 2)"),
        (lambda op, x: op.either(op.Mul(x, x), x**2) / 3.5, "Div((Mul(x, x) | Pow(x, 2)), 3.5)"),
        (lambda op, x: op.Transpose(op.each(op.Transpose(x))), "Transpose(each(Transpose(x)))"),
        (lambda op, x, y: op.view(op.each(x, y)), "view(each(x, y))"),
        (lambda op, x, axes: -op.reduce(x, op.const(axes)), "Neg(reduce(x, const axes))"),
        (lambda op, x: op.maybe(op.Relu(op.Neg(x))), "maybe Relu(Neg(x))"),
        (lambda op, x, b: op.Gemm(x, x, op.optional(b)), "Gemm(x, x, b?)"),
        (lambda op, x: x * op.number(0.7071, within=1e-4), "Mul(x, 0.7071 ~ 0.0001)"),
        (lambda op, x: -op.shaped(x, [..., "D", 64, None]), "Neg(x: [.., D, 64, _])"),
        (lambda op, x: op.named("n", -x) + x, "let n = Neg(x); Add(n, x)"),
        (
            lambda op, x: (n := op.Split(x, num_outputs=2))[0] + n[1],
            "let part1 = Split(x, num_outputs = 2); Add(part1.0, part1.1)",
        ),
        (lambda op, x, w, v: (op.MatMul(x, w), op.MatMul(x, v)), "(MatMul(x, w), MatMul(x, v))"),
        (
            lambda op, x: op.custom("a.b", "Foo", x, mode="up", k=[1, 2]),
            '"a.b"::Foo(x, mode = "up", k = [1, 2])',
        ),
        (lambda op, x: op.cast(x, "int64") < op.anything, "Less(Cast(x, to = 7), _)"),
        (lambda op, x, a: op.Gelu(x, approximate=op.optional(a)), "Gelu(x, approximate = a?)"),
        (lambda op, x, y: op.ordered(op.Add(x, y)), "ordered Add(x, y)"),
    ],
)
def test_what_a_function_builds_is_a_pattern(build, text):
    assert pattern.text(build) == text
    nodes, values, extents, attributes = onnxport._native.names(text)
    assert all(name in text for name in (*nodes, *values, *extents, *attributes))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda x: x, "is called `op`"),
        (lambda op, *x: -x[0], "have names"),
        (lambda op, x: op.shuffle(x), "no verb `shuffle`"),
        (lambda op, x: -x if x > 1 else x, "decides nothing"),
        (lambda op, x: x + "one", "neither a term nor a number"),
        (lambda op, x: x + float("inf"), "not a number of a pattern"),
    ],
)
def test_what_is_no_pattern_is_refused(build, said):
    with pytest.raises((TypeError, AttributeError), match=said):
        pattern.text(build)


def test_a_rule_is_held_to_what_it_says():
    @onnxport.rule("Neg(Neg(x))", exact=True, register=False)
    def twice(op, x):
        return x

    assert testing.check_rule(twice) == 24
    assert testing.check_rule(twice, {"x": ("int32", (4, "n", 0))}, trials=3) == 3

    @onnxport.rule("Sigmoid(x)", bound=1e-6, register=False)
    def by_tanh(op, x):
        return op.tanh(x * 0.5) * 0.5 + 0.5

    assert testing.check_rule(by_tanh) == 24
    exact = onnxport.rule("Sigmoid(x)", exact=True, register=False)(by_tanh.replacement)
    with pytest.raises(AssertionError, match=r"changes results for x: FLOAT.*output 0: element"):
        testing.check_rule(exact)

    @onnxport.rule("Add(x, 0)", exact=True, register=False)
    def add_zero(op, x):
        return x

    with pytest.raises(AssertionError, match=r"0\.0"):  # the sum of -0 and 0 is 0
        testing.check_rule(add_zero)


def test_a_rule_is_tried_with_types_attributes_and_several_roots():
    def two(op, x, w, v):
        return op.MatMul(x, op.const(w)), op.MatMul(x, op.const(v))

    @onnxport.rule(two, bound=1e-5, register=False)
    def packed(op, x, w, v):
        both = op.MatMul(x, op.Concat(w, v, axis=1))
        return list(op.Split(both, [w.shape[1], v.shape[1]], axis=1, outputs=2))

    types = {"x": ("float32", ("n", 4)), "w": ("float32", (4, "a")), "v": ("float32", (4, "b"))}
    assert testing.check_rule(packed, types) == 24

    @onnxport.rule("Transpose(Transpose(x, perm = p), perm = q)", exact=True, register=False)
    def wrong(op, x, p, q):
        return op.Transpose(x, perm=[q[axis] for axis in p])

    orders = {"p": [0, 2, 1], "q": [2, 1, 0]}
    with pytest.raises(AssertionError, match=r"changes results|never applied"):
        testing.check_rule(wrong, {"x": ("float32", (2, 3, "n"))}, attributes=orders)

    @onnxport.rule("Transpose(Transpose(x, perm = p), perm = q)", exact=True, register=False)
    def right(op, x, p, q):
        return op.Transpose(x, perm=[p[axis] for axis in q])

    assert testing.check_rule(right, {"x": ("int8", (2, 3, "n"))}, attributes=orders) == 24


def test_what_cannot_be_tried_says_why():
    @onnxport.rule("Neg(x)", exact=True, where=lambda x: False, register=False)
    def never(op, x):
        return x

    with pytest.raises(AssertionError, match="never applied: its condition does not hold"):
        testing.check_rule(never)

    @onnxport.rule("MatMul(x, y)", exact=True, register=False)
    def product(op, x, y):
        return op.MatMul(x, y)

    with pytest.raises(ValueError, match="does not run"):
        testing.check_rule(product, {"x": ("float32", (2, 3)), "y": ("float32", (2, 3))})
    with pytest.raises(ValueError, match="has no value `z`"):
        testing.check_rule(product, {"z": ("float32", (2, 3))})

    @onnxport.rule("Neg(x)", exact=True, register=False)
    def raises(op, x):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        testing.check_rule(raises)
