"""Search level by level: the modules inside a module are examined if that fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from onnxport._pieces.calls import Piece
from onnxport._pieces.group import Outcome, Trials
from onnxport._pieces.tree import UNCALLED, UNSEEN, Node


class Search:
    """The modules of a model, and the outcomes of those that were examined."""

    def __init__(
        self, pieces: Mapping[nn.Module, Piece], trials: Trials, *, all: bool, once: bool
    ) -> None:
        self.pieces = pieces
        self.trials = trials
        self.all = all
        self.once = once
        self.outcomes: dict[Piece, Outcome] = {}
        self.twins: dict[Any, Piece] = {}
        self.like: dict[Piece, Piece] = {}
        self.fresh: dict[Piece, None] = {}

    def run(self, model: nn.Module) -> Node:
        """Return the tree of a model."""
        level = [self.pieces[model]]
        self._judge(level)
        while level:
            inside = {
                piece: list(self._called(piece.module)) for piece in level if self._is_open(piece)
            }
            named = {piece: list(self._named(piece, inner)) for piece, inner in inside.items()}
            self._judge([one for inner in named.values() for one in inner])
            found = [
                p for p, inner in named.items() if any(self.outcomes[one].is_bad for one in inner)
            ]
            self._judge([one for p, inner in inside.items() if p not in found for one in inner])
            level = [one for inner in inside.values() for one in inner if one in self.fresh]
            self.fresh.clear()
        return self._node(model, "")

    def _is_open(self, piece: Piece) -> bool:
        """Tell whether the modules inside a module are to be examined."""
        return (self.all or self.outcomes[piece].is_bad) and piece not in self.like

    def _named(self, piece: Piece, inside: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the modules inside a module that the diagnostics name."""
        if self.all:
            return
        said = self.outcomes[piece].diagnostics
        paths = [one.module for one in said if one.module and one.severity == "error"]
        for one in inside:
            if any(path == one.path or path.startswith(f"{one.path}.") for path in paths):
                yield one

    def _called(self, module: nn.Module) -> Iterator[Piece]:
        """Yield the nearest modules inside that are called: a list of modules is not."""
        for child in module.children():
            piece = self.pieces[child]
            if piece.count:
                yield piece
            else:
                yield from self._called(child)

    def _judge(self, pieces: Sequence[Piece]) -> None:
        fresh = [piece for piece in dict.fromkeys(pieces) if piece not in self.outcomes]
        alone = []
        for piece in fresh:
            twin = self.twins.setdefault(_likeness(piece), piece) if self.once else piece
            if twin is piece:
                alone.append(piece)
            else:
                self.like[piece] = twin
        self.outcomes.update(self.trials.judge(alone))
        self.outcomes.update(
            {one: self.outcomes[self.like[one]] for one in fresh if one in self.like}
        )
        self.fresh.update(dict.fromkeys(fresh))

    def _node(self, module: nn.Module, path: str) -> Node:
        piece = self.pieces[module]
        node = Node(path, _kind(module), piece.count, UNSEEN if piece.count else UNCALLED)
        stands = self.like.get(piece, piece)
        if stands.path != path:
            node.like = stands.path
        outcome = self.outcomes.get(piece)
        if outcome is not None:
            node.verdict, node.reason = outcome.verdict, outcome.reason
            node.diagnostics = outcome.diagnostics
            node.max_abs_diff, node.max_rel_diff = outcome.max_abs_diff, outcome.max_rel_diff
        if piece.path == path:
            node.children = [
                self._node(child, f"{path}.{name}" if path else name)
                for name, child in module._modules.items()
                if child is not None
            ]
        return node


def _kind(module: nn.Module) -> str:
    """Return the name of a module's class, or of the class that it was before it was exported."""
    cut = type(module).__module__ == "torch.export.unflatten"
    name = module.type_name() if cut and hasattr(module, "type_name") else None
    return name.rpartition(".")[2] if name else type(module).__name__


def _likeness(piece: Piece) -> Any:
    """Return the common properties of equal layers: code, settings, shapes and kinds of calls."""
    module = piece.module
    parts = [(name, type(inner), _settings(inner)) for name, inner in module.named_modules()]
    tensors = [
        (name, tuple(tensor.shape), tensor.dtype)
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]
    ]
    return tuple(parts), tuple(tensors), tuple(calls[0].signature for calls in piece.groups())


def _settings(module: nn.Module) -> str:
    plain = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, (bool, int, float, str, tuple, type(None)))
    }
    return repr((plain, module.extra_repr()))
