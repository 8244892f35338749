"""How modules become programs: strategies, dynamic shapes, caches of transformers."""

import copy
import inspect
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import torch
import torch.utils._pytree as pytree
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import AdditionalInputs, Dim, ShapesCollection

import onnxport
from onnxport import _errors
from onnxport._export import axes, caches, capture, inputs, refused, shapes, windows

DYN = Dim.DYNAMIC


PACKAGE = Path(__file__).parents[3] / "python"


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class Nested(nn.Module):
    def forward(self, x, more, *, scale=None):
        y = x + more[0] + more[1]["b"]
        return y if scale is None else y * scale


class Branch(nn.Module):
    """Reads a value in Python, so that only draft export makes a program of it."""

    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


def captured(model, args, kwargs=None, given=None, **options):
    wanted = shapes.read(model, args, kwargs or {}, given)
    program, how = capture.capture(model, args, kwargs or {}, wanted, **options)
    return program, how, wanted


def dims(program):
    values = [node.meta["val"] for node in program.graph.find_nodes(op="placeholder")]
    return [[str(size) for size in value.shape] for value in values]


def test_non_strict_export_comes_first():
    _, how, _ = captured(Sum(), (torch.randn(2), torch.randn(2)))
    assert how.strategy == "non-strict"
    assert [attempt.strategy for attempt in how.attempts] == ["non-strict"]
    assert how.diagnostics == ()


def test_strict_export_comes_second():
    class OnlyTraced(nn.Module):
        def forward(self, x):
            if not torch.compiler.is_dynamo_compiling():
                raise RuntimeError("not this way")
            return x + 1

    program, how, _ = captured(OnlyTraced(), (torch.randn(2),))
    assert how.strategy == "strict"
    first, second = how.attempts
    assert isinstance(first.error, RuntimeError)
    assert second.error is None
    assert str(how).startswith("non-strict: RuntimeError: not this way\nstrict: succeeded")
    assert torch.equal(program.module()(torch.zeros(2)), torch.ones(2))


def test_draft_export_comes_last_and_its_findings_are_diagnostics():
    _, how, _ = captured(Branch(), (torch.ones(3),))
    assert how.strategy == "draft"
    assert [attempt.error is None for attempt in how.attempts] == [False, False, True]
    (finding,) = how.diagnostics
    assert (finding.severity, finding.code) == ("warning", "OP211")
    assert "to be True for all data" in finding.message
    assert "torch.where(x.sum() > 0, x + 1, x - 1)" in finding.help
    source, first = inspect.getsourcelines(Branch.forward)
    assert finding.file == __file__
    assert finding.line == first + len(source) - 1


def test_what_no_strategy_exports_is_refused_with_all_reasons():
    with pytest.raises(onnxport.CaptureError, match="PyTorch cannot export Sum") as caught:
        captured(Sum(), (torch.randn(2), torch.randn(3)))
    error = caught.value
    assert [attempt.strategy for attempt in error.attempts] == ["non-strict", "strict", "draft"]
    assert error.exit == 3
    assert error.__cause__ is error.attempts[0].error
    (problem,) = error.diagnostics
    assert (problem.code, problem.file) == ("OP210", __file__)
    (table,) = problem.notes
    assert [line.split()[0] for line in table.splitlines()] == [
        "attempt",
        "non-strict",
        "strict",
        "draft",
    ]


def test_an_error_of_several_strategies_is_one_note():
    class Refuses(nn.Module):
        def forward(self, x):
            raise ValueError("there is no such mode")

    with pytest.raises(onnxport.CaptureError) as caught:
        captured(Refuses(), (torch.randn(2),))
    (problem,) = caught.value.diagnostics
    assert "there is no such mode" in problem.message
    assert problem.notes[0].splitlines()[-1].endswith("the error of non-strict")


class Dedupe(nn.Module):
    """Loops until a tensor is empty, which no attempt can capture."""

    def forward(self, x):
        kept = []
        while x.numel() > 0:
            kept.append(x[0].item() + len(kept))
            x = x[1:][x[1:] != x[0]]
        return torch.zeros(int(kept[-1])).numpy().tolist()


