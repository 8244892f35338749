"""Several modules as one model, each on its own inputs.

Modules that do not depend on each other are converted at once. A failure is attributed to those of
them that diagnostics name, or whose outputs are wrong.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import nn

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._onnx_program.measure import Measured, compare
from onnxport._onnx_program.running import Runner
from onnxport._pieces.calls import Call, Piece, unchanged

PASSED = "agrees"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a module: a verdict, the reason, and the largest errors of its outputs."""

    verdict: str
    reason: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    max_abs_diff: float | None = None
    max_rel_diff: float | None = None

    @property
    def is_bad(self) -> bool:
        """Whether something is to be found in the module."""
        return self.verdict != PASSED


@dataclass
class Trials:
    """How modules are converted and compared, and how many conversions that took."""

    options: Mapping[str, Any]
    rtol: float | None = None
    atol: float | None = None
    tell: Callable[[str], object] = lambda _: None
    conversions: int = 0
    wanted: dict[Call, list[torch.Tensor]] = field(default_factory=dict)

    def judge(self, pieces: Sequence[Piece]) -> dict[Piece, Outcome]:
        """Return the outcome of each, with as few conversions as possible."""
        judged: dict[Piece, Outcome] = {}
        sound, stateful = [], []
        for piece in pieces:
            try:
                computed, writes = _computed(piece)
            except Exception as error:
                judged[piece] = Outcome("does not run separately", _sentence(error))
                continue
            self.wanted.update(computed)
            (stateful if writes else sound).append(piece)
        judged.update(self._judge(sound))
        for piece in stateful:
            # An earlier call in the same model would change its initial state.
            piece.calls[:] = piece.groups()[0]
            judged.update(self._judge([piece]))
        self.wanted.clear()
        return judged

    def _judge(self, pieces: Sequence[Piece]) -> dict[Piece, Outcome]:
        if not pieces:
            return {}
        made = self._attempt(pieces)
        if isinstance(made, dict):
            return made
        if len(pieces) == 1:
            said = tuple(_placed(pieces, one)[1] for one in made.diagnostics)
            return {pieces[0]: dataclasses.replace(made, diagnostics=said)}
        blamed = _blamed(pieces, made)
        if blamed:
            rest = [piece for piece in pieces if piece not in blamed]
            return {**blamed, **self._judge(rest)}
        middle = len(pieces) // 2
        return {**self._judge(pieces[:middle]), **self._judge(pieces[middle:])}

    def _attempt(self, pieces: Sequence[Piece]) -> dict[Piece, Outcome] | Outcome:
        """Convert, run and compare: return an outcome for each, or the failure of all of it."""
        from onnxport._export.api import export

        self.conversions += 1
        self.tell(f"converting {_named(pieces)}")
        group = Group(pieces)
        try:
            with unchanged(group), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = export(group, (group.tensors(0),), **self.options)
        except _errors.UsageError:
            raise
        except _errors.CaptureError as error:
            return Outcome("is not captured", _first(error), error.diagnostics)
        except _errors.Error as error:
            return Outcome("does not convert", _first(error), error.diagnostics)
        except Exception as error:
            return Outcome("does not convert", _sentence(error))
        self.tell(f"running {_named(pieces)}")
        try:
            runner = Runner(program)
            try:
                found = [list(self._run(runner, group, turn)) for turn in range(group.turns)]
            finally:
                runner.close()
        except Exception as error:
            return Outcome("does not run", _sentence(error))
        return self._compare(pieces, group, found)

    def _run(self, runner: Runner, group: Group, turn: int) -> Sequence[torch.Tensor]:
        runner.states.clear()
        return runner.call((group.tensors(turn),), {})

    def _compare(
        self, pieces: Sequence[Piece], group: Group, found: Sequence[list[torch.Tensor]]
    ) -> dict[Piece, Outcome] | Outcome:
        judged: dict[Piece, list[Measured]] = {piece: [] for piece in pieces}
        for turn, outputs in enumerate(found):
            left = iter(outputs)
            for piece, calls in group.calls:
                wanted = self.wanted[_of_turn(calls, turn)]
                mine = [one for _, one in zip(wanted, left, strict=False)]
                if len(mine) < len(wanted):
                    return Outcome("disagrees", "the model has fewer outputs than the module")
                names = [f"output {number}" for number in range(len(wanted))]
                judged[piece] += compare(names, mine, wanted, self.rtol, self.atol)
            if next(left, None) is not None:
                return Outcome("disagrees", "the model has more outputs than the module")
        return {piece: _outcome(compared) for piece, compared in judged.items()}


