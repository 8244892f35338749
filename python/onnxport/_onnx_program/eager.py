"""The module beside its exported program: whether the capture computes the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram

from onnxport._diagnostics import Diagnostic
from onnxport._export import inputs, places, windows
from onnxport._export.exclusive import in_onnx_export
from onnxport._export.written import OUTSIDE

# The relative tolerances of element types, and those in relation to the largest expected value.
_TOLERANCES = {torch.float64: (1e-7, 1e-7), torch.float32: (1e-3, 1e-4)}
_COARSE = (2e-2, 2e-2)


@dataclass(frozen=True)
class Difference:
    """An output that the captured program computes otherwise than the module."""

    case: str
    output: str
    problem: str

    def __str__(self) -> str:
        return f"`{self.output}` {self.problem} (call `{self.case}`)"


class Eager:
    """Runs the module on each call of its program, and compares the results.

    The user's module stays as it is: a call reads and writes copies of its buffers, and attributes
    that it sets are put back.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        program: ExportedProgram,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> None:
        self.module = module
        self.rtol, self.atol = rtol, atol
        self.names = [
            getattr(spec.arg, "name", None) or str(index)
            for index, spec in enumerate(
                one
                for one in program.graph_signature.output_specs
                if one.kind.name == "USER_OUTPUT"
            )
        ]
        written = getattr(program.graph_signature, "parameters_to_mutate", {})
        self.parameters = set(written.values())
        # Where the module writes to its tensors by other references than their names.
        self.in_place = bool(program.graph_module.meta.get(OUTSIDE))
        own = dict(module.named_buffers())
        self.outside = {
            spec.target: program.constants[spec.target]
            for spec in program.graph_signature.input_specs
            if spec.kind.name == "BUFFER" and not spec.persistent and spec.target not in own
        }
        self.compared = 0
        self.differences: list[Difference] = []
        self.refused: dict[str, str] = {}
        self.case = ""
        self._state: dict[str, torch.Tensor] = {}
        self._call: tuple[Any, Any] | None = None

    def begin(self, case: str, continues: bool) -> None:
        """Prepare for a call, which starts with the module's state unless it continues another."""
        self.case, self._call = case, None
        if not continues:
            self._state = {name: tensor.detach().clone() for name, tensor in self._written()}

    def _written(self) -> Iterator[tuple[str, torch.Tensor]]:
        yield from self.module.named_buffers()
        yield from self.outside.items()
        for name, tensor in self.module.named_parameters():
            if name in self.parameters:
                yield name, tensor

    def before(self, module: Any, args: Any, kwargs: Any) -> None:
        """Keep the arguments of a call of the program, which may write to them."""
        del module
        self._call = inputs.copied((args, kwargs))

    def after(self, module: Any, args: Any, kwargs: Any, results: Any) -> None:
        """Run the module on the arguments of the call, and compare with `results`."""
        del module, args, kwargs
        call, self._call = self._call, None
        if call is None or self.case in self.refused:
            return
        drawn = torch.get_rng_state()
        torch.manual_seed(0)
        try:
            if not torch.equal(torch.get_rng_state(), drawn):
                self.refused[self.case] = "the program draws random numbers"
                return
            self._judge(call, pytree.tree_leaves(results))
        finally:
            torch.set_rng_state(drawn)

    def _judge(self, call: tuple[Any, Any], results: list[Any]) -> None:
        """Compare with the module as it runs in an export, or else on its own: either may decide.

        A module that asks both `torch.compiler.is_compiling()` and `torch.onnx.is_in_onnx_export()`
        can take a branch in this call that it took in no capture.
        """
        before = {name: tensor.clone() for name, tensor in self._state.items()}
        found = self._outcome(call, in_onnx_export(), results)
        if found:
            after, self._state = self._state, before
            if self._outcome(call, nullcontext(), results) == []:
                found = []
            else:
                self._state = after
        if isinstance(found, str):
            self.refused[self.case] = found
            return
        self.compared += 1
        self.differences += found

    def _outcome(
        self, call: tuple[Any, Any], told: AbstractContextManager[None], results: list[Any]
    ) -> list[Difference] | str:
        """Run the module: the differences from `results`, or the reason why there is no answer."""
        torch.manual_seed(0)
        start = torch.get_rng_state()
        args, kwargs = inputs.copied(call)
        try:
            counted = windows.counted(self.module)
            with torch.no_grad(), told, _attributes_kept(self.module), counted:
                expected = self._called(args, kwargs)
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n", 1)[0]
        if not torch.equal(start, torch.get_rng_state()):
            return "the module draws random numbers"
        return list(self._differences(results, pytree.tree_leaves(expected)))

    def _called(self, args: Any, kwargs: Any) -> Any:
        """Call the module, from the state that the call before left."""
        if not self.in_place:
            return torch.func.functional_call(self.module, self._state, args, kwargs)
        tensors = dict(self._written())
        users = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        try:
            for name, tensor in tensors.items():
                tensor.copy_(self._state[name])
            # A result may be such a tensor.
            results = inputs.copied(self.module(*args, **kwargs))
            self._state = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        finally:
            for name, tensor in tensors.items():
                tensor.copy_(users[name])
        return results

    def _differences(self, results: list[Any], expected: list[Any]) -> Iterator[Difference]:
        if len(results) != len(expected):
            problem = f"are {len(results)} values, but the module returns {len(expected)}"
            yield Difference(self.case, "the outputs", problem)
            return
        for index, (found, wanted) in enumerate(zip(results, expected, strict=True)):
            problem = self._problem(found, wanted)
            if problem is not None:
                name = self.names[index] if index < len(self.names) else str(index)
                yield Difference(self.case, name, problem)

    def _problem(self, found: Any, wanted: Any) -> str | None:
        numbers = (bool, int, float, complex)
        if isinstance(found, numbers) and isinstance(wanted, torch.Tensor):
            found = torch.tensor(found, dtype=wanted.dtype)
        if isinstance(wanted, numbers) and isinstance(found, torch.Tensor):
            wanted = torch.tensor(wanted, dtype=found.dtype)
        if not isinstance(found, torch.Tensor) or not isinstance(wanted, torch.Tensor):
            same = found == wanted or (found != found and wanted != wanted)
            return None if same else f"is {found!r}, but the module returns {wanted!r}"
        for kind in ("shape", "dtype"):
            one, other = getattr(found, kind), getattr(wanted, kind)
            if one != other:
                said = (list(one), list(other)) if kind == "shape" else (one, other)
                return f"has the {kind} {said[0]}, but that of the module is {said[1]}"
        return self._difference(found.detach().cpu(), wanted.detach().cpu())

    def _difference(self, found: torch.Tensor, wanted: torch.Tensor) -> str | None:
        if not wanted.numel():
            return None
        if not (wanted.is_floating_point() or wanted.is_complex()):
            wrong, off = found != wanted, found.double() - wanted.double()
        else:
            kind = wanted.real.dtype if wanted.is_complex() else wanted.dtype
            rtol, atol = _TOLERANCES.get(kind, _COARSE)
            if wanted.is_complex():
                found, wanted = torch.view_as_real(found), torch.view_as_real(wanted)
            found, wanted = found.double(), wanted.double()
            finite = wanted[wanted.isfinite()]
            largest = float(finite.abs().max()) if finite.numel() else 0.0
            rtol = rtol if self.rtol is None else self.rtol
            atol = atol * min(max(largest, 0.01), 1e3) if self.atol is None else self.atol
            wrong = ~torch.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
            off = found - wanted
        count = int(wrong.sum())
        if not count:
            return None
        largest = float(off[wrong].abs().max())
        return f"differs: {count} of {wrong.numel()} elements, max abs {largest:.3g}"

    def diagnostic(self) -> Diagnostic | None:
        """Return the error for the differences, None if there are none."""
        if not self.differences:
            return None
        first, *others = self.differences
        notes = [str(one) for one in others[:4]]
        if len(others) > 4:
            notes.append(f"and {len(others) - 4} more differences")
        return Diagnostic(
            "error",
            "OP714",
            f"the capture is wrong, not the conversion: {first}",
            **_definition(self.module),
            notes=tuple(notes),
            help="PyTorch replaced something of the module by its value in the example: a number, "
            "a branch, an attribute; compute it with tensors from the arguments",
        )

    def report(self) -> dict[str, Any]:
        """Return the comparisons, for the report of a verification."""
        return {
            "compared": self.compared,
            "refused": dict(self.refused),
            "differences": [vars(one) for one in self.differences],
        }


def _definition(module: torch.nn.Module) -> dict[str, Any]:
    """Return the first line of the function that a call of `module` runs."""
    function = getattr(module.forward, "__func__", module.forward)
    code = getattr(function, "__code__", None)
    return {} if code is None else places.at(code.co_filename, code.co_firstlineno)


@contextmanager
def _attributes_kept(module: torch.nn.Module) -> Iterator[None]:
    """Put back the attributes that a call sets, in the module and its parts."""
    parts: list[tuple[Any, Mapping[str, Any]]] = [
        (part, dict(vars(part))) for part in module.modules()
    ]
    try:
        yield
    finally:
        for part, before in parts:
            now = vars(part)
            for name in [name for name in now if name not in before]:
                del now[name]
            now.update(before)