def test_the_error_has_a_table_of_all_attempts():
    with pytest.raises(onnxport.CaptureError) as caught:
        onnxport.export(Dedupe().eval(), (torch.tensor([1, 1, 2]),))
    error = caught.value
    source, first = inspect.getsourcelines(Dedupe.forward)
    loop = first + next(n for n, line in enumerate(source) if "while" in line)
    assert [one.strategy for one in error.attempts] == ["non-strict", "strict", "patched", "draft"]
    plain, _, patched, _ = error.attempts
    assert (plain.file, plain.line) == (__file__, loop)
    assert plain.source == "while x.numel() > 0:"
    assert "torch.while_loop" in plain.next_step
    assert patched.reason == "no patch replaces a function that the model calls"
    assert (patched.file, patched.line) == (None, None)
    assert "onnxport.register_patch" in patched.next_step
    table = error.diagnostics[0].notes[-1].splitlines()
    assert table[0].split() == ["attempt", "line", "error"]
    assert table[1].startswith(f"non-strict  test_capture.py:{loop}  {plain.reason}")
    assert f"next: {patched.next_step}" in table[-2]
    assert "  = attempt" in str(error)


def test_the_line_of_a_strict_attempt_is_in_the_table():
    class Loads(nn.Module):
        def forward(self, x):
            return torch.from_numpy(x.numpy()) @ x

    with pytest.raises(onnxport.CaptureError) as caught:
        captured(Loads(), (torch.ones(4, 2),))
    strict = caught.value.attempts[1]
    assert (strict.strategy, strict.file) == ("strict", __file__)
    assert strict.source == "return torch.from_numpy(x.numpy()) @ x"


def test_what_is_no_module_is_refused():
    with pytest.raises(onnxport.UsageError, match="TorchScript"):
        captured(torch.jit.script(nn.Linear(2, 2)), (torch.randn(2),))
    with pytest.raises(onnxport.UsageError, match="a int is not a module"):
        capture.capture(3, (), {}, shapes.Wanted((None,)))


def test_functions_are_captured():
    def double(x, factor=2):
        return x * factor

    program, how, _ = captured(double, (torch.ones(2),))
    assert how.strategy == "non-strict"
    assert torch.equal(program.module()(torch.ones(2)), torch.full((2,), 2.0))


def test_settings_are_put_back():
    config = torch.fx.experimental._config
    before = config.backed_size_oblivious, torch.jit.isinstance
    with pytest.raises(onnxport.CaptureError):
        captured(Sum(), (torch.randn(2), torch.randn(3)))
    assert (config.backed_size_oblivious, torch.jit.isinstance) == before


@pytest.mark.parametrize("form", [dict, tuple, list])
def test_strings_are_names_of_dynamic_dimensions(form):
    given = {"x": {0: "rows", 1: "columns"}, "y": {1: "columns"}}
    given = given if form is dict else form(given.values())
    args = (torch.randn(2, 3), torch.randn(1, 3))
    program, _, wanted = captured(Sum(), args, None, given)
    names = shapes.names(program, wanted)
    x, y = dims(program)
    assert [names.get(size, size) for size in x] == ["rows", "columns"]
    assert [names.get(size, size) for size in y] == ["1", "columns"]


def test_a_name_at_several_axes_is_one_dimension():
    class Pair(nn.Module):
        def forward(self, x, y):
            return x.sum(1), y.sum(1)

    args = (torch.randn(2, 3), torch.randn(2, 4))
    program, _, wanted = captured(Pair(), args, None, ({0: "batch"}, {0: "batch"}))
    x, y = dims(program)
    assert x[0] == y[0]
    assert shapes.names(program, wanted) == {x[0]: "batch"}


def test_a_name_that_cannot_be_one_dimension_gets_a_number():
    class Pair(nn.Module):
        def forward(self, x, y):
            return x.sum(1), y.sum(1)

    args = (torch.randn(2, 3), torch.randn(5, 4))
    program, _, wanted = captured(Pair(), args, None, ({0: "batch"}, {0: "batch"}))
    with pytest.warns(UserWarning, match="does not make all dimensions called `batch` equal"):
        names = shapes.names(program, wanted)
    assert sorted(names.values()) == ["batch", "batch_1"]


def test_a_second_name_for_a_dimension_is_warned_about():
    args = (torch.randn(2, 3), torch.randn(2, 3))
    program, _, wanted = captured(Sum(), args, None, ({0: "rows"}, {0: "lines"}))
    with pytest.warns(UserWarning, match="axis 0 of `y` is not called `lines`: .* `rows`"):
        assert list(shapes.names(program, wanted).values()) == ["rows"]


