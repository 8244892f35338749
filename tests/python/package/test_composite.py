"""Operators of users that PyTorch makes of its own, and that have no lowering."""

import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxport

LIBRARY = torch.library.Library("onnxport_composite", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.define("four_times(Tensor x) -> Tensor")
LIBRARY.define("opaque(Tensor x) -> Tensor")
OPS = torch.ops.onnxport_composite


@torch.library.impl(LIBRARY, "twice", "CompositeImplicitAutograd")
def twice(x):
    return (x + x).relu()


@torch.library.impl(LIBRARY, "four_times", "CompositeImplicitAutograd")
def four_times(x):
    return OPS.twice(OPS.twice(x))


@torch.library.impl(LIBRARY, "opaque", "CompositeExplicitAutograd")
def opaque(x):
    return x + 1


def module(compute):
    class Computes(nn.Module):
        def forward(self, x):
            return compute(x)

    return Computes().eval()


@pytest.mark.parametrize("name", ["twice", "four_times"])
def test_an_operator_is_decomposed_as_torch_does(name):
    model = module(lambda x: getattr(OPS, name)(x) * 3)
    program = onnxport.export(model, (torch.randn(3),), dynamic_shapes=({0: Dim.DYNAMIC},))
    x = torch.randn(5)
    assert torch.equal(program(x)[0], model(x))
    # The program is the user's, and verification holds the model against it.
    assert name in str(program.exported_program)


def test_a_lowering_of_the_users_own_goes_first():
    def lowered(op, x):
        return op.Neg(x)

    program = onnxport.export(
        module(OPS.twice),
        (torch.randn(3),),
        custom_translation_table={OPS.twice.default: lowered},
    )
    assert [node.op_type for node in program.model.graph] == ["Neg"]


def test_what_cannot_be_decomposed_stays_refused_by_its_name():
    model = module(lambda x: OPS.opaque(OPS.twice(x)))
    with pytest.raises(onnxport.UnsupportedError) as caught:
        onnxport.export(model, (torch.randn(3),))
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.target) == ("OP301", "onnxport_composite.opaque.default")


def test_what_a_lowering_refuses_is_decomposed():
    def attend(x):
        return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.25)

    program = onnxport.export(module(attend), (torch.randn(1, 2, 4, 8),), verify=True)
    kinds = [node.op_type for node in program.model.graph]
    assert kinds.count("Dropout") == 1
    # The mean over many positions is that of the values, whatever is dropped.
    x = torch.randn(1, 1, 512, 4)
    (found,) = onnxport.export(module(attend), (x,))(x)
    wanted = nn.functional.scaled_dot_product_attention(x, x, x)
    torch.testing.assert_close(found.mean((0, 1, 2)), wanted.mean((0, 1, 2)), rtol=0, atol=0.05)
    assert not torch.allclose(found, wanted)


def test_a_refusal_is_said_where_decomposing_does_not_help():
    def weighted(x):
        return OPS.opaque(nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.25))

    with pytest.raises(onnxport.UnsupportedError, match=r"`dropout_p` is 0\.25"):
        onnxport.export(module(weighted), (torch.randn(1, 2, 4, 8),))
