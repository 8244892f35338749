"""Models that are loaded, in ONNX Runtime or in the reference evaluator of the `onnx` package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from onnxport import _errors
from onnxport._onnx_program import values

Loader = Callable[[str | bytes], Any]


class Session(Protocol):
    """A model that can be run. `inputs` are all types by names, `required` have no value yet."""

    inputs: Mapping[str, str]
    required: Sequence[str]
    outputs: Sequence[str]
    metadata: Mapping[str, str]

    def run(self, names: Sequence[str], feeds: Mapping[str, Any], as_torch: bool) -> list[Any]:
        """Return the outputs `names`."""


def in_runtime(model: str | bytes) -> Any:
    """Load a model into ONNX Runtime, on a GPU if the runtime has that."""
    try:
        import onnxruntime as ort
    except ImportError as error:
        raise _errors.UnverifiedError(
            "there is no ONNX Runtime: `pip install onnxruntime`"
        ) from error
    options = ort.SessionOptions()
    options.log_severity_level = 3
    wanted = ("CUDAExecutionProvider", "CPUExecutionProvider")
    providers = [name for name in wanted if name in ort.get_available_providers()]
    return ort.InferenceSession(model, options, providers=providers)


class RuntimeSession:
    """A model in ONNX Runtime."""

    def __init__(self, session: Any) -> None:
        self.session = session
        optional = session.get_overridable_initializers()
        self.required = [port.name for port in session.get_inputs()]
        self.inputs = {port.name: port.type for port in (*session.get_inputs(), *optional)}
        self.outputs = [port.name for port in session.get_outputs()]
        self.metadata = session.get_modelmeta().custom_metadata_map

    def run(self, names: Sequence[str], feeds: Mapping[str, Any], as_torch: bool) -> list[Any]:
        """Return the outputs `names`."""
        given = {name: values.to_runtime(value, self.inputs[name]) for name, value in feeds.items()}
        found = self.session.run_with_ort_values(list(names), given)
        return [values.from_runtime(value, as_torch) for value in found]


class ReferenceSession:
    """A model in the reference evaluator of the `onnx` package."""

    def __init__(self, model: str | bytes) -> None:
        import onnx
        from onnx.reference import ReferenceEvaluator

        loaded = onnx.load(model) if isinstance(model, str) else onnx.ModelProto.FromString(model)
        self.evaluator = ReferenceEvaluator(loaded)
        known = {tensor.name for tensor in loaded.graph.initializer}
        self.inputs = {
            port.name: _type(port.type.tensor_type.elem_type) for port in loaded.graph.input
        }
        self.required = [name for name in self.inputs if name not in known]
        self.outputs = [port.name for port in loaded.graph.output]
        self.metadata = {entry.key: entry.value for entry in loaded.metadata_props}

    def run(self, names: Sequence[str], feeds: Mapping[str, Any], as_torch: bool) -> list[Any]:
        """Return the outputs `names`."""
        given = {name: values.to_numpy(value, self.inputs[name]) for name, value in feeds.items()}
        found = self.evaluator.run(list(names), given)
        return [values.from_numpy(value) if as_torch else value for value in found]


def _type(number: int) -> str:
    import onnx

    name = onnx.TensorProto.DataType.Name(number).lower()
    return f"tensor({name})"
