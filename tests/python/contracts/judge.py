"""Compares a converted program with eager mode: its results, and the tensors that it writes."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import onnxruntime
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import onnxport
from tests.python.contracts import hops
from tests.python.contracts.registry import Call, Contract


def converted(contract: Contract) -> onnxport.ONNXProgram:
    """Convert the program as it is captured with its first call."""
    module, call = contract.module(), copy.deepcopy(contract.calls[0])
    with warnings.catch_warnings(), hops.captured():
        warnings.simplefilter("ignore")
        if contract.capture is not None:
            return onnxport.export(contract.capture(module, call, contract.dynamic))
        return onnxport.export(
            module, call.args, kwargs=dict(call.kwargs), dynamic_shapes=contract.dynamic
        )


def compare(
    model: onnxport.ONNXProgram, module: nn.Module, calls: tuple[Call, ...], tolerance: float
) -> None:
    """Raise an error if a model differs from a module in one of these calls, made one by one."""
    running = _Running(model)
    for index, call in enumerate(calls):
        given = copy.deepcopy(call)
        memory = [leaf.detach() for leaf in _tensors((given.args, dict(given.kwargs)))]
        with torch.no_grad():
            wanted = _values(module(*given.args, **given.kwargs))
        found = running.call(copy.deepcopy(call))
        buffers = dict(module.named_buffers()) | dict(module.named_parameters())
        written, before = running.written(call), _tensors((call.args, dict(call.kwargs)))
        _agree(f"call {index}", found, wanted, tolerance)
        for place, (old, new) in enumerate(zip(before, memory, strict=True)):
            _agree(f"call {index}, input {place}", [written.get(place, old)], [new], tolerance)
        for name, value in running.states.items():
            if name in buffers:
                what = f"call {index}, state {name}"
                _agree(what, [torch.from_numpy(value)], [buffers[name].detach()], tolerance)
        lost = _lost(module, running, buffers)
        assert not lost, f"call {index}: the model does not return the state {lost}"


def _lost(module: nn.Module, running: _Running, buffers: dict[str, Tensor]) -> list[str]:
    """Return the buffers that the module has changed, and the model has not."""
    running.first = running.first or {}
    return [
        name
        for name, value in running.model.exported_program.state_dict.items()
        if name in buffers
        and name not in running.states
        and not torch.equal(value.detach(), buffers[name].detach())
    ]


class _Running:
    """A model in ONNX Runtime that keeps its states."""

    first: dict[str, Any] | None = None

    def __init__(self, model: onnxport.ONNXProgram) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.model = model
        self.session = onnxruntime.InferenceSession(model.to_bytes(), options)
        self.ports = model.ports
        self.states: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        self.feeds: dict[str, Tensor] = {}

    def call(self, call: Call) -> list[Tensor]:
        """Run the model and return its results, without states."""
        ports = self.ports
        leaves = self.model.leaves(call.args, call.kwargs)
        names = [port.name for port in ports.given]
        assert len(leaves) == len(names), f"{len(leaves)} leaves, and the inputs {names}"
        self.feeds = {name: torch.as_tensor(leaf) for name, leaf in zip(names, leaves, strict=True)}
        types = {one.name: one.type for one in self.session.get_inputs()}
        kept = [state for state in ports.states if state.kind != "input"]
        feeds = {name: _numpy(value, types[name]) for name, value in self.feeds.items()}
        feeds |= {one.input: self.states[one.name] for one in kept if one.name in self.states}
        outputs = [port.name for port in ports.outputs]
        self.found = dict(zip(outputs, self.session.run(outputs, feeds), strict=True))
        self.states |= {one.name: self.found[one.output] for one in kept}
        hidden = {state.output for state in ports.states}
        return [torch.from_numpy(self.found[name]) for name in outputs if name not in hidden]

    def written(self, call: Call) -> dict[int, Tensor]:
        """Return the new values of inputs, by their position among the tensors of the call."""
        given = _tensors((call.args, dict(call.kwargs)))
        places = {}
        for state in self.ports.states:
            if state.kind == "input":
                value = self.feeds[state.input]
                leaves = self.model.leaves(call.args, call.kwargs)
                names = [port.name for port in self.ports.given]
                leaf = leaves[names.index(state.input)]
                place = next(at for at, one in enumerate(given) if one is leaf)
                places[place] = torch.from_numpy(self.found[state.output]).reshape(value.shape)
        return places


def _numpy(value: Tensor, declared: str) -> Any:
    return value.detach().numpy()


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def _values(tree: Any) -> list[Tensor]:
    """Return tensors and numbers of a result, as tensors."""
    leaves = pytree.tree_leaves(tree)
    return [
        leaf if isinstance(leaf, Tensor) else torch.as_tensor(leaf)
        for leaf in leaves
        if isinstance(leaf, (Tensor, bool, int, float, complex))
    ]


def _agree(what: str, found: list[Tensor], wanted: list[Tensor], tolerance: float) -> None:
    if len(found) != len(wanted):
        raise AssertionError(f"{what}: {len(found)} values, not {len(wanted)}")
    for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if other.is_complex():
            other = torch.view_as_real(other)
        if one.is_floating_point() and other.is_floating_point() and not other.dim():
            other = other.to(one.dtype)
        torch.testing.assert_close(
            one,
            other.detach(),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            check_stride=False,
            msg=lambda text, at=index: f"{what}, value {at}: {text}",
        )
