"""A model in memory: its forms, as bytes and as text, and how it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxport import _errors
from onnxport._onnx_program import irmodel
from onnxport._onnx_program.conversion import Source, public_errors
from onnxport._onnx_program.ports import Ports

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from onnxport import _native
    from onnxport._onnx_program.serializer import Serializer, Weight

LARGEST_INLINE = 1536 << 20
# The size, less that of the graph, beyond which a message cannot hold the weights.
LARGEST_MESSAGE = (2 << 30) - (64 << 20)


class HeldModel:
    """A model of `onnx_ir`, or one of the extension module.

    The latter becomes the former on first access, but is still the one to be written until the
    former is changed.
    """

    def __init__(self, model: Any) -> None:
        self._native: _native.Model | None = None
        self._by_name: _native.Model | None = None
        self._ir: onnx_ir.Model | None = None
        self._mark: bytes | None = None
        self._source: Source | None = None
        if hasattr(model, "graph"):
            self._ir = model
        else:
            self._native = model

    def _changed(self) -> None:
        """Drop everything derived from the model, because it has been changed."""

    @property
    def ports(self) -> Ports:
        """The declarations of the model."""
        edited = self._edited
        if edited is not None:
            return Ports.of(irmodel.to_bytes(edited, False, False))
        return Ports.of(self._message(self._made, False, False))

    @property
    def model(self) -> onnx_ir.Model:
        """The model as one of `onnx_ir`. Changes to it affect runs and saved files.

        Weights of more than 2 GiB are lazy tensors, which read a weight on demand.
        """
        if self._ir is None:
            if self._source is not None and self.most_bytes > LARGEST_MESSAGE:
                message = self._message(self._made, False, False)
                self._ir = irmodel.load_lazily(message, self.weights())
            else:
                self._ir = irmodel.load(self.to_bytes())
            self._mark = irmodel.mark(self._ir)
        return self._ir

    @model.setter
    def model(self, model: onnx_ir.Model) -> None:
        self._changed()
        self._ir, self._mark = model, None

    @property
    def _edited(self) -> onnx_ir.Model | None:
        """The model of `onnx_ir`, if it is another one than was converted."""
        if self._ir is None or (self._mark is not None and irmodel.mark(self._ir) == self._mark):
            return None
        return self._ir

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model as a message of the `onnx` package."""
        import onnx

        return onnx.ModelProto.FromString(self.to_bytes())

    @property
    def text(self) -> str:
        """The graph as text."""
        edited = self._edited
        if edited is not None:
            return str(edited)
        with public_errors():
            return self._made.text()

    @property
    def _made(self) -> _native.Model:
        if self._native is None:
            raise _errors.usage("this model was not converted here")
        return self._native

    def to_bytes(
        self, include_initializers: bool = True, keep_initializers_as_inputs: bool = False
    ) -> bytes:
        """Return the model as one message, of at most 2 GiB."""
        edited = self._edited
        if edited is not None:
            return irmodel.to_bytes(edited, include_initializers, keep_initializers_as_inputs)
        if include_initializers and self.waits:
            raise _errors.usage("the model waits for its weights", "give them with `apply_weights`")
        made = self._written(include_initializers, keep_initializers_as_inputs)
        return self._message(made, include_initializers, keep_initializers_as_inputs)

    def _message(self, made: _native.Model, included: bool, as_inputs: bool) -> bytes:
        with public_errors():
            return made.to_bytes(
                json.dumps({"initializers": included, "initializers_as_inputs": as_inputs})
            )

    def _written(self, included: bool, as_inputs: bool) -> _native.Model:
        """Return the model to write; weights supplied by name have the program's names."""
        return self._made if included and not as_inputs else self._apart

    @property
    def _apart(self) -> _native.Model:
        """The conversion with separate weights, as the program has them."""
        return self._made

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
        serializer: Serializer | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Write the model atomically.

        Args:
            destination: The path of the model.
            include_initializers: Write the data of the weights.
            keep_initializers_as_inputs: Declare the weights as inputs, after the others.
            external_data: Write weights into a file beside the model. By default they go there if
                they are larger than 1.5 GB.
            serializer: A custom writer of the model; it receives the model without weights,
                and a reader of each weight.
            options: Further options of `onnxport convert` about writing, such as
                `shard_size="2GB"`.

        Returns:
            The output of `onnxport convert --json` about the files.

        Raises:
            FileError: The files cannot be written; nothing has changed.
        """
        path = Path(destination)
        if serializer is not None:
            if options:
                raise _errors.usage(
                    f"{', '.join(options)}: a serializer takes no options about writing",
                    "pass them to the serializer",
                )
            from onnxport._onnx_program import serializer as serializing

            serializing.write(
                serializer, path, self, include_initializers, keep_initializers_as_inputs
            )
            return {}
        beside = external_data or self._is_large
        edited = self._edited
        if edited is not None:
            if options:
                given = ", ".join(options)
                raise _errors.usage(f"{given}: a model that was changed is written plainly")
            irmodel.save(edited, path, include_initializers, keep_initializers_as_inputs, beside)
            return {}
        given = {
            "external_data": "external" if beside else "inline",
            "initializers": include_initializers,
            "initializers_as_inputs": keep_initializers_as_inputs,
            **options,
        }
        with public_errors():
            made = self._written(include_initializers, keep_initializers_as_inputs)
            written: dict[str, Any] = json.loads(made.save(os.fspath(path), json.dumps(given)))
        return written

    def report_page(self, name: str, report: Mapping[str, Any]) -> str:
        """Return the page about the model, as `save` writes it to `name`.onnx, and `report`."""
        options = {"external_data": "external" if self._is_large else "inline"}
        with public_errors():
            return self._made.page(name, json.dumps(report), json.dumps(options))

    @property
    def _is_large(self) -> bool:
        """Whether weights go into a file beside the model by default."""
        return self.most_bytes > LARGEST_INLINE

    @property
    def unchanged(self) -> _native.Model | None:
        """The model of the extension module, None if it has been changed or was loaded."""
        return self._native if self._edited is None else None

    @property
    def most_bytes(self) -> int:
        """The most bytes that the weights take."""
        edited = self._edited
        if edited is not None or self._source is None:
            return irmodel.weight_bytes(self.model)
        return self._source.most_bytes

    @property
    def waits(self) -> bool:
        """Whether the model has no data for some of its weights."""
        return self._edited is None and self._source is not None and self._source.waits

    def weights(self, as_given: bool = False) -> list[Weight]:
        """Return the weights, whose bytes are read when they are asked for.

        `as_given` returns them as the program has them, not as the optimizer leaves them.
        """
        from onnxport._onnx_program.serializer import Weight

        if self._edited is not None:
            return irmodel.weights(self.model)
        made = self._apart if as_given else self._made

        def reader(name: str) -> Callable[[int, int], bytes]:
            def read(offset: int, length: int) -> bytes:
                with public_errors():
                    return made.read(name, offset, length)

            return read

        return [
            Weight(name, dtype, tuple(shape), size, reader(name))
            for name, dtype, shape, size in made.initializers()
        ]
