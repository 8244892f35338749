"""`onnxport.observe`: recordings, and conclusions from them."""

import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxport

DYN = Dim.DYNAMIC


class Two(nn.Module):
    def forward(self, x, y=None):
        return x if y is None else x + y


def watched(model, *calls, **options):
    observer = onnxport.Observer(**options)
    with observer(model, store_n_calls=len(calls) or 1):
        for args, kwargs in calls:
            model(*args, **kwargs)
    return observer


def pair(*sizes):
    return torch.randn(*sizes), torch.randn(1, sizes[1])


def test_arguments_that_the_module_does_not_take_are_refused():
    seen = watched(Two(), (pair(5, 6), {}))
    with pytest.raises(onnxport.UsageError, match="unexpected keyword argument 'z'"):
        seen.infer_arguments({"x": torch.randn(2), "z": torch.randn(2)})


def test_positional_tensors_give_a_tuple():
    model = Two()
    seen = watched(model, (pair(5, 6), {}), (pair(7, 7), {}))
    assert seen.num_obs() == 2
    assert seen.infer_dynamic_shapes() == ({0: DYN, 1: DYN}, {1: DYN})
    args = seen.infer_arguments()
    assert isinstance(args, tuple)
    assert [tuple(value.shape) for value in args] == [(5, 6), (1, 6)]
    assert "forward" not in vars(model)


def test_keywords_give_a_dict_in_the_order_of_the_signature():
    x, y = pair(5, 6)
    z, w = pair(7, 7)
    seen = watched(Two(), ((), {"y": y, "x": x}), ((), {"x": z, "y": w}))
    assert list(seen.infer_dynamic_shapes()) == ["x", "y"]
    assert list(seen.infer_arguments()) == ["x", "y"]
    args, kwargs = seen.infer_arguments(as_args_kwargs=True)
    assert args == ()
    assert list(kwargs) == ["x", "y"]


def test_positional_and_keywords_are_named():
    x, y = pair(5, 6)
    seen = watched(Two(), ((x,), {"y": y}), ((x[:3],), {"y": y}))
    assert seen.infer_dynamic_shapes() == {"x": {0: DYN}, "y": {}}
    assert list(seen.infer_arguments()) == ["x", "y"]
    args, kwargs = seen.infer_arguments(as_args_kwargs=True)
    assert len(args) == 1
    assert list(kwargs) == ["y"]


def test_what_some_calls_lack_has_no_elements():
    x, y = pair(5, 6)
    seen = watched(Two(), ((x,), {}), ((x, y), {}), ((x[:, :2], y[:, :2]), {}))
    first = seen.infer_arguments(0)
    assert [tuple(value.shape) for value in first] == [(5, 6), (1, 0)]
    assert [tuple(value.shape) for value in seen.infer_arguments()] == [(5, 6), (1, 6)]
    assert torch.equal(seen.infer_arguments(2)[1], y[:, :2])


def test_what_never_varies_is_zeros_where_it_is_lacking():
    x, y = pair(5, 6)
    seen = watched(Two(), ((x,), {}), ((x, y), {}))
    assert torch.equal(seen.infer_arguments(0)[1], torch.zeros(1, 6))


def test_every_axis_says_why():
    x, y = pair(5, 6)
    seen = watched(Two(), ((x,), {}), ((x[:2], y), {}))
    assert [str(axis) for axis in seen.axes] == [
        "x, axis 0: dynamic, as its size was 2 and 5",
        "x, axis 1: static, as its size was 6 in all 2 calls",
        "y, axis 0: static, as only one call gives it, with 1",
        "y, axis 1: static, as only one call gives it, with 6",
    ]
    assert str(seen).startswith("2 calls\nx, axis 0: dynamic")


@pytest.mark.parametrize("which", [True, {"x", "y"}, {0, 1}, ["x", 1]])
def test_the_batch_may_be_named(which):
    x, y = pair(5, 6)
    seen = watched(Two(), ((x, y), {}))
    assert seen.infer_dynamic_shapes(set_batch_dimension_for=which) == ({0: DYN}, {0: DYN})


def test_the_batch_of_one_argument_only():
    seen = watched(Two(), (pair(5, 6), {}))
    assert seen.infer_dynamic_shapes(set_batch_dimension_for={"y"}) == ({}, {0: DYN})
    with pytest.raises(onnxport.UsageError, match="no argument 'z'"):
        seen.infer_dynamic_shapes(set_batch_dimension_for={"z"})


class Nested(nn.Module):
    def forward(self, x, more, *, table=None):
        y = x + more[0] + more[1]["b"]
        return y if table is None else y * table


def test_nested_arguments_keep_their_structure():
    def call(n):
        return (torch.randn(n, 3), [torch.randn(n, 3), {"b": torch.randn(1, 3)}]), {}

    seen = watched(Nested(), call(2), call(4))
    assert seen.infer_dynamic_shapes() == ({0: DYN}, [{0: DYN}, {"b": {}}])
    args = seen.infer_arguments()
    assert isinstance(args[1], list)
    assert isinstance(args[1][1], dict)
    assert len(seen.infer_arguments(flat=True)) == 3


