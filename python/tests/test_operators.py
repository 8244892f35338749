"""Operators that are lowered in Python."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

_native = pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

import onnxport  # noqa: E402
from onnxport._operators import functions  # noqa: E402
from onnxport._operators.dtype import DType  # noqa: E402
from onnxport._operators.functions import Custom  # noqa: E402
from onnxport._operators.refusal import Refusal  # noqa: E402


@torch.library.custom_op("onnxport_test::softcap", mutates_args=())
def softcap(x: torch.Tensor, cap: float = 2.0, *, scale: int = 1) -> torch.Tensor:
    return torch.tanh(x / cap) * cap * scale


@softcap.register_fake
def _(x, cap=2.0, *, scale=1):
    return torch.empty_like(x)


@torch.library.custom_op("onnxport_test::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = x.chunk(2, dim=-1)
    return first.clone(), second.clone()


@halves.register_fake
def _(x):
    shape = (*x.shape[:-1], x.shape[-1] // 2)
    return x.new_empty(shape), x.new_empty(shape)


X = torch.linspace(-3, 3, 24).reshape(4, 6)
BATCH = {0: torch.export.Dim("n", min=2)}


class Softcap(torch.nn.Module):
    def forward(self, x):
        return torch.ops.onnxport_test.softcap(x + 1, 3.0)


def program(module, *args, shapes=None, tmp_path):
    path = tmp_path / "program.pt2"
    torch.export.save(torch.export.export(module.eval(), args, dynamic_shapes=shapes), path)
    return _native.Conversion.open(path)


def convert(tmp_path, module, table, *args, shapes=None, **options):
    conversion = program(module, *(args or (X,)), shapes=shapes, tmp_path=tmp_path)
    said = json.dumps({"verify": False, **options})
    return onnx.load_from_string(
        conversion.run(said, functions=functions.collect(Custom(table))).to_bytes()
    )


def refused(tmp_path, module, table, *args, **options):
    with pytest.raises(_native.Error) as raised:
        convert(tmp_path, module, table, *args, **options)
    return [d for d in json.loads(raised.value.diagnostics) if d["severity"] == "error"]


def run(model, *args):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    return session.run(None, {n: a.numpy() for n, a in zip(names, args, strict=True)})


def agrees(model, module, *args):
    with torch.no_grad():
        wanted = module(*args)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, want in zip(run(model, *args), wanted, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6, atol=1e-6)


def kinds(model):
    return [node.op_type for node in model.graph.node]


def lower_softcap(op, x, cap, scale=1):
    return op.Tanh(x / cap) * cap * scale


@pytest.mark.parametrize(
    "key",
    [
        torch.ops.onnxport_test.softcap.default,
        torch.ops.onnxport_test.softcap,
        softcap,
        "onnxport_test::softcap",
        "onnxport_test.softcap.default",
    ],
)
def test_a_function_lowers_an_operator_that_is_named_in_any_way(tmp_path, key):
    model = convert(tmp_path, Softcap(), {key: lower_softcap})
    agrees(model, Softcap(), X)
    assert "Tanh" in kinds(model)


def test_sizes_stay_dynamic(tmp_path):
    model = convert(tmp_path, Softcap(), {softcap: lower_softcap}, shapes=(BATCH,))
    agrees(model, Softcap(), torch.randn(7, 6))


def test_the_arguments_are_bound_to_the_schema(tmp_path):
    seen = []

    def lower(op, x, cap, *, scale):
        seen.append((cap, scale))
        return op.tanh(x / cap) * cap * float(scale)

    class Module(torch.nn.Module):
        def forward(self, x):
            op = torch.ops.onnxport_test.softcap
            return op(x) + op(x, 4.0, scale=3) + op(x, cap=5.0)

    agrees(convert(tmp_path, Module(), {softcap: lower}), Module(), X)
    assert sorted(seen) == [(2.0, 1), (4.0, 3), (5.0, 1)]


def test_what_a_function_has_no_place_for_must_be_the_default(tmp_path):
    def lower(op, x, cap):
        return op.tanh(x / cap) * cap

    agrees(convert(tmp_path, Softcap(), {softcap: lower}), Softcap(), X)

    class Scaled(torch.nn.Module):
        def forward(self, x):
            return torch.ops.onnxport_test.softcap(x, scale=3)

    [error] = refused(tmp_path, Scaled(), {softcap: lower})
    assert "takes no `scale`, and the call gives 3" in error["message"]


def test_values_tell_what_is_known(tmp_path):
    seen = {}

    def lower(op, x, cap, scale):
        n, m = x.shape
        seen.update(dtype=x.dtype, rank=x.rank, m=m, least=n.min, most=n.max, opset=op.opset)
        seen["sum"] = (n + n == n * 2, n + 1 == n, n - n)
        seen["contents"] = op.constant([[1, 2]]).constant, x.constant
        seen["result"] = op.result()[0], op.result()[1][1], op.result_count
        seen["origin"] = op.origin["code"]
        assert "f32" in repr(x)
        return op.tanh(x / cap) * cap

    convert(tmp_path, Softcap(), {softcap: lower}, shapes=(BATCH,))
    assert seen["dtype"] is DType.FLOAT
    assert seen["dtype"] == onnx.TensorProto.FLOAT
    assert (seen["rank"], seen["m"], seen["least"], seen["most"]) == (2, 6, 2, None)
    assert seen["sum"] == (True, False, 0)
    assert seen["contents"] == ([[1, 2]], None)
    assert seen["result"] == (DType.FLOAT, 6, 1)
    assert "softcap" in seen["origin"]


def test_several_results(tmp_path):
    def lower(op, x):
        first, second = op.Split(x, outputs=2, axis=-1, num_outputs=2)
        return first, second

    class Module(torch.nn.Module):
        def forward(self, x):
            first, second = torch.ops.onnxport_test.halves(x)
            return second, first

    agrees(convert(tmp_path, Module(), {halves: lower}), Module(), X)
    [error] = refused(tmp_path, Module(), {halves: lambda op, x: x})
    assert "returned 1 of 2 results" in error["message"]


def test_numbers_lists_and_arrays_take_the_type_that_the_operator_wants(tmp_path):
    def lower(op, x, cap, scale):
        rows = op.Shape(x, start=0, end=1)
        flat = op.Reshape(x, [-1])
        back = op.Reshape(flat, [x.shape[0], 6])
        back = op.Reshape(back, [rows, 6])
        back = op.Where(op.Less(back, np.float32(100).reshape(1)), back, 0.0)
        back = op.Clip(back, None, 1000)
        back = op.Pad(back, [0, 0, 0, 1], 0.0)
        back = op.Slice(back, [0], [6], [1])
        return op.Tanh(op.Pow(back / cap, 1)) * op.constant(torch.tensor(cap))

    model = convert(tmp_path, Softcap(), {softcap: lower}, shapes=(BATCH,))
    onnx.checker.check_model(model, full_check=True)
    agrees(model, Softcap(), torch.randn(5, 6))


def test_verbs_and_operators_on_values(tmp_path):
    def lower(op, x, cap, scale):
        y = op.neg(-x) + 0.0 - 0.0
        y = op.select((y < 100.0) & (y > -100.0), y, 0.0)
        y = op.concat([op.slice(y, 1, 0, 3), op.slice(y, 1, 3)], axis=1)
        y = op.transpose(op.transpose(y, [1, 0]), [1, 0])
        y = op.squeeze(op.unsqueeze(y, [0]), [0])
        y = op.reshape_to_result(op.reshape(y, [-1]))
        y = op.cast(op.cast(y, torch.float64), "float32")
        y = op.clamp(y, -50, 50.0) * 1**1 / 1.0
        y = y + 0 * op.reduce("ReduceSum", y, [-1], keepdim=True)
        return cap * op.tanh(y / cap)

    agrees(convert(tmp_path, Softcap(), {softcap: lower}, shapes=(BATCH,)), Softcap(), X)


def test_control_flow(tmp_path):
    def lower(op, x, cap, scale):
        total = op.reduce("ReduceSum", x)
        positive = total > 0.0
        then = op.block(lambda: op.tanh(x / cap) * cap)
        other = op.block(lambda: op.tanh(x / cap) * cap)
        y = op.If(positive, then_branch=then, else_branch=other)

        def step(i, go, carried):
            return op.identity(go), carried + 1.0

        body = op.block(step, (DType.INT64, []), (DType.BOOL, []), (DType.FLOAT, [None, 6]))
        return op.Loop(3, True, y, body=body) - 3.0

    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.ops.onnxport_test.softcap(x, 3.0)

    agrees(convert(tmp_path, Module(), {softcap: lower}), Module(), X)


def test_a_domain_of_its_own_is_kept(tmp_path):
    def lower(op, x, cap, scale):
        return op.custom("com.example", "SoftCap", x, None, cap=cap, mode="tanh", sizes=[1, 2])

    model = convert(tmp_path, Softcap(), {softcap: lower})
    [node] = [node for node in model.graph.node if node.domain == "com.example"]
    assert (node.op_type, len(node.input)) == ("SoftCap", 1)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert attributes == {"cap": 3.0, "mode": b"tanh", "sizes": [1, 2]}
    assert {(o.domain, o.version) for o in model.opset_import} >= {("com.example", 1)}
    assert model.graph.output[0].type.tensor_type.elem_type == DType.FLOAT


def test_a_local_function(tmp_path):
    def lower(op, x, cap, scale):
        def body(x, cap):
            low = op.Constant(value_float=op.refer("bias"))
            return (op.tanh(x / cap) * cap) + low

        return op.function("mylib", "Softcap", x, op.constant(cap), body=body, bias=0.0)

    class Twice(torch.nn.Module):
        def forward(self, x):
            op = torch.ops.onnxport_test.softcap
            return op(op(x, 3.0), 2.0)

    model = convert(tmp_path, Twice(), {softcap: lower})
    assert [f.name for f in model.functions] == ["Softcap"]
    assert kinds(model).count("Softcap") == 2
    agrees(model, Twice(), X)


def test_a_refusal_is_a_sentence_with_the_users_line(tmp_path):
    def lower(op, x, cap, scale):
        if cap > 2:
            raise Refusal("a cap above 2 has no meaning.", help="use 2", code="E1")
        return x

    [error] = refused(tmp_path, Softcap(), {softcap: lower})
    assert error["code"] == "python:E1"
    message = "`onnxport_test.softcap.default` cannot be lowered: a cap above 2 has no meaning"
    assert error["message"] == message
    assert error["help"] == "use 2"
    assert error["file"] == __file__
    assert error["line"] == Softcap.forward.__code__.co_firstlineno + 1


def test_an_exception_is_reported_with_its_traceback_and_the_rest_goes_on(tmp_path):
    def broken(op, x, cap, scale):
        return [][int(cap)]

    class Both(torch.nn.Module):
        def forward(self, x):
            y = torch.ops.onnxport_test.softcap(x, 3.0)
            first, _ = torch.ops.onnxport_test.halves(x)
            return y, first

    given = functions.collect(Custom({softcap: broken, halves: lambda op, x: 3}))
    conversion = program(Both(), X, tmp_path=tmp_path)
    with pytest.raises(_native.Error) as raised:
        conversion.run('{"verify": false}', functions=given)
    first, second = json.loads(raised.value.diagnostics)
    assert first["code"] == second["code"] == "python:raised"
    assert "IndexError: list index out of range" in first["message"]
    assert "return [][int(cap)]" in first["message"]
    assert "onnxport/_operators" not in first["message"]
    assert "values are returned, and this is a int" in second["message"]
    assert [type(error) for error in given.take_raised()] == [IndexError, TypeError]


@pytest.mark.parametrize(
    ("lower", "why"),
    [
        (
            lambda op, x, cap, scale: op.Frobnicate(x),
            "ONNX has no operator `Frobnicate` at opset 20",
        ),
        (lambda op, x, cap, scale: op.frobnicate(x), "an emitter has no verb `frobnicate`"),
        (lambda op, x, cap, scale: op.Relu(x, alpha=1.0), "`Relu` has no attribute `alpha`"),
        (lambda op, x, cap, scale: op.Relu(x, x), "`Relu` takes the inputs X, and 2 are given"),
        (
            lambda op, x, cap, scale: op.Softmax(x, axis=0.5),
            "`axis` of `Softmax` is of the type int",
        ),
        (lambda op, x, cap, scale: op.Cast(x), "`Cast` needs the attribute `to`"),
        (lambda op, x, cap, scale: op.Relu(x, outputs=2), "`Relu` has 1 to 1 outputs, not 2"),
        (
            lambda op, x, cap, scale: op.cast(x, "int64") + 0.5,
            "0.5 is combined with a value of type i64",
        ),
        (lambda op, x, cap, scale: op.Gather(x, 0.5), "input 1 of `Gather` cannot be a number"),
        (lambda op, x, cap, scale: x if x else 2 * x, "a value is not known before the model runs"),
        (lambda op, x, cap, scale: op.cast(x, "double"), "f64, but the program states f32"),
        (lambda op, x, cap, scale: op.reshape(x, [-1]), "1 axes, but the program states 2"),
        (lambda op, x: x, "takes no `cap`, and the call gives 3.0"),
        (lambda op, x, cap, scale: x + "1", "unsupported operand"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path, lower, why):
    [error] = refused(tmp_path, Softcap(), {softcap: lower})
    assert why in error["message"]


def test_values_do_not_outlive_their_call(tmp_path):
    kept = []

    def lower(op, x, cap, scale):
        if kept:
            return kept[0][1] * 2.0
        kept.append((op, x))
        return x * 2.0

    class Twice(torch.nn.Module):
        def forward(self, x):
            op = torch.ops.onnxport_test.softcap
            return op(x) + op(x + 1)

    [error] = refused(tmp_path, Twice(), {softcap: lower})
    assert "only during the call that they were given to" in error["message"]
    with pytest.raises(RuntimeError, match="only during the call that they were given to"):
        kept[0][0].Relu(kept[0][1])
    assert "over" in repr(kept[0][1])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_integers_are_constants_exactly(tmp_path, dtype):
    least, most = (int(of) for of in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    numbers = [least, 0, min(most, 2**53 + 1), min(most, 2**63 - 1)]

    def lower(op, x, cap):
        seen.append(op.constant(numbers, DType.of(np.dtype(dtype))))
        return op.Identity(x) + op.cast(op.ReduceSum(seen[-1], keepdims=0), DType.FLOAT) * 0.0

    seen = []
    model = convert(tmp_path, Softcap(), {softcap: lower}, optimize=False, target="onnx")
    arrays = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    [found] = [array for array in arrays if array.dtype == dtype and array.shape == (4,)]
    assert found.tolist() == numbers


@pytest.mark.parametrize(
    ("number", "dtype"), [(-1, "uint64"), (2.0**64, "uint64"), (1e30, "int64"), (256, "uint8")]
)
def test_numbers_that_a_type_does_not_have_are_refused(tmp_path, number, dtype):
    [error] = refused(tmp_path, Softcap(), {softcap: lambda op, x, cap: op.constant(number, dtype)})
    assert f"cannot be of type {dtype[0]}" in error["message"]


def test_lists_that_nest_without_end_are_refused(tmp_path):
    inside = []
    inside.append(inside)
    deep = [1.0]
    for _ in range(100_000):
        deep = [deep]
    for given in (inside, deep):
        [error] = refused(
            tmp_path, Softcap(), {softcap: lambda op, x, cap, given=given: op.constant(given)}
        )
        assert "ValueError: lists are nested deeper than 64" in error["message"]


@pytest.mark.parametrize(
    ("lower", "said"),
    [
        (lambda op, x, *_: op.Cast(x, to=7), "returned i64, but the program states f32"),
        (lambda op, x, *_: op.ReduceSum(x, keepdims=0), "returned 0 axes, but the program states"),
    ],
)
def test_another_type_than_the_programs_is_the_users_error(lower, said):
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(
            torch.nn.ReLU(),
            (torch.randn(3),),
            custom_translation_table={torch.ops.aten.relu.default: lower},
        )
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.target) == ("OP401", "aten.relu.default")
    assert said in problem.message
    assert "op.Cast" in problem.help
    assert "plugin" not in str(caught.value)
