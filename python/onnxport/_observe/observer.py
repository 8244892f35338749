"""`onnxport.observe`: record some calls of a model, and export it for inputs like these."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.utils._pytree as pytree

from onnxport import _errors
from onnxport._export import caches
from onnxport._observe.calls import Call, record
from onnxport._observe.inference import Inference, ObservedAxis
from onnxport._observe.phases import adds, split

if TYPE_CHECKING:
    from onnxport._onnx_program import ONNXProgram

Batch = Collection[str | int] | bool | None


def observe(
    model: torch.nn.Module,
    *,
    calls: int = 3,
    method: str = "forward",
    value_if_missing: Mapping[str | int, Any] | None = None,
    parts: Mapping[str, str] | None = None,
) -> contextlib.AbstractContextManager[Observer]:
    """Record the inputs of the first calls of `model` within a `with` block.

    ::

        with onnxport.observe(model) as seen:
            model.generate(tokens)
        print(seen)
        seen.export("model.onnx")

    Args:
        model: The module.
        calls: The number of calls to record; tensors are copied. A later call is only recorded if
            it is the first one of a phase, or a dimension varies that did not before.
        method: The method to observe.
        value_if_missing: Arguments, by name or position, for calls without them: such as the
            pixels, which only the first step of a generation has.
        parts: Submodules to observe too, by names of your choice: `{"encoder": "model.encoder",
            "decoder": ""}`, where the empty name is that of the model itself.

    Raises:
        UsageError: There is no such method or submodule.
    """
    return Observer(value_if_missing)(model, calls, method, parts)


class Observer:
    """Recorded calls, and the inputs that follow from them.

    An axis counts as dynamic if its size differs between calls. `axes` has the reason for each.
    `parts` has the observers of submodules by the names that `observe` was given.
    """

    def __init__(self, value_if_missing: Mapping[str | int, Any] | None = None) -> None:
        self.value_if_missing = dict(value_if_missing or {})
        self.calls: list[Call] = []
        self.parts: dict[str, Observer] = {}
        self._signature: inspect.Signature | None = None
        self._model: torch.nn.Module | None = None

    @contextlib.contextmanager
    def __call__(
        self,
        model: torch.nn.Module,
        store_n_calls: int = 3,
        method_name: str = "forward",
        parts: Mapping[str, str] | None = None,
    ) -> Iterator[Observer]:
        """Record calls of a method of `model`, as long as this lasts; earlier records stay."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._recording(model, store_n_calls, method_name))
            for name, path in (parts or {}).items():
                if path:
                    part = self.parts.setdefault(name, Observer())
                    module = _submodule(model, path)
                    stack.enter_context(part._recording(module, store_n_calls, "forward"))
                else:
                    self.parts[name] = self
            yield self

    @contextlib.contextmanager
    def _recording(
        self, model: torch.nn.Module, store_n_calls: int, method_name: str
    ) -> Iterator[None]:
        if not hasattr(model, method_name):
            raise _errors.usage(f"a {type(model).__name__} has no method `{method_name}`")
        watched = getattr(model, method_name)
        self._model = model
        signature = self._signature = self._signature or inspect.signature(watched)
        last = len(self.calls) + store_n_calls

        @functools.wraps(watched)
        def watching(*args: Any, **kwargs: Any) -> Any:
            with caches.registered():
                call = record(signature, args, kwargs, self.value_if_missing)
                wanted = len(self.calls) < last or adds(self.calls, call)
                call = call.copied() if wanted else None
            start = time.perf_counter()
            outputs = watched(*args, **kwargs)
            if call is None:
                return outputs
            call.seconds.append(time.perf_counter() - start)
            with caches.registered():
                leaves = pytree.tree_leaves(outputs)
            call.outputs.extend(_copy(leaf) for leaf in leaves)
            self.calls.append(call)
            return outputs

        # Callers inspect the signature to find the arguments.
        watching.__signature__ = _shown(inspect.signature(watched))  # type: ignore[attr-defined]
        own = vars(model).get(method_name)
        setattr(model, method_name, watching)
        try:
            yield
        finally:
            if own is None:
                delattr(model, method_name)
            else:
                setattr(model, method_name, own)

    def add(self, model: torch.nn.Module, *args: Any, **kwargs: Any) -> Observer:
        """Record arguments without calling `model`."""
        self._model = model
        self._signature = self._signature or inspect.signature(model.forward)
        with caches.registered():
            call = record(self._signature, args, kwargs, self.value_if_missing)
            self.calls.append(call.copied())
        return self

    def num_obs(self) -> int:
        """Return the number of recorded calls."""
        return len(self.calls)

    def _inference(self, batch: Batch = None) -> Inference:
        if not self.calls or self._signature is None:
            raise _errors.usage("no call was recorded", "call the model within the `with` block")
        with caches.registered():
            return Inference(self._signature, self.calls, batch)

    @property
    def axes(self) -> list[ObservedAxis]:
        """Every axis of every tensor that the model was given, whether it is dynamic, and why."""
        return self._inference().axes

    def infer_dynamic_shapes(
        self, set_batch_dimension_for: Batch = None
    ) -> tuple[Any, ...] | dict[str, Any]:
        """Return `dynamic_shapes` for the recorded calls.

        Args:
            set_batch_dimension_for: Arguments, by name or position, whose first dimension is
                dynamic although it never varied; True for all.
        """
        inference = self._inference(set_batch_dimension_for)
        with caches.registered():
            return inference.shapes()

    def infer_arguments(
        self,
        index_or_args_or_kwargs: tuple[Any, ...] | dict[str, Any] | int | None = None,
        flat: bool = False,
        as_args_kwargs: bool = False,
    ) -> Any:
        """Return arguments for `torch.export.export` with every argument of any call.

        A tensor that the call lacks becomes one without elements.

        Args:
            index_or_args_or_kwargs: The recorded call, by default the one with the most
                arguments; or arguments to complete.
            flat: Return the tensors as a list.
            as_args_kwargs: Return a pair. Otherwise it is a tuple or a dict, whichever can hold
                all.
        """
        inference, call = self._chosen(index_or_args_or_kwargs)
        with caches.registered():
            if flat:
                return inference.flat(call)
            args, kwargs = inference.arguments(call)
        if as_args_kwargs:
            return args, kwargs
        if not kwargs or not args:
            return args or kwargs
        if len(args) > len(inference.positional):
            raise _errors.usage("arguments in `*args` have no names", "pass `as_args_kwargs=True`")
        return {**dict(zip(inference.positional, args, strict=True)), **kwargs}

    def _chosen(self, which: Any) -> tuple[Inference, int]:
        inference = self._inference()
        if which is None:
            with caches.registered():
                return inference, inference.best()
        if isinstance(which, int):
            if not 0 <= which < len(self.calls):
                raise _errors.usage(f"there is no call {which}: {len(self.calls)} were recorded")
            return inference, which
        if not isinstance(which, (tuple, dict)):
            raise _errors.usage(
                f"a {type(which).__name__} is neither the number of a call nor its arguments"
            )
        args, kwargs = (which, {}) if isinstance(which, tuple) else ((), which)
        try:
            inference.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _errors.usage(f"the module does not take these arguments: {error}") from error
        with caches.registered():
            given = record(inference.signature, args, kwargs, self.value_if_missing)
            return Inference(inference.signature, [*self.calls, given]), len(self.calls)

    @property
    def phases(self) -> dict[str, Observer]:
        """The calls by phase, such as `prefill` and `decode`, each of which needs its own graph.

        There is one phase without a name if one graph serves all calls, as with a cache that only
        grows.
        """
        with caches.registered():
            found = split(self.calls)
        if len(found) < 2:
            return {"": self}
        return {name: self._with(calls) for name, calls in found.items()}

    def _with(self, calls: list[Call]) -> Observer:
        other = Observer(self.value_if_missing)
        other.calls, other._signature, other._model = calls, self._signature, self._model
        return other

    def export(
        self, f: Any = None, *, set_batch_dimension_for: Batch = None, **options: Any
    ) -> ONNXProgram:
        """Export the model for inputs like those that were recorded; see `onnxport.export`.

        Raises:
            UsageError: No call was recorded, or one graph does not serve all calls.
        """
        from onnxport._export.api import export

        found = self.phases
        if len(found) > 1:
            said = " and ".join(f"{len(one.calls)} of `{name}`" for name, one in found.items())
            help = "`export_all(folder)` writes a model for each; `.phases` has their calls"
            raise _errors.usage(f"one graph cannot serve all calls: {said}", help)
        args, kwargs = self.infer_arguments(as_args_kwargs=True)
        # Without keywords, a dict in the last position would be mistaken for them.
        args = args if kwargs else (*args, {})
        shapes = self.infer_dynamic_shapes(set_batch_dimension_for)
        return export(self._model, args, f, kwargs=kwargs, dynamic_shapes=shapes, **options)

    def export_all(
        self,
        folder: str | os.PathLike[str],
        *,
        set_batch_dimension_for: Batch = None,
        **options: Any,
    ) -> dict[str, ONNXProgram]:
        """Export a model for each part and phase into a new folder, where they share weights.

        Without parts, the files are `model.onnx`, or `prefill.onnx` and `decode.onnx`; those of a
        part are `encoder.onnx`, or `decoder_prefill.onnx` and `decoder_decode.onnx`.

        Args:
            folder: The folder, which must not exist.
            set_batch_dimension_for: As for `export`; parts without such arguments ignore it.
            options: Arguments of `onnxport.export` for every model.

        Returns:
            The models by the names of their files.

        Raises:
            Error: As `export` and `save_package`; nothing is written then.
        """
        from onnxport._onnx_program import save_package

        observers = {
            "_".join(filter(None, (part, phase))) or "model": one
            for part, observer in (self.parts or {"": self}).items()
            for phase, one in observer.phases.items()
        }
        batch = set_batch_dimension_for
        for key in () if batch is None or isinstance(batch, bool) else batch:
            if not any(one._has(key) for one in observers.values()):
                message = f"no model has an argument {key!r} whose first dimension could be dynamic"
                raise _errors.usage(message)
        programs = {
            name: one.export(set_batch_dimension_for=one._those(batch), **options)
            for name, one in observers.items()
        }
        save_package(programs, folder)
        return programs

    def _has(self, key: str | int) -> bool:
        """Tell whether the observed method has an argument of this name or at this position."""
        parameters = list(self._signature.parameters) if self._signature is not None else []
        return key in parameters or key in range(len(parameters))

    def _those(self, batch: Batch) -> Batch:
        """Return the arguments that the observed method has."""
        if isinstance(batch, bool) or batch is None:
            return batch
        return [key for key in batch if self._has(key)]

    def check_discrepancies(
        self,
        onnx_program: ONNXProgram,
        atol: float = 1e-4,
        rtol: float = 0.1,
        initializer: Any = None,
        skip_none: bool = True,
    ) -> list[dict[str, Any]]:
        """Run the model on every recorded call, and compare with the module's outputs.

        Returns:
            A row for each call: `SUCCESS`, `abs`, `rel`, `error` if there is one, and how long both
            took.
        """
        from onnxport._observe import checking

        inference = self._inference()
        with caches.registered():
            feeds = [inference.flat(call) for call in range(len(self.calls))]
        return checking.rows(onnx_program, self.calls, feeds, atol, rtol, initializer, skip_none)

    def __str__(self) -> str:
        if not self.calls:
            return "no call was recorded"
        return "\n".join([f"{len(self.calls)} calls", *map(str, self.axes)])


def _shown(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature that callers see.

    `generate` of transformers encodes images in advance if the model takes `mm_encoder_outputs`, a
    list with a tensor for each image, which an exported model cannot take. Otherwise it gives the
    pixels to the first step.
    """
    shown = [one for one in signature.parameters.values() if one.name != "mm_encoder_outputs"]
    return signature.replace(parameters=shown)


def _submodule(model: torch.nn.Module, path: str) -> torch.nn.Module:
    try:
        return model.get_submodule(path)
    except AttributeError as error:
        raise _errors.usage(f"a {type(model).__name__} has no submodule `{path}`") from error


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