def test_a_dimension_that_the_program_fixes_is_warned_about():
    class Fixed(nn.Module):
        def forward(self, x):
            return x + torch.ones(2, 3)

    wanted = shapes.read(Fixed(), (torch.randn(2, 3),), {}, ({0: "rows"},))
    program = torch.export.export(Fixed(), (torch.randn(2, 3),))
    with pytest.warns(UserWarning, match="axis 0 of `x` is not dynamic: the program fixes it at 2"):
        assert shapes.names(program, wanted) == {}


def test_hints_with_bounds_are_pytorchs_choice():
    given = ({0: Dim.AUTO(min=2), 1: Dim.STATIC(min=3)},)
    wanted = shapes.read(nn.ReLU(), (torch.randn(2, 3),), {}, given)
    assert wanted.axes == ()
    assert wanted.candidates == (given,)


def test_names_of_dims_are_kept_also_of_derived_ones():
    class Half(nn.Module):
        def forward(self, x):
            return x.reshape(-1, 2)

    half = Dim("half", min=2)
    program, _, wanted = captured(Half(), (torch.randn(8),), None, ({0: 2 * half},))
    assert list(shapes.names(program, wanted).values()) == ["half"]


def test_shapes_of_nested_inputs():
    args = (torch.randn(2, 3), [torch.randn(2, 3), {"b": torch.randn(1, 3)}])
    kwargs = {"scale": torch.randn(2, 1)}
    given = {"x": {0: "n"}, "more": [{0: "n"}, {"b": None}], "scale": {0: "n"}}
    program, _, wanted = captured(Nested(), args, kwargs, given)
    found = [names[0] for names in dims(program)]
    assert found[0] == found[1] == found[3] != found[2]
    assert shapes.names(program, wanted) == {found[0]: "n"}