def test_containers_of_different_sizes_are_refused():
    class Any(nn.Module):
        def forward(self, xs):
            return xs[0]

    x = torch.randn(2)
    seen = watched(Any(), (([x],), {}), (([x, x],), {}))
    with pytest.raises(onnxport.UsageError, match="`xs` has 1 and 2 values"):
        seen.infer_dynamic_shapes()


def test_an_empty_container_is_as_good_as_nothing():
    class Any(nn.Module):
        def forward(self, x, xs=None):
            return x

    x = torch.randn(2)
    seen = watched(Any(), ((x, []), {}), ((x, [x, x]), {}))
    assert seen.infer_dynamic_shapes() == ({}, [{}, {}])
    assert [tuple(t.shape) for t in seen.infer_arguments(0)[1]] == [(2,), (2,)]


def test_ranks_must_agree():
    seen = watched(Two(), ((torch.randn(2),), {}), ((torch.randn(2, 2),), {}))
    with pytest.raises(onnxport.UsageError, match="different numbers of axes"):
        seen.infer_dynamic_shapes()


class Scaled(nn.Module):
    def forward(self, x, scale=1.0, mode="sum", flag=False):
        return x * scale


def test_constants_that_are_defaults_are_left_out():
    x = torch.randn(3)
    seen = watched(Scaled(), ((x,), {"scale": 1.0}), ((x[:2],), {"mode": "sum"}))
    assert seen.infer_dynamic_shapes() == ({0: DYN},)
    assert len(seen.infer_arguments()) == 1


def test_other_constants_are_kept_and_must_agree():
    x = torch.randn(3)
    seen = watched(Scaled(), ((x,), {"scale": 2.0}), ((x[:2],), {"scale": 2.0}))
    assert seen.infer_dynamic_shapes() == {"x": {0: DYN}, "scale": None}
    assert seen.infer_arguments()["scale"] == 2.0
    seen = watched(Scaled(), ((x,), {"scale": 2.0}), ((x,), {"scale": 3.0}))
    with pytest.raises(onnxport.UsageError, match=r"`scale` is 2.0 and 3.0"):
        seen.infer_dynamic_shapes()


class Variadic(nn.Module):
    def forward(self, x, *rest, **more):
        return x + sum(rest) + sum(more.values())


def test_variadic_arguments():
    def call(n):
        return (torch.randn(n), torch.randn(n), torch.randn(1)), {"w": torch.randn(n)}

    seen = watched(Variadic(), call(2), call(3))
    shapes = {"x": {0: DYN}, "rest": ({0: DYN}, {}), "more": {"w": {0: DYN}}}
    assert seen.infer_dynamic_shapes() == shapes
    args, kwargs = seen.infer_arguments(as_args_kwargs=True)
    assert len(args) == 3
    assert list(kwargs) == ["w"]
    with pytest.raises(onnxport.UsageError, match=r"arguments in `\*args` have no names"):
        seen.infer_arguments()
    torch.export.export(Variadic(), args, kwargs, dynamic_shapes=shapes)


def test_given_arguments_are_completed():
    x, y = pair(5, 6)
    seen = watched(Two(), ((x, y), {}), ((x[:, :2], y[:, :2]), {}))
    args = seen.infer_arguments((x,))
    assert [tuple(value.shape) for value in args] == [(5, 6), (1, 0)]
    with pytest.raises(onnxport.UsageError, match="a str is neither"):
        seen.infer_arguments("x")
    with pytest.raises(onnxport.UsageError, match="there is no call 2"):
        seen.infer_arguments(2)


def test_values_for_what_is_missing():
    x, y = pair(5, 6)
    seen = watched(Two(), ((x,), {}), value_if_missing={"y": y[:, :0]})
    assert [tuple(t.shape) for t in seen.infer_arguments().values()] == [(5, 6), (1, 0)]
    by_place = watched(Two(), ((x,), {}), value_if_missing={1: y})
    assert torch.equal(by_place.infer_arguments()["y"], y)
    with pytest.raises(onnxport.UsageError, match="unknown argument `z`"):
        watched(Two(), ((x,), {}), value_if_missing={"z": y})
    with pytest.raises(onnxport.UsageError, match="unknown argument 7"):
        watched(Two(), ((x,), {}), value_if_missing={7: y})
    with pytest.raises(TypeError, match="neither the name nor the position"):
        watched(Two(), ((x,), {}), value_if_missing={1.5: y})


def test_recorded_tensors_are_copies():
    x = torch.zeros(3)
    seen = watched(Two(), ((x,), {}))
    x += 1
    assert torch.equal(seen.infer_arguments()[0], torch.zeros(3))