class Group(nn.Module):
    """Modules beside each other, each called once for every kind of calls that it gets."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__()
        self.pieces = nn.ModuleList(piece.module for piece in pieces)
        self.calls = [(piece, calls) for piece in pieces for calls in piece.groups()]
        self.places = [place for place, piece in enumerate(pieces) for _ in piece.groups()]
        self.turns = max(len(calls) for _, calls in self.calls)
        # The group has no mode; the modules keep theirs.
        self.training = self.pieces.training = False

    def tensors(self, turn: int) -> list[torch.Tensor]:
        """Return copies of the tensors of a turn; the last call is repeated for missing ones."""
        calls = (_of_turn(calls, turn) for _, calls in self.calls)
        return [tensor.clone() for call in calls for tensor in call.tensors]

    def forward(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Call each module, and return the resulting tensors."""
        left, outputs = iter(tensors), []
        for place, (_, calls) in zip(self.places, self.calls, strict=True):
            given = [next(left) for _ in calls[0].tensors]
            outputs += _tensors(self.pieces[place], calls[0], given)
        return outputs


def _named(pieces: Sequence[Piece]) -> str:
    first = pieces[0].path or "the model"
    return first if len(pieces) == 1 else f"{first} and {len(pieces) - 1} more"


def _of_turn(calls: Sequence[Call], turn: int) -> Call:
    return calls[min(turn, len(calls) - 1)]


def _tensors(module: nn.Module, call: Call, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors of a call: its results, its updates of caches, or else its writes."""
    args, kwargs = call.arguments(tensors)
    results = pytree.tree_leaves(module(*args, **kwargs))
    after = pytree.tree_leaves((args, kwargs))
    results += [leaf for leaf in after if all(leaf is not tensor for tensor in tensors)]
    found = [leaf for leaf in results if isinstance(leaf, torch.Tensor)]
    return found or [tensor.clone() for tensor in tensors]


def _computed(piece: Piece) -> tuple[dict[Call, list[torch.Tensor]], bool]:
    """Return the module's results, call by call, and whether it writes to its buffers.

    Every call begins from the same buffers.
    """
    from onnxport._export import inputs

    computed, writes = {}, False
    for call in piece.calls:
        with unchanged(piece.module) as written, torch.no_grad():
            given = [tensor.clone() for tensor in call.tensors]
            found = inputs.numbers(_tensors(piece.module, call, given))
            # The result may be a buffer, which is restored.
            computed[call] = [one.detach().clone() for one in found]
        writes = writes or bool(written)
    return computed, writes


def _outcome(compared: Sequence[Measured]) -> Outcome:
    wrong = [one for one in compared if not one.passed]
    off = max((one.max_abs_diff for one in compared), default=0.0)
    relative = max((one.max_rel_diff for one in compared), default=0.0)
    if not wrong:
        return Outcome(PASSED, None, (), off, relative)
    reason = wrong[0].problem and f"{wrong[0].name}: {wrong[0].problem}"
    return Outcome("disagrees", reason, (), off, relative)


def _blamed(pieces: Sequence[Piece], failed: Outcome) -> dict[Piece, Outcome]:
    """Return the outcomes of those pieces that the diagnostics of a group name, if all name one."""
    found: dict[Piece, list[Diagnostic]] = {}
    for one in failed.diagnostics:
        piece, placed = _placed(pieces, one)
        if piece is not None:
            found.setdefault(piece, []).append(placed)
        elif one.severity == "error":
            return {}
    wrong = {
        piece: [one for one in said if one.severity == "error"] for piece, said in found.items()
    }
    return {
        piece: Outcome(failed.verdict, said[0].message, tuple(said))
        for piece, said in wrong.items()
        if said
    }


def _placed(pieces: Sequence[Piece], one: Diagnostic) -> tuple[Piece | None, Diagnostic]:
    """Return the piece that a diagnostic is about, and it with the path of the module there."""
    parts = (one.module or "").split(".", 2)
    if len(parts) < 2 or parts[0] != "pieces" or not parts[1].isdigit():
        return None, one
    piece = pieces[int(parts[1])]
    path = ".".join(filter(None, [piece.path, *parts[2:]]))
    return piece, dataclasses.replace(one, module=path or None)


def _first(error: _errors.Error) -> str:
    wrong = [one.message for one in error.diagnostics if one.severity == "error"]
    return wrong[0] if wrong else _sentence(error)


def _sentence(error: Exception) -> str:
    first, *_ = str(error).strip().split("\n", 1)
    return f"{type(error).__name__}: {first}"