def test_the_order_of_keywords_is_that_of_the_call():
    class Later(nn.Module):
        def forward(self, *, a, b):
            return a.sum() + b

    kwargs = {"b": torch.randn(3), "a": torch.randn(4)}
    program, _, wanted = captured(Later(), (), kwargs, {"a": {0: "as"}, "b": {0: "bs"}})
    assert inputs.names(program) == ["b", "a"]
    b, a = (size for (size,) in dims(program))
    assert shapes.names(program, wanted) == {a: "as", b: "bs"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": {5: "n"}}, "`x` has 2 axes, and no axis 5"),
        ({"x": {"0": "n"}}, "'0', which is not an axis"),
        ({"z": {0: "n"}}, "`dynamic_shapes` names `z`"),
        (({0: "n"},), "1 entries for 2 arguments"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(given, said):
    with pytest.raises(onnxport.UsageError, match=said):
        shapes.read(Sum(), (torch.randn(2, 3), torch.randn(2, 3)), {}, given)


def test_names_that_are_no_identifiers_are_changed_with_a_warning():
    args = (torch.randn(2, 3), torch.randn(2, 3))
    given = ({0: "batch size", 1: "a+b"}, {0: "batch size", 1: "a b"})
    with pytest.warns(UserWarning, match="'batch size' is called `batch_size`"):
        wanted = shapes.read(Sum(), args, {}, given)
    assert [axis.name for axis in wanted.axes] == ["batch_size", "a_b", "batch_size", "a_b_1"]
    [first, _], [second, _] = wanted.candidates[0][0].values(), wanted.candidates[0][1].values()
    assert first is second


def test_axes_are_counted_from_the_end():
    program, _, wanted = captured(nn.ReLU(), (torch.randn(2, 3),), None, ({-1: "s"},))
    assert list(shapes.names(program, wanted).values()) == ["s"]
    assert dims(program)[0][0] == "2"


def test_a_dim_that_becomes_an_expression_is_warned_about():
    class Four(nn.Module):
        def forward(self, x):
            return x.reshape(4, -1)

    program, _, wanted = captured(Four(), (torch.randn(8, 6),), None, ({0: Dim("b")},))
    with pytest.warns(UserWarning, match=r"axis 0 of `x` is 2\*_b, and not called `b`"):
        shapes.names(program, wanted)


def test_shapes_of_another_structure_are_refused():
    args = (torch.randn(2), [torch.randn(2), {"b": torch.randn(2)}])
    with pytest.raises(onnxport.UsageError, match="`more` do not have its structure: 2 entries"):
        shapes.read(Nested(), args, {}, {"more": [{0: "n"}]})
    with pytest.raises(onnxport.UsageError, match=r"`more\[1\]` name 'c', which it does not have"):
        shapes.read(Nested(), args, {}, {"more": [None, {"c": {0: "n"}}]})


def test_a_size_of_one_stays_dynamic():
    class Double(nn.Module):
        def forward(self, x):
            return x * 2

    program, how, _ = captured(Double(), (torch.randn(1, 3),), None, ({0: "batch"},))
    assert how.strategy == "non-strict"
    assert not dims(program)[0][0].isdigit()


def test_a_size_of_one_that_is_broadcast_is_fixed_with_a_warning():
    args = (torch.ones(5, 6), torch.ones(1, 6))
    given = ({0: DYN, 1: DYN}, {0: DYN, 1: DYN})
    program, how, wanted = captured(Sum(), args, None, given)
    assert how.strategy == "non-strict"
    [rows, _], [one, _] = dims(program)
    assert (rows.isdigit(), one) == (False, "1")
    with pytest.warns(UserWarning, match="axis 0 of `y` is not dynamic: the program fixes it at 1"):
        shapes.names(program, wanted)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_sequences_of_recurrent_layers_stay_dynamic(kind):
    layer = kind(3, 4, batch_first=True)
    # PyTorch remembers where calls of an operator went.
    with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
        layer(torch.randn(2, 5, 3))
    with torch.inference_mode():
        torch.export.export(layer, (torch.randn(2, 5, 3),))
    with torch.no_grad():
        torch.export.export(layer, (torch.randn(2, 5, 3),))
    program, how, _ = captured(layer, (torch.randn(2, 5, 3),), None, ({0: "batch", 1: "length"},))
    assert how.strategy == "non-strict"
    assert not any(size.isdigit() for size in dims(program)[-1][:2])


class TestDynamicAxes:
    def shapes(self, model, args, given, input_names=None, output_names=None, kwargs=None):
        with pytest.warns(DeprecationWarning, match="`dynamic_axes` is deprecated"):
            return axes.to_shapes(model, args, kwargs or {}, given, input_names, output_names)

    def test_names_and_lists(self):
        args = (torch.randn(2, 3), torch.randn(2, 3))
        given = {"b": [1], "a": {0: "rows"}, "sum": {0: "rows"}}
        found = self.shapes(Sum(), args, given, ["a", "b"], ["sum"])
        assert found == {"x": {0: "rows"}, "y": {1: DYN}}

    def test_parameters_are_names_too(self):
        args = (torch.randn(2, 3), torch.randn(2, 3))
        assert self.shapes(Sum(), args, {"y": {0: "n"}}) == {"x": None, "y": {0: "n"}}

    def test_nested_inputs_are_called_by_the_names_of_their_tensors(self):
        args = (torch.randn(2, 3), [torch.randn(2, 3), {"b": torch.randn(1, 3)}])
        found = self.shapes(Nested(), args, {"p": [0], "r": [1]}, ["p", "q", "r"])
        assert found == {"x": {0: DYN}, "more": [None, {"b": {1: DYN}}]}

    def test_strangers_are_refused(self):
        args = (torch.randn(2, 3), torch.randn(2, 3))
        with pytest.raises(onnxport.UsageError, match="'c', no input and no output"):
            self.shapes(Sum(), args, {"c": [0]}, ["a", "b"], ["sum"])

    @pytest.mark.parametrize("given", [{"x": {"0": "n"}}, {"x": "n"}, {"x": 3}, {"x": ["n"]}])
    def test_other_forms_are_refused(self, given):
        with pytest.raises(onnxport.UsageError, match="`dynamic_axes` of 'x'"):
            self.shapes(Sum(), (torch.randn(2), torch.randn(2)), given)


class TestCaches:
    transformers = pytest.importorskip("transformers")

    @pytest.fixture
    def config(self):
        return self.transformers.LlamaConfig(
            vocab_size=20,
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
        )

    def filled(self, config, cache=None):
        cache = self.transformers.DynamicCache(config=config) if cache is None else cache
        for layer in range(2):
            cache.update(torch.randn(2, 1, 5, 4), torch.randn(2, 1, 5, 4), layer)
        return cache

    def test_classes_are_known_only_meanwhile(self, config):
        kind = self.transformers.DynamicCache
        assert kind not in pytree.SUPPORTED_NODES
        with caches.registered(), caches.registered():
            assert len(pytree.tree_leaves(self.filled(config))) == 4
        assert kind not in pytree.SUPPORTED_NODES
        assert kind not in pytree.SUPPORTED_SERIALIZED_TYPES

    def test_what_others_registered_stays(self):
        class Own(self.transformers.DynamicCache):
            pass

        pytree.register_pytree_node(Own, lambda cache: ([], None), lambda values, _: Own())
        try:
            with caches.registered():
                assert pytree.SUPPORTED_NODES[Own].flatten_fn(None) == ([], None)
            assert Own in pytree.SUPPORTED_NODES
        finally:
            pytree._deregister_pytree_node(Own)

    def test_caches_survive_a_round_trip(self, config):
        static = self.transformers.StaticCache(config=config, max_cache_len=8)
        static.early_initialization(2, 1, 4, torch.float32, torch.device("cpu"))
        both = self.transformers.EncoderDecoderCache(
            self.filled(config), self.transformers.DynamicCache(config=config)
        )
        for cache in (self.filled(config), self.transformers.DynamicCache(), static, both):
            with caches.registered():
                leaves, spec = pytree.tree_flatten(cache)
                again = pytree.tree_unflatten(
                    leaves, pytree.treespec_loads(pytree.treespec_dumps(spec))
                )
                assert pytree.tree_structure(again) == spec
            assert type(again) is type(cache)
            assert vars(again).keys() == vars(cache).keys()
            for one, other in zip(
                getattr(again, "layers", ()), getattr(cache, "layers", ()), strict=True
            ):
                assert type(one) is type(other)
                assert vars(one).keys() == vars(other).keys()

    def test_sliding_windows_survive(self):
        layer = self.transformers.cache_utils.DynamicSlidingWindowLayer(sliding_window=4)
        layer.update(torch.randn(1, 1, 6, 2), torch.randn(1, 1, 6, 2))
        cache = self.transformers.Cache(layers=[layer])
        with caches.registered():
            leaves, spec = pytree.tree_flatten(cache)
            again = pytree.tree_unflatten(leaves, spec).layers[0]
        assert (again.sliding_window, again.cumulative_length) == (4, 6)
        assert torch.equal(again.keys, layer.keys)
        assert int(again._sliding_window_tensor) == 4

    def hybrid(self):
        utils = self.transformers.cache_utils
        cache = utils.DynamicCache()
        cache.layers = [utils.LinearAttentionLayer(), utils.DynamicLayer()]
        cache.layers[0].update_conv_state(torch.ones(1, 2, 4))
        cache.layers[0].update_recurrent_state(torch.ones(1, 2, 3))
        cache.layers[1].update(torch.ones(1, 1, 5, 4), torch.ones(1, 1, 5, 4))
        return cache

    def test_hybrid_caches_are_captured(self):
        class Step(torch.nn.Module):
            def forward(self, x, past):
                conv = past.layers[0].update_conv_state(x)
                state = past.layers[0].update_recurrent_state(
                    past.layers[0].recurrent_states[0] * 2
                )
                return conv, state, past.layers[1].update(x[None], x[None])[0]

        given = {"x": {}, "past": [[{2: "past"}], [{2: "past"}], [{}], [{}]]}
        x = torch.zeros(1, 2, 4)
        with caches.registered():
            again = pytree.tree_unflatten(*pytree.tree_flatten(self.hybrid()))
            for one, other in zip(again.layers, self.hybrid().layers, strict=True):
                assert vars(one).keys() == vars(other).keys()
            assert again.layers[0].has_previous_state == {0: True}
            assert again.layers[0].dtype == torch.float32
            program, _, _ = captured(Step(), (x, self.hybrid()), {}, given)
            got = program.module()(x, self.hybrid())
        assert all(map(torch.equal, got, Step()(x, self.hybrid())))

    def test_prompts_are_shorter_and_longer_than_a_kernel(self):
        utils = self.transformers.cache_utils

        class Prefill(torch.nn.Module):
            def forward(self, x):
                cache = utils.DynamicCache()
                cache.layers = [utils.LinearAttentionLayer()]
                seen = cache.layers[0].update_conv_state(x, conv_kernel_size=4)
                return seen[..., -x.shape[-1] :], cache.layers[0].conv_states[0]

        for size in (2, 6):
            x = torch.randn(1, 2, size)
            program = onnxport.export(Prefill().eval(), (x,), dynamic_shapes=({2: "tokens"},))
            for tokens in (2, 3, 4, 5, 9):
                x = torch.randn(1, 2, tokens)
                assert all(map(torch.equal, program(x), Prefill()(x))), (size, tokens)
        assert "any_prompt" not in utils.LinearAttentionLayer.update_conv_state.__qualname__

    def windows(self, length, *kinds):
        utils = self.transformers.cache_utils
        make = {"window": lambda: utils.DynamicSlidingWindowLayer(4), "full": utils.DynamicLayer}
        cache = utils.DynamicCache()
        cache.layers = [make[kind]() for kind in kinds]
        for layer in cache.layers:
            layer.update(*torch.arange(2.0 * length).reshape(2, 1, 1, length, 1))
        return cache

    @pytest.mark.parametrize(
        ("length", "kinds", "others"),
        [(2, ["window"], [1, 3]), (6, ["window", "full"], [5, 9])],
    )
    def test_sliding_windows_take_a_dynamic_past(self, length, kinds, others):
        class Step(torch.nn.Module):
            def forward(self, x, past):
                size, offset = past.get_mask_sizes(x.shape[2], 0)
                keys = [past.update(x, x, index)[0] for index in range(len(past.layers))]
                return keys, torch.arange(size) + offset, past.get_seq_length() + x

        x = torch.ones(1, 1, 3, 1)
        grows = {"window": {2: "past"} if length < 4 else {}, "full": {2: "past"}}
        given = {"x": {}, "past": [[grows[kind] for kind in kinds]] * 2}
        with caches.registered():
            program, _, _ = captured(Step(), (x, self.windows(length, *kinds)), {}, given)
            for other in [length, *others]:
                got = program.module()(x, self.windows(other, *kinds))
                want = Step()(x, self.windows(other, *kinds))
                assert all(map(torch.equal, pytree.tree_leaves(got), pytree.tree_leaves(want)))
            with pytest.raises((AssertionError, ValueError)):
                program.module()(x, self.windows(6 if length < 4 else 2, *kinds))

    class Reading(torch.nn.Module):
        """A step whose results depend on `kind` and on the tokens in the window."""

        def __init__(self, kind):
            super().__init__()
            self.kind = kind

        def forward(self, input_ids, past, attention_mask=None):
            size, offset = past.get_mask_sizes(input_ids.shape[1], 0)
            seen = past.get_seq_length()
            x = input_ids[:, None, :, None] + (seen if self.kind == "positions" else 0.0)
            # Where the window begins, from the first new token.
            keys = past.update(x, x, 0)[0]
            return keys, torch.arange(size) + (offset - seen)

    def test_windows_say_for_which_lengths_the_model_holds(self):
        x, positions = torch.ones(1, 3), self.Reading("positions")
        with pytest.raises(onnxport.UsageError, match="fewer than 4 tokens"):
            windows.check(positions, (x, self.windows(6, "window")), {}, None)
        with pytest.warns(UserWarning, match="caches of fewer than 4 tokens"):
            windows.check(positions, (x, self.windows(2, "window")), {}, {})
        mask = {"attention_mask": torch.ones(1, 8)}
        with pytest.raises(onnxport.UsageError, match=r"columns for 5 tokens .* has seen 6"):
            windows.check(positions, (x, self.windows(6, "window")), mask, None)
        with warnings.catch_warnings(), caches.registered():
            warnings.simplefilter("error")
            windows.check(positions, (x, self.windows(6, "window", "full")), {}, {})
            windows.check(self.Reading(""), (x, self.windows(6, "window")), {}, {})
            windows.check(self.Reading(""), (x, self.windows(2, "window")), {}, {})
            mask = {"attention_mask": torch.ones(1, 9)}
            windows.check(positions, (x, self.windows(6, "window")), mask, {})

    @pytest.mark.parametrize(("kind", "masked"), [("positions", True), ("", False)])
    def test_one_model_serves_full_windows_and_others(self, kind, masked):
        step = self.Reading(kind)

        def given(length, tokens):
            mask = {"attention_mask": torch.ones(1, length + tokens)} if masked else {}
            return {
                "input_ids": torch.rand(1, tokens),
                "past": self.windows(length, "window"),
            } | mask

        sizes = {"input_ids": {1: "tokens"}, "past": [[{2: "window"}]] * 2}
        mask = {"attention_mask": {1: "total"}} if masked else {}
        program = onnxport.export(step, kwargs=given(6, 3), dynamic_shapes=sizes | mask)
        for length, tokens in [(6, 3), (1, 2), (3, 2), (4, 5), (17, 4)]:
            call = given(length, tokens)
            want = step(**copy.deepcopy(call))
            assert all(map(torch.equal, program(**call), want)), (length, tokens)

    def test_a_decoder_is_captured(self, config):
        model = self.transformers.LlamaForCausalLM(config).eval()
        cache = self.filled(config)
        kwargs = {"input_ids": torch.randint(0, 20, (2, 3)), "past_key_values": cache}
        layer = {0: "batch", 2: "past"}
        given = {"input_ids": {0: "batch", 1: "tokens"}, "past_key_values": [[layer] * 2] * 2}
        with caches.registered():
            program, how, wanted = captured(model, (), kwargs, given)
            names = shapes.names(program, wanted)
        assert how.strategy == "non-strict"
        assert sorted(names.values()) == ["batch", "past", "tokens"]
        assert inputs.names(program) == [
            "input_ids",
            "past_key_values_key_cache_0",
            "past_key_values_key_cache_1",
            "past_key_values_value_cache_0",
            "past_key_values_value_cache_1",
        ]


class TestCalls:
    @pytest.fixture
    def program(self):
        args = (torch.randn(2, 3), [torch.randn(2, 3), {"b": torch.randn(1, 3)}])
        return torch.export.export(Nested(), args, {"scale": 2.0})

    def test_leaves_are_in_the_order_of_the_program(self, program):
        x, y, b = torch.zeros(2, 3), torch.ones(2, 3), torch.ones(1, 3)
        for args, kwargs in [
            ((x, [y, {"b": b}]), {"scale": 2.0}),
            ((x,), {"more": [y, {"b": b}], "scale": 2.0}),
            ((), {"scale": 2.0, "more": [y, {"b": b}], "x": x}),
        ]:
            found = inputs.leaves(program, args, kwargs)
            assert found[0] is x
            assert found[2] is b
        assert inputs.taken(program) == [0, 1, 2]

    def test_other_calls_are_refused(self, program):
        x = torch.zeros(2, 3)
        with pytest.raises(onnxport.UsageError, match="2 positional, scale"):
            inputs.leaves(program, (x,), {})
        with pytest.raises(onnxport.UsageError, match="do not have the structure"):
            inputs.leaves(program, (x, [x]), {"scale": 2.0})


@pytest.mark.parametrize(
    "argument",
    [
        {"dynamo": False},
        {"training": torch.onnx.TrainingMode.TRAINING},
        {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN},
        {"do_constant_folding": False},
        {"custom_opsets": {"own": 1}},
        {"autograd_inlining": False},
    ],
)
def test_what_has_no_meaning_is_refused_by_a_sentence(argument):
    with pytest.raises(onnxport.UsageError, match="has no meaning here") as caught:
        refused.check(**argument)
    (problem,) = caught.value.diagnostics
    assert problem.help
    assert problem.code == "OP001"


def test_what_says_nothing_is_accepted():
    refused.check(
        dynamo=True,
        training=torch.onnx.TrainingMode.EVAL,
        operator_export_type=torch.onnx.OperatorExportTypes.ONNX,
        do_constant_folding=True,
        custom_opsets={},
        autograd_inlining=True,
    )


def test_the_signature_has_every_parameter_of_torch():
    own = inspect.signature(onnxport.export).parameters
    theirs = inspect.signature(torch.onnx.export).parameters
    assert not theirs.keys() - own.keys()
    assert list(own)[:3] == list(theirs)[:3]
    for name, parameter in theirs.items():
        if name not in ("training", "operator_export_type"):
            assert own[name].default == parameter.default, name
            assert own[name].kind == parameter.kind, name


class TestErrors:
    def test_a_class_for_each_exit_code(self):
        assert sorted(_errors.BY_EXIT) == [2, 3, 4, 5, 6, 70]
        for exit, kind in _errors.BY_EXIT.items():
            error = _errors.of_exit(exit, [onnxport.Diagnostic("error", "OP301", "no")])
            assert isinstance(error, kind)
            assert isinstance(error, onnxport.Error)
            assert isinstance(error, torch.onnx.OnnxExporterError)
            assert error.exit == exit
            assert error.diagnostics[0].code == "OP301"
            assert str(error).startswith("error[OP301]: no\n  help: ")
        assert isinstance(_errors.of_exit(130, []), KeyboardInterrupt)

    def test_handlers_of_pytorch_catch_it(self):
        with pytest.raises(torch.onnx.OnnxExporterError):
            raise onnxport.UnsupportedError("no")

    def test_without_pytorch_there_is_the_same_class(self):
        code = (
            "import onnxport, sys, pickle\n"
            "error = onnxport.UsageError('no')\n"
            "assert 'torch' not in sys.modules and type(error) is onnxport.UsageError\n"
            "assert isinstance(pickle.loads(pickle.dumps(error)), onnxport.UsageError)\n"
            "import torch\n"
            "later = onnxport.UsageError('no')\n"
            "assert isinstance(later, onnxport.UsageError)\n"
            "assert isinstance(later, torch.onnx.OnnxExporterError)\n"
            "assert isinstance(pickle.loads(pickle.dumps(later)), onnxport.UsageError)\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


def test_importing_loads_nothing():
    code = (
        "import sys, onnxport\n"
        "assert set(onnxport.__all__) <= set(dir(onnxport))\n"
        "heavy = {'torch', 'numpy', 'onnx', 'onnxruntime', 'onnxport._native'}\n"
        "loaded = heavy & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE)


class Asks(nn.Module):
    """Computes something else when it is told that it is exported."""

    def forward(self, x):
        return x.sin() if torch.onnx.is_in_onnx_export() else x.cos()


@pytest.mark.parametrize("strategy", ["non-strict", "strict", "draft"])
def test_modules_are_told_that_they_are_exported(strategy):
    program, _, _ = captured(Asks(), (torch.ones(3),), strategies=(strategy,))
    targets = {str(node.target) for node in program.graph.nodes}
    assert targets & {"aten.sin.default", "aten.cos.default"} == {"aten.sin.default"}
    assert not torch.onnx.is_in_onnx_export()


def test_modules_are_told_only_as_long_as_they_are_captured():
    with pytest.raises(onnxport.CaptureError):
        captured(Branch(), (torch.ones(3),), strategies=("non-strict",))
    assert not torch.onnx.is_in_onnx_export()


def test_threads_capture_one_after_the_other():
    failed = []

    def work():
        try:
            for _ in range(2):
                captured(Sum(), (torch.ones(2, 3), torch.ones(3)))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def equal_rows(sizes):
    """Return shapes that further inputs of `sizes` rows ask for."""
    shapes = AdditionalInputs()
    for one, other in sizes:
        shapes.add((torch.ones(one, 3), torch.ones(other, 3)))
    return shapes


def test_further_inputs_say_what_is_dynamic():
    args = (torch.ones(5, 3), torch.ones(5, 3))
    program, _, _ = captured(Sum(), args, given=equal_rows([(4, 4)]))
    [[rows, columns], _] = dims(program)
    assert (rows.isdigit(), columns) == (False, "3")
    with pytest.raises(onnxport.CaptureError, match="to be equal to 4, but got 2"):
        captured(Sum(), args, given=equal_rows([(4, 2)]), strategies=("non-strict",))
    with pytest.raises(onnxport.UsageError, match="does not fit this call"):
        captured(Sum(), (torch.ones(5, 3), 2), given=equal_rows([(4, 4)]))


def test_shapes_by_tensor_say_what_is_dynamic():
    args = (torch.ones(5, 3), torch.ones(5, 3))
    given = ShapesCollection()
    given[args[0]] = given[args[1]] = {0: DYN}
    program, _, _ = captured(Sum(), args, given=given)
    assert [row.isdigit() for row, _ in dims(program)] == [False, False]


def hashed(x):
    return torch.hash_tensor(x)


class Helped(torch.nn.Module):
    def forward(self, x):
        return hashed(x)


@pytest.mark.parametrize("model", [Helped(), hashed], ids=["module", "function"])
def test_the_line_of_a_helper_is_named(model):
    line = hashed.__code__.co_firstlineno + 1
    with pytest.raises(onnxport.Error, match=rf"test_capture.py:{line} in hashed"):
        onnxport.export(model, (torch.rand(4, 4),))


class Extra(nn.Module):
    """Takes a tensor and a number by names that its signature does not have."""

    def forward(self, x, **others):
        return (x + others["y"]) * others["scale"]


@pytest.mark.parametrize(
    "given",
    [
        {"x": {0: "n"}, "y": {0: "n"}, "scale": None},
        {"x": {0: "n"}, "y": {0: "n"}},
        {"x": {0: "n"}, "others": {"y": {0: "n"}, "scale": None}},
    ],
)
def test_extra_arguments_may_be_named_beside_the_others(given):
    call = {"x": torch.rand(3), "y": torch.rand(3), "scale": 2}
    program = onnxport.export(Extra().eval(), kwargs=call, dynamic_shapes=given)
    x, y = torch.rand(5), torch.rand(5)
    torch.testing.assert_close(program(x=x, y=y, scale=2)[0], (x + y) * 2)
