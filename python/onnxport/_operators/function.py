"""Functions of onnxscript: scripted ones become local functions, traced ones are called."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from onnxport._operators import versions
from onnxport._operators.dtype import DType
from onnxport._operators.refusal import Refusal


def is_scripted(given: Any) -> bool:
    """Whether it is a function with a body in ONNX."""
    return hasattr(given, "to_function_proto") and hasattr(given, "function_ir")


def traced(given: Any) -> Callable[..., Any] | None:
    """Return the function that onnxscript only traces."""
    is_traced = type(given).__name__ == "TracedOnnxFunction" and hasattr(given, "func")
    return given.func if is_traced else None


def call(op: Any, given: Any, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Call a scripted function: its body becomes a local function of the model."""
    proto = given.to_function_proto()
    bound = inspect.signature(given).bind(*positional, **keywords)
    defaults = {attribute.name: attribute for attribute in proto.attribute_proto}
    inputs = []
    for name in proto.input:
        value = bound.arguments.pop(name, None)
        if value is None:
            raise Refusal(f"the function `{proto.name}` needs a value for `{name}`")
        inputs.append(value)
    attributes = {name: value for name, value in bound.arguments.items() if value is not None}
    for name in [*proto.attribute, *defaults]:
        if name in attributes:
            attributes[name] = _plain(name, attributes[name])
        elif name in defaults:
            attributes[name] = _value(defaults[name])
        else:
            raise Refusal(f"the function `{proto.name}` needs its attribute `{name}`")
    return _emit(op, proto, inputs, attributes, _called(given))


def _emit(
    op: Any,
    proto: Any,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    called: Mapping[tuple[str, str], Any],
) -> Any:
    imports = {entry.domain: entry.version for entry in proto.opset_import}

    def body(*values: Any) -> list[Any]:
        scope = dict(zip(proto.input, values, strict=True))
        work = _Body(op, imports, set(attributes), called)
        work.run(proto.node, scope)
        return [scope[name] for name in proto.output]

    return op.function(
        proto.domain,
        proto.name,
        *inputs,
        body=body,
        outputs=len(proto.output),
        version=imports.get(proto.domain, 1),
        **attributes,
    )


class _Body:
    """Emits the nodes of a function."""

    def __init__(
        self,
        op: Any,
        imports: Mapping[str, int],
        attributes: set[str],
        called: Mapping[tuple[str, str], Any],
    ) -> None:
        self.op = op
        self.imports = imports
        self.attributes = attributes
        self.called = called

    def run(self, nodes: Any, scope: dict[str, Any]) -> None:
        """Emit `nodes`, and add their outputs to `scope`."""
        for node in nodes:
            made = self.node(node, scope)
            values = made if isinstance(made, tuple) else (made,)
            scope.update(
                {name: value for name, value in zip(node.output, values, strict=True) if name}
            )

    def node(self, node: Any, scope: Mapping[str, Any]) -> Any:
        """Emit one node."""
        inputs = [scope[name] if name else None for name in node.input]
        attributes = {
            attribute.name: self.attribute(node, attribute, scope)
            for attribute in node.attribute
            if not attribute.ref_attr_name or attribute.ref_attr_name in self.attributes
        }
        if node.domain in ("", "ai.onnx"):
            versions.check(node, self.imports.get(node.domain, 1), self.op.opset)
            if node.op_type == "Loop":
                # Inside functions, runtimes know the types of arguments only.
                count, condition, *carried = inputs
                unbounded = self.op.constant(2**63 - 1) if count is None else count
                inputs = [unbounded, True if condition is None else condition, *carried]
            return getattr(self.op, node.op_type)(*inputs, outputs=len(node.output), **attributes)
        callee = self.called.get((node.domain, node.op_type))
        if callee is not None:
            return call(self.op, callee, inputs, attributes)
        version = self.imports.get(node.domain, 1)
        return self.op.custom(
            node.domain,
            node.op_type,
            *inputs,
            outputs=len(node.output),
            version=version,
            **attributes,
        )

    def attribute(self, node: Any, attribute: Any, scope: Mapping[str, Any]) -> Any:
        """Return an attribute as the emitter takes it."""
        if attribute.ref_attr_name:
            return self.op.refer(attribute.ref_attr_name)
        if attribute.type == attribute.GRAPH:
            return self.block(node, attribute.g, scope)
        return _value(attribute)

    def block(self, node: Any, graph: Any, scope: Mapping[str, Any]) -> Any:
        """Return a graph as a block, whose inputs have the types that it or the node states."""

        def body(*values: Any) -> list[Any]:
            inner = {**scope, **dict(zip((i.name for i in graph.input), values, strict=True))}
            for tensor in graph.initializer:
                inner[tensor.name] = self.op.constant(_array(tensor))
            self.run(graph.node, inner)
            return [inner[output.name] for output in graph.output]

        types = [_stated(value) for value in graph.input]
        if node.op_type == "Loop":
            carried = [(scope[name].dtype, None) for name in node.input[2:]]
            stated = [of or other for of, other in zip(types[2:], carried, strict=True)]
            types = [(DType.INT64, ()), (DType.BOOL, ()), *stated]
        if any(stated is None or stated[0] is None for stated in types):
            raise Refusal(f"a body of `{node.op_type}` does not state the types of its inputs")
        return self.op.block(body, *types)


