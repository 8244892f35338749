"""`flex_attention`, which is exported as dense attention."""

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import onnxport
from onnxport._export.flex import dense

DYN = {0: Dim.DYNAMIC, 2: Dim.DYNAMIC}


class Attention(nn.Module):
    """Attention by a function of scores, and by a mask, both of which are given the module."""

    def __init__(self, score=None, mask=None, **options):
        super().__init__()
        self.score, self.mask, self.options = score, mask, options
        self.register_buffer("slopes", torch.linspace(-1, 1, 4))
        self.register_buffer("table", torch.linspace(-1, 1, 4 * 40 * 48).reshape(4, 40, 48))

    def forward(self, query, key, value):
        score = mask = None
        if self.score:

            def score(number, batch, head, row, column):
                return self.score(self, number, batch, head, row, column)

        if self.mask:

            def allowed(batch, head, row, column):
                return self.mask(self, batch, head, row, column)

            lengths = query.shape[2], key.shape[2]
            mask = create_block_mask(allowed, None, None, *lengths, device="cpu")
        return flex_attention(query, key, value, score, mask, **self.options)


def call(batch=2, queries=24, keys=40, shared=1, dtype=torch.float32):
    generator = torch.Generator().manual_seed(batch * 1000 + queries)
    shapes = ((batch, 4, queries, 16), *[(batch, 4 // shared, keys, 16)] * 2)
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)


def results(found):
    leaves = torch.utils._pytree.tree_leaves(found)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def causal(module, batch, head, row, column):
    return row >= column


def window(module, batch, head, row, column):
    return (row >= column) & (row - column <= 5) | (column == 0)


SCORES = {
    "none": None,
    "positions": lambda m, score, b, h, i, j: score + (i - j) * 0.1 * (h + 1) * (b + 1),
    "buffer": lambda m, score, b, h, i, j: score + m.slopes[h],
    "table": lambda m, score, b, h, i, j: score + m.table[h, i, j],
    "step_by_step": lambda m, score, b, h, i, j: score + m.table[h][i][j],
    "relative": lambda m, score, b, h, i, j: score * m.table[0, i // 2, (j - i) % 48],
    "softcap": lambda m, score, b, h, i, j: 20 * torch.tanh(score / 20),
    "closed_rows": lambda m, score, b, h, i, j: torch.where(i > j, score, -float("inf")),
    "constant": lambda m, score, b, h, i, j: score * torch.tensor(2.0),
    "sum_of_a_row": lambda m, score, b, h, i, j: score + m.slopes.sum() * m.slopes[h],
    "other_types": lambda m, score, b, h, i, j: score.clone().to(torch.float64).float(),
}


@pytest.mark.parametrize("name", SCORES)
def test_functions_of_scores_hold_at_other_sizes(name):
    model = Attention(SCORES[name]).eval()
    program = onnxport.export(model, call(), dynamic_shapes=(DYN,) * 3)
    for given in (call(), call(3, 17, 33)):
        torch.testing.assert_close(program(*given)[0], model(*given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("mask", [causal, window])
def test_masks_hold_at_other_sizes(mask, strict):
    model = Attention(SCORES["buffer"], mask, scale=0.5).eval()
    exported = torch.export.export(model, call(), dynamic_shapes=(DYN,) * 3, strict=strict)
    program = onnxport.export(exported)
    for given in (call(), call(3, 17, 33)):
        torch.testing.assert_close(program(*given)[0], model(*given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_heads_that_share_keys_in_other_types(dtype):
    model = Attention(SCORES["buffer"], causal, enable_gqa=True).eval()
    given = call(shared=2, dtype=dtype)
    program = onnxport.export(model, given)
    (found,) = program(*given)
    assert found.dtype is dtype
    torch.testing.assert_close(found, model(*given), rtol=2e-3, atol=2e-3)


def test_the_sums_of_rows_are_a_result():
    def strictly(module, batch, head, row, column):
        return row > column

    model = Attention(None, strictly, return_aux=AuxRequest(lse=True)).eval()
    program = onnxport.export(model, call(), dynamic_shapes=(DYN,) * 3)
    for given in (call(), call(3, 17, 33)):
        wanted = results(model(*given))
        assert len(wanted) == 2
        assert wanted[1][0, 0, 0] == -float("inf")
        for one, other in zip(program(*given), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_mask_of_lengths_is_an_input():
    class Lengths(nn.Module):
        def forward(self, query, key, value, lengths):
            mask = create_block_mask(
                lambda b, h, i, j: j < lengths[b],
                query.shape[0],
                None,
                query.shape[2],
                key.shape[2],
                device="cpu",
            )
            return flex_attention(query, key, value, block_mask=mask)

    model = Lengths().eval()
    shapes = (*(DYN,) * 3, {0: Dim.DYNAMIC})
    given = (*call(), torch.tensor([3, 0]))
    program = onnxport.export(model, given, dynamic_shapes=shapes)
    for one in (given, (*call(3, 17, 33), torch.tensor([33, 5, 0]))):
        torch.testing.assert_close(program(*one)[0], model(*one), rtol=1e-4, atol=1e-5)


def test_a_mask_that_was_made_before():
    class Documents(nn.Module):
        def __init__(self):
            super().__init__()
            documents = torch.arange(24).div(5, rounding_mode="floor")

            def same(batch, head, row, column):
                return documents[row] == documents[column]

            self.mask = create_block_mask(same, None, None, 24, 24, device="cpu")

        def forward(self, query, key, value):
            return flex_attention(query, key, value, block_mask=self.mask)

    model, given = Documents().eval(), call(2, 24, 24)
    program = onnxport.export(model, given)
    torch.testing.assert_close(program(*given)[0], model(*given), rtol=1e-4, atol=1e-5)


def test_two_attentions_leave_nothing_of_their_masks():
    class Two(nn.Module):
        def forward(self, query, key, value):
            def nearer(score, batch, head, row, column):
                return score - (row - column).abs()

            query = flex_attention(query, key, value, nearer)
            return flex_attention(query, key, value, nearer).transpose(1, 2).flatten(2)

    model = Two().eval()
    program = onnxport.export(model, call(), dynamic_shapes=(DYN,) * 3, verify=True)
    for given in (call(), call(3, 17, 33)):
        torch.testing.assert_close(program(*given)[0], model(*given), rtol=1e-4, atol=1e-5)
    targets = {str(node.target) for node in dense(program.exported_program).graph.nodes}
    assert not [one for one in targets if "vmap" in one or "batch_dim" in one or "index_put" in one]


def test_the_program_is_dumped(tmp_path):
    model = Attention(SCORES["positions"]).eval()
    onnxport.export(model, call(), dump_exported_program=True, artifacts_dir=tmp_path)
    (path,) = tmp_path.glob("*.pt2")
    (found,) = onnxport.export(path)(*call())
    torch.testing.assert_close(found, model(*call()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("score", "named"),
    [
        (lambda m, score, b, h, i, j: score + m.table[h].sum(), "aten.sum.default"),
        (lambda m, score, b, h, i, j: score + (m.slopes * i).amax(), "aten.mul.Tensor"),
    ],
)
def test_functions_beyond_single_scores_are_refused(score, named):
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(Attention(score).eval(), call())
    (problem,) = caught.value.diagnostics
    assert problem.code == "OP210"
    assert f"`{named}` in its `score_mod`" in problem.message
    assert problem.file == __file__
