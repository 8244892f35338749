"""Some generated programs, and the tests of their generator, judge and shrinker."""

import re
from pathlib import Path

import pytest
import torch

import onnxport
from tests.python import known_failures
from tests.python.generated.draw import draw
from tests.python.generated.judge import Outcome, judge
from tests.python.generated.program import Program, Variable
from tests.python.generated.shrink import shrink

KNOWN = known_failures.load(Path(__file__).with_name("known_failures.toml"))
SEEDS = [*range(8), *(int(seed) for seed in KNOWN if seed.isdecimal())]
# Programs of calls; with the graphs, 200 in all.
CALLS = [*range(4), *(int(seed[5:]) for seed in KNOWN if seed.startswith("call-"))]
ROWS = Variable("x0", ("n", 3), torch.float32)


def program(*lines, **changed):
    given = {"sizes": {"n": 5}, "named": False, "inputs": (ROWS,), "returned": ("v0",), **changed}
    return Program(0, lines=lines, **given)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=known_failures.marks(KNOWN, str(seed))) for seed in SEEDS]
)
def test_a_program_agrees_or_is_refused(seed):
    drawn = draw(seed)
    found = judge(drawn)
    said = f"{found.kind}: {found.detail}\n\n{drawn.reproduced()}"
    assert found.outcome is not Outcome.FAILED, said


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=known_failures.marks(KNOWN, f"call-{seed}")) for seed in CALLS],
)
def test_a_program_of_calls_agrees_or_is_refused(seed):
    drawn = draw(seed, calls=True)
    found = judge(drawn, sizes=2)
    said = f"{found.kind}: {found.detail}\n\n{drawn.reproduced()}"
    assert found.outcome is not Outcome.FAILED, said


def test_a_seed_has_one_program():
    assert draw(3) == draw(3)
    assert draw(3, calls=True) == draw(3, calls=True)
    assert len({draw(seed).source() for seed in range(8)}) == 8


def test_a_program_is_compared_at_sizes_of_its_range():
    found = judge(program("v0 = x0 * 2 if x0.shape[0] <= 8 else x0 - 1"))
    assert found.outcome is Outcome.AGREES
    assert found.tried > 5


def test_a_refusal_has_a_code():
    found = judge(program("v0 = torch.hash_tensor(x0).float()"))
    assert (found.outcome, found.kind) == (Outcome.REFUSED, "OP301")


WRONG = program(
    "v1 = x0.transpose(0, 1)",
    "v2 = torch.abs(v1)",
    "v2[1:].add_(1)",
    "v0 = torch.relu(v2) if x0.shape[0] > 4 else v2",
    "self.b0.add_(v0.mean())",
    buffers=(Variable("self.b0", (), torch.float32),),
    returned=("v0", "v2"),
)


def test_a_wrong_lowering_is_found_and_shrunk(monkeypatch):
    export, table = onnxport.export, {torch.ops.aten.abs.default: lambda op, x: op.Neg(x)}
    monkeypatch.setattr(
        onnxport, "export", lambda *args, **kw: export(*args, **kw, custom_translation_table=table)
    )
    found = judge(WRONG)
    assert (found.outcome, found.kind) == (Outcome.FAILED, "differs")
    smallest = shrink(WRONG, lambda one: judge(one, sizes=2).same == found.same)
    assert smallest.lines == ("v2 = torch.abs(x0)",)
    assert (smallest.buffers, smallest.returned) == ((), ("v2",))


def test_a_wrong_state_is_found(monkeypatch):
    export, table = onnxport.export, {torch.ops.aten.add.Tensor: lambda op, x, y: op.Sub(x, y)}
    monkeypatch.setattr(
        onnxport, "export", lambda *args, **kw: export(*args, **kw, custom_translation_table=table)
    )
    counted = program("v0 = torch.abs(x0)", "self.b0.add_(1)", buffers=WRONG.buffers)
    assert judge(counted).kind == "differs"


def test_a_range_that_is_too_wide_is_found(monkeypatch):
    monkeypatch.setattr(onnxport.ONNXProgram, "sizes", onnxport._onnx_program.ports.Sizes())
    found = judge(program("v0 = x0 * 2 if x0.shape[0] <= 8 else x0 - 1"), sizes=20)
    assert found.kind == "the stated range is too wide"


def test_known_failures_name_seeds():
    kinds = ("", "call-", "graph-")
    names = {f"{kind}{number}" for kind in kinds for number in re.findall(r"\d+", " ".join(KNOWN))}
    assert not KNOWN.keys() - names
    assert all(KNOWN.values())