def _stated(value: Any) -> tuple[Any, Any] | None:
    kind = value.type.tensor_type.elem_type if value.type.HasField("tensor_type") else 0
    return (kind, None) if kind else None


def _value(attribute: Any) -> Any:
    import onnx

    if attribute.type == attribute.TENSOR:
        return _array(attribute.t)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if attribute.type == attribute.STRINGS:
        return [text.decode() for text in value]
    return list(value) if attribute.type in (attribute.INTS, attribute.FLOATS) else value


def _array(tensor: Any) -> Any:
    import onnx

    return onnx.numpy_helper.to_array(tensor)


def _plain(name: str, value: Any) -> Any:
    kinds = (bool, int, float, str, list, tuple)
    if not isinstance(value, kinds):
        raise Refusal(f"the attribute `{name}` of a function is known before the model runs")
    return value


def _called(given: Any) -> dict[tuple[str, str], Any]:
    found = given.function_ir.get_called_functions().values()
    return {(callee.function_ir.domain, callee.function_ir.name): callee for callee in found}


class _Evaluator:
    """The evaluator of onnxscript on this thread, while a call is being lowered."""

    def __init__(self, op: Any, before: Any) -> None:
        self.op = op
        self.before = before
        self.thread = threading.get_ident()

    def eval_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Emit an operator."""
        if threading.get_ident() != self.thread:
            return self.before.eval_op(op, args, kwargs)
        domain, version, schema = op.opset.domain, op.opset.version, op.op_schema
        inputs, attributes = list(args), dict(kwargs)
        if schema is None:
            return self.op.custom(domain, op.name, *inputs, version=version, **attributes)
        for formal in schema.inputs[len(inputs) :]:
            if formal.name in attributes:
                inputs.append(attributes.pop(formal.name))
            elif any(later.name in attributes for later in schema.inputs):
                inputs.append(None)
        if domain not in ("", "ai.onnx"):
            return self.op.custom(
                domain,
                op.name,
                *inputs,
                outputs=len(schema.outputs),
                version=version,
                **attributes,
            )
        versions.check_name(op.name, attributes, version, self.op.opset)
        outputs = _outputs(op.name, schema, attributes)
        return getattr(self.op, op.name)(*inputs, outputs=outputs, **attributes)

    def eval_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a scripted function."""
        if threading.get_ident() != self.thread:
            return self.before.eval_function(function, args, kwargs)
        return call(self.op, function, args, kwargs)


def _outputs(name: str, schema: Any, attributes: Mapping[str, Any]) -> int:
    if name == "Split":
        count = attributes.get("num_outputs")
        if count is None:
            raise Refusal("a `Split` in a traced function needs `num_outputs`")
        return count
    if name == "BatchNormalization" and not attributes.get("training_mode"):
        return 1
    return len(schema.outputs)


@contextlib.contextmanager
def evaluating(op: Any) -> Iterator[None]:
    """Let operators of onnxscript emit."""
    try:
        from onnxscript import evaluator
    except ImportError:
        yield
        return
    with evaluator.default_as(_Evaluator(op, evaluator.default())):
        yield
