"""Lowerings that take nested graphs, and complex tensors."""

import pytest
import torch

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")

from test_operators import X, agrees, convert, kinds, lower_softcap, refused, softcap

from onnxport._operators import functions, registry
from onnxport._operators.dtype import DType


def test_a_nested_graph_is_lowered_where_it_is_called(tmp_path):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: softcap(x, 3.0), (x,))

    seen = {}

    def lower(op, predicate, yes, no, operands):
        seen["takes"], seen["gives"] = yes.inputs, no.outputs
        both = [op.block(lambda graph=graph: graph(*operands)) for graph in (yes, no)]
        return op.If(predicate, then_branch=both[0], else_branch=both[1])

    table = {"higher_order.cond": lower, softcap: lower_softcap}
    model = convert(tmp_path, Branches(), table)
    assert kinds(model)[-1] == "If"
    assert seen["takes"] == seen["gives"] == [(DType.FLOAT, (4, 6))]
    for x in (X, X - 5):
        agrees(model, Branches(), x)


def test_a_nested_graph_can_be_a_part_of_the_graph(tmp_path):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    def lower(op, predicate, yes, no, operands):
        return op.Where(predicate, yes(*operands), no(*operands))

    model = convert(tmp_path, Branches(), {torch.ops.higher_order.cond: lower})
    assert "If" not in kinds(model)
    for x in (X, X - 5):
        agrees(model, Branches(), x)

    def wrong(op, predicate, yes, no, operands):
        return yes()

    [error] = refused(tmp_path, Branches(), {"higher_order.cond": wrong})
    assert "a nested graph takes 1 values, and 0 are given" in error["message"]


@torch.library.custom_op("onnxport_test::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    return x * 1j


turned.register_fake(torch.empty_like)


class Turned(torch.nn.Module):
    def forward(self, x):
        return torch.view_as_real(turned(torch.view_as_complex(x)))


def test_complex_tensors_are_pairs(tmp_path):
    def lower(op, x):
        assert x.shape[-1] == 2
        real, imaginary = op.Split(x, num_outputs=2, axis=-1, outputs=2)
        return op.concat([-imaginary, real], axis=-1)

    x = torch.randn(3, 2)
    [error] = refused(tmp_path, Turned(), {turned: lower}, x)
    assert "complex" in error["message"]
    before = dict(functions.LOWERINGS)
    try:
        registry.lowering(turned, complex=True)(lower)
        agrees(convert(tmp_path, Turned(), None, x), Turned(), x)
    finally:
        functions.LOWERINGS.clear()
        functions.LOWERINGS.update(before)
    lower.takes_complex = True
    agrees(convert(tmp_path, Turned(), {turned: lower}, x), Turned(), x)
