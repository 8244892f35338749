"""How a module becomes an exported program: the strategies, in their order."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxport import _errors
from onnxport._diagnostics import Diagnostic
from onnxport._export import causes, draft, frames, trees, written
from onnxport._export.attempts import Attempt, Strategy
from onnxport._export.exclusive import in_onnx_export
from onnxport._export.patches import Patch, Used, borrowed
from onnxport._export.patches.install import Uses, installed
from onnxport._export.patches.registry import Choice
from onnxport._export.quiet import quiet
from onnxport._export.shapes import Wanted

STRATEGIES: tuple[Strategy, ...] = ("non-strict", "strict", "patched", "transformers", "draft")


def order(choice: Choice) -> tuple[Strategy, ...]:
    """Return the strategies in their order; patches that were chosen by name come first."""
    if choice == "auto":
        return STRATEGIES
    plain: tuple[Strategy, ...] = ("non-strict", "strict", "draft")
    return plain if choice == "none" else ("patched", *plain)


@dataclass(frozen=True)
class Capture:
    """How a program was captured.

    `strategy` is None for a program that was given as one. `diagnostics` are the findings of draft
    export, `patches` the replacements in the program.
    """

    strategy: Strategy | None = None
    attempts: tuple[Attempt, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    patches: tuple[Used, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.attempts)) or "given as a program"


@dataclass(frozen=True)
class _Captured:
    """A program, how it was captured, and the axes that should be dynamic and are not."""

    program: ExportedProgram
    attempt: Attempt
    findings: tuple[Diagnostic, ...]

    def described(self, attempts: list[Attempt]) -> tuple[ExportedProgram, Capture]:
        """Return the program, with all attempts."""
        own = self.attempt
        return self.program, Capture(own.strategy, tuple(attempts), self.findings, own.patches)


def capture(
    model: Any,
    args: trees.Args,
    kwargs: trees.Kwargs,
    wanted: Wanted,
    say: Callable[[str], None] = lambda _: None,
    strategies: Sequence[Strategy] = STRATEGIES,
    verbose: bool = False,
    patches: Sequence[Patch] = (),
) -> tuple[ExportedProgram, Capture]:
    """Export `model` by the first strategy that succeeds without fixing a size.

    If a strategy fixes one, `patches` are tried next, and used if fewer sizes are fixed then.
    PyTorch's log is shown only on request: its messages about failures become diagnostics.

    Raises:
        CaptureError: None does.
        UnsupportedError: PyTorch wrote to a tensor, and its value is lost.
    """
    module = as_module(model)
    attempts: list[Attempt] = []

    def attempt(strategy: Strategy) -> _Captured | None:
        replaced: Sequence[Patch] = patches if strategy == "patched" else ()
        if strategy == "transformers" and (further := borrowed.of(module, patches)) is not None:
            replaced = (*patches, further)
        if strategy in ("patched", "transformers") and not replaced:
            return None
        say(f"{strategy} export of {type(model).__name__}")
        start = time.perf_counter()
        uses = Uses()
        program, findings, error = None, (), None
        with written.undone(module):
            try:
                with in_onnx_export(), quiet(not verbose):
                    with installed(replaced) as uses, borrowed.stateless(module):
                        program, findings = _run(strategy, module, args, kwargs, wanted)
                    findings = (*findings, *borrowed.findings(uses.summary()))
                    wanted.verify(program)
            except Exception as raised:
                error = raised
        fixed = wanted.fixed(program) if program is not None and error is None else ()
        seconds = time.perf_counter() - start
        attempts.append(Attempt(strategy, seconds, error, uses.summary(), fixed))
        say(str(attempts[-1]))
        if program is None or error is not None:
            return None
        return _Captured(program, attempts[-1], findings)

    for strategy in strategies:
        found = attempt(strategy)
        if found is None:
            continue
        if found.attempt.fixed and patches and strategy in ("non-strict", "strict"):
            patched = attempt("patched")
            if patched is not None and len(patched.attempt.fixed) < len(found.attempt.fixed):
                found = patched
        return found.described(attempts)
    raise _refused(type(model).__name__, module, args, kwargs, attempts)


def _refused(
    name: str,
    module: torch.nn.Module,
    args: trees.Args,
    kwargs: trees.Kwargs,
    attempts: list[Attempt],
) -> _errors.CaptureError:
    problems = causes.diagnostics(module, name, args, kwargs, attempts)
    error = _errors.CaptureError(diagnostics=problems, attempts=attempts)
    error.__cause__ = attempts[0].error
    return error


def as_module(model: Any) -> torch.nn.Module:
    """Return the object to export as a module."""
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        help = "export the original module"
        raise _errors.usage(
            "a TorchScript module has no Python code that torch.export could trace", help
        )
    if isinstance(model, torch.nn.Module):
        return model
    if not callable(model):
        message = f"a {type(model).__name__} is not a module, an exported program or a path"
        raise _errors.usage(message, "pass a module, or a function of tensors")
    module = torch.nn.Module()
    module.forward = model
    return module


def _run(
    strategy: Strategy,
    module: torch.nn.Module,
    args: trees.Args,
    kwargs: trees.Kwargs,
    wanted: Wanted,
) -> tuple[ExportedProgram, tuple[Diagnostic, ...]]:
    if strategy == "draft":
        shapes = wanted.candidates[-1]
        with frames.kept():
            program = torch.export.draft_export(module, args, kwargs, dynamic_shapes=shapes)
        return program, draft.findings(program)
    try:
        with _settings(strategy, wanted):
            for shapes in wanted.candidates[:-1]:
                with contextlib.suppress(torch._dynamo.exc.UserError):
                    return _export(strategy, module, args, kwargs, shapes), ()
            return _export(strategy, module, args, kwargs, wanted.candidates[-1]), ()
    except Exception:
        if wanted.fixed_ones is None:
            raise
        with contextlib.suppress(Exception), _settings(strategy, wanted):
            return _export(strategy, module, args, kwargs, wanted.fixed_ones), ()
        raise


def _export(
    strategy: Strategy, module: torch.nn.Module, args: trees.Args, kwargs: trees.Kwargs, shapes: Any
) -> ExportedProgram:
    """Export once, and again with the shapes that PyTorch suggests where it refuses these."""
    strict = strategy == "strict"
    try:
        return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=strict)
    except torch._dynamo.exc.UserError as error:
        refine = torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes
        try:
            refined = refine(error.msg, shapes)
        except Exception:
            raise error from None
        return torch.export.export(module, args, kwargs, dynamic_shapes=refined, strict=strict)


@contextlib.contextmanager
def _settings(strategy: Strategy, wanted: Wanted) -> Iterator[None]:
    """Let sizes of 0 and 1 and the lengths of sequences be dynamic, and record lines of helpers.

    PyTorch keeps these settings in private attributes, which another release may not have.
    """
    with contextlib.ExitStack() as stack:
        config = getattr(torch.fx.experimental, "_config", None)
        if hasattr(config, "backed_size_oblivious"):
            stack.enter_context(config.patch(backed_size_oblivious=True))
            _enter_unbind(stack)
        stack.enter_context(frames.kept())
        if wanted.any:
            _enter_recurrent(stack)
        if strategy == "strict":
            stack.callback(setattr, torch.jit, "isinstance", torch.jit.isinstance)
            torch.jit.isinstance = isinstance
        yield


def _enter_unbind(stack: contextlib.ExitStack) -> None:
    """Let `unbind` select its parts.

    PyTorch squeezes each of them instead, which does nothing while a size may also be 1.
    """
    table, unbind = getattr(torch._decomp, "decomposition_table", {}), torch.ops.aten.unbind.int
    if unbind in table:
        stack.callback(table.__setitem__, unbind, table[unbind])
        table[unbind] = _rows


def _rows(x: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, ...]:
    return tuple(x.select(dim, index) for index in range(int(x.shape[dim])))


def _enter_recurrent(stack: contextlib.ExitStack) -> None:
    try:
        from torch.export._patches import (
            register_gru_while_loop_decomposition as gru,
        )
        from torch.export._patches import (
            register_lstm_while_loop_decomposition as lstm,
        )
    except ImportError:
        return
    for op in (torch.ops.aten.lstm.input, torch.ops.aten.gru.input):
        # Otherwise the cached dispatch of an earlier call would be reused.
        cache = getattr(op, "_dispatch_cache", {})
        cache.clear()
        stack.callback(cache.clear)
    stack.enter_context(lstm())
    stack.enter_context(gru())