def test_nothing_is_recorded_beyond_the_number_and_outside():
    model, x = Two(), torch.randn(3)
    with onnxport.observe(model, calls=1) as seen:
        model(x)
        model(-x)
    model(x[:2])
    assert seen.num_obs() == 1
    assert torch.equal(seen.infer_arguments()[0], x)
    with seen(model, 2):
        model(x[:1])
    assert seen.num_obs() == 2
    assert seen.infer_dynamic_shapes() == ({0: DYN},)


def test_a_size_that_varies_is_recorded_beyond_the_number():
    model, x = Two(), torch.randn(3, 4)
    with onnxport.observe(model, calls=1) as seen:
        for rows in (3, 2, 1):
            model(x[:rows])
        model(x[:, :2])
    assert [tuple(call.arguments["x"].shape) for call in seen.calls] == [(3, 4), (2, 4), (3, 2)]
    assert seen.infer_dynamic_shapes() == ({0: DYN, 1: DYN},)


def test_a_failing_call_is_not_recorded_and_the_method_is_restored():
    model = nn.Linear(3, 3)
    seen = onnxport.Observer()
    with pytest.raises(RuntimeError), seen(model):
        model(torch.randn(4))
    assert seen.num_obs() == 0
    assert "forward" not in vars(model)
    with pytest.raises(onnxport.UsageError, match="no call was recorded"):
        seen.infer_dynamic_shapes()


def test_other_methods_are_watched_and_signatures_stay():
    class Other(nn.Module):
        def encode(self, x, mask=None):
            return x

    model = Other()
    with onnxport.observe(model, method="encode") as seen:
        import inspect

        assert list(inspect.signature(model.encode).parameters) == ["x", "mask"]
        model.encode(torch.randn(2))
    assert seen.num_obs() == 1
    with pytest.raises(onnxport.UsageError, match="no method `decode`"), seen(model, 1, "decode"):
        pass


def test_two_samples_without_running():
    seen = onnxport.Observer()
    seen.add(Two(), torch.randn(2, 3)).add(Two(), torch.randn(4, 3))
    assert seen.infer_dynamic_shapes() == ({0: DYN},)


def test_a_method_that_is_an_attribute_comes_back():
    model = nn.Identity()
    own = model.forward = lambda x: x
    with onnxport.observe(model):
        model(torch.randn(2))
    assert model.forward is own


def test_caches_are_taken_apart():
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        bos_token_id=1,
        eos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    with onnxport.observe(model, calls=3) as seen:
        model.generate(torch.randint(3, 20, (1, 4)), max_new_tokens=4, do_sample=False)
    shapes = seen.infer_dynamic_shapes(
        set_batch_dimension_for={"input_ids", "attention_mask", "past_key_values"}
    )
    layers = [[{0: DYN, 2: DYN}] * 2] * 2
    assert shapes["past_key_values"] == layers
    assert shapes["input_ids"] == {0: DYN, 1: DYN}


class Constant(nn.Module):
    def __init__(self, *values, dtype=torch.float32):
        super().__init__()
        self.register_buffer("values", torch.tensor(values, dtype=dtype))

    def forward(self, x):
        return x + self.values


def discrepancy(seen, watched, dtype=torch.float32):
    """Return the row for a model that gives `watched` where the module gave `seen`."""
    model = Constant(*seen, dtype=dtype).eval()
    zeros = torch.zeros(len(seen), dtype=dtype)
    observer = onnxport.Observer()
    with observer(model, store_n_calls=1):
        model(zeros)
    program = onnxport.export(Constant(*watched, dtype=dtype).eval(), (zeros,))
    [row] = observer.check_discrepancies(program, atol=1e-3, rtol=1e-3)
    return row


@pytest.mark.parametrize("values", [(1.0, -2.5), (float("nan"), float("inf"))])
def test_a_model_that_agrees(values):
    row = discrepancy(values, values)
    assert (row["SUCCESS"], row["abs"], row["rel"]) == (True, 0.0, 0.0)


@pytest.mark.parametrize(
    ("seen", "given", "off"),
    [
        ((1.0, 2.0), (1.0, 2.5), 0.5),
        ((1.0, float("nan")), (1.0, 2.0), float("inf")),
        ((1.0, 2.0), (float("nan"), 2.0), float("inf")),
        ((float("inf"), 2.0), (float("-inf"), 2.0), float("inf")),
    ],
)
def test_a_model_that_does_not_agree(seen, given, off):
    row = discrepancy(seen, given)
    assert not row["SUCCESS"]
    assert row["abs"] == off


def test_large_integers_are_compared_exactly():
    row = discrepancy((1 << 60,), ((1 << 60) + 1,), torch.int64)
    assert (row["SUCCESS"], row["abs"]) == (False, 1.0)


def test_keyword_calls_are_exported():
    calls = [((), {"x": torch.ones(size), "y": torch.ones(size)}) for size in (2, 3)]
    seen = watched(Two().eval(), *calls)
    program = seen.export()
    assert program.input_names == ["x", "y"]
    assert all(row["SUCCESS"] for row in seen.check_discrepancies(program))
