"""Write `tests/files/data/onnx_nodes.txt`: node tests of the ONNX package in text form.

Each case is a model of one operator whose inputs are typed, with the types that its outputs must
have, and the bytes of its inputs (`<`) and outputs (`>`) where they are few. Small integer inputs,
and the scales of `Resize`, are constants, so that shapes that depend on them can be inferred.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, defs, numpy_helper

OPSETS = range(18, 29)
MAX_ELEMENTS = 64
# So many elements the inputs and outputs of a case have at most whose values are written.
MAX_VALUES = 256
# Operators with random results.
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike"}

DTYPES = {
    TensorProto.FLOAT: "f32",
    TensorProto.UINT8: "u8",
    TensorProto.INT8: "i8",
    TensorProto.UINT16: "u16",
    TensorProto.INT16: "i16",
    TensorProto.INT32: "i32",
    TensorProto.INT64: "i64",
    TensorProto.STRING: "string",
    TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "f16",
    TensorProto.DOUBLE: "f64",
    TensorProto.UINT32: "u32",
    TensorProto.UINT64: "u64",
    TensorProto.COMPLEX64: "c64",
    TensorProto.BFLOAT16: "bf16",
    TensorProto.FLOAT8E4M3FN: "f8e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "f8e4m3fnuz",
    TensorProto.FLOAT8E5M2: "f8e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "f8e5m2fnuz",
    TensorProto.UINT4: "u4",
    TensorProto.INT4: "i4",
    TensorProto.FLOAT4E2M1: "f4e2m1",
}


class UnsupportedError(Exception):
    """Raised for a case that the text form cannot hold."""


def tensor_type(code: int, shape: Any) -> str:
    """Return `f32[2, 3]`."""
    if code not in DTYPES:
        raise UnsupportedError
    return f"{DTYPES[code]}[{', '.join(map(str, shape))}]"


def elements(array: Any) -> str:
    """Return the elements of a small tensor, or `...`."""
    if array.dtype == np.bool_:
        return "[" + ", ".join("true" if x else "false" for x in array.ravel()) + "]"
    if array.dtype in (np.int32, np.int64):
        return "[" + ", ".join(map(str, array.ravel().tolist())) + "]"
    if array.dtype == np.float32:
        return f'hex "{array.tobytes().hex()}"'
    return "..."


def real(value: float) -> str:
    """Return a float so that it is not an integer."""
    text = repr(value).replace("nan", "NaN")
    return text if any(c in text for c in ".einN") else text + ".0"


def attribute(proto: AttributeProto) -> str:
    """Return the value of an attribute."""
    match proto.type:
        case AttributeProto.INT:
            return str(proto.i)
        case AttributeProto.FLOAT:
            return real(proto.f)
        case AttributeProto.STRING:
            return json.dumps(proto.s.decode())
        case AttributeProto.INTS:
            return f"[{', '.join(map(str, proto.ints))}]" if proto.ints else "ints[]"
        case AttributeProto.FLOATS:
            return f"[{', '.join(map(real, proto.floats))}]" if proto.floats else "floats[]"
        case AttributeProto.STRINGS:
            return f"[{', '.join(json.dumps(s.decode()) for s in proto.strings)}]"
        case AttributeProto.TENSOR:
            array = numpy_helper.to_array(proto.t)
            if array.size > MAX_ELEMENTS:
                raise UnsupportedError
            return f"tensor {tensor_type(proto.t.data_type, array.shape)} {elements(array)}"
    raise UnsupportedError


def value(name: str) -> str:
    """Return a reference of a value."""
    return f"%{json.dumps(name)}" if name else "_"


def case(test: Any) -> Iterator[str]:
    """Yield the lines of a case."""
    graph = test.model.graph
    (node,) = graph.node
    opset = next(o.version for o in test.model.opset_import if not o.domain)
    inputs, outputs = test.data_sets[0]
    since = defs.get_schema(node.op_type, opset).since_version
    # The newest opset that is emitted, where the operator has not changed since.
    opset = min(opset, OPSETS.stop - 1)
    if since > opset or opset < OPSETS.start:
        raise UnsupportedError
    yield f"opset {opset}"
    yield "graph {"
    lines = []
    for declared, given in zip(graph.input, inputs, strict=True):
        if not declared.type.HasField("tensor_type"):
            raise UnsupportedError
        is_proto = isinstance(given, TensorProto)
        array = numpy_helper.to_array(given) if is_proto else np.asarray(given)
        type_text = tensor_type(declared.type.tensor_type.elem_type, array.shape)
        known = array.dtype in (np.int32, np.int64, np.bool_) or (
            node.op_type == "Resize" and array.dtype == np.float32
        )
        if known and array.ndim <= 1 and array.size <= MAX_ELEMENTS:
            yield f"  constant {value(declared.name)}: {type_text} = {elements(array)}"
        else:
            lines.append(f"  input {value(declared.name)}: {type_text}")
    yield from lines
    attributes = sorted(node.attribute, key=lambda a: a.name)
    text = ", ".join(f"{json.dumps(a.name)} = {attribute(a)}" for a in attributes)
    results, arguments = (", ".join(map(value, names)) for names in (node.output, node.input))
    yield f"  {results} = {node.op_type}({arguments})" + (f" {{{text}}}" if text else "")
    for index, declared in enumerate(graph.output):
        yield f"  output {value(declared.name)} as {json.dumps(f'output {index}')}"
    yield "}"
    for declared, expected in zip(graph.output, outputs, strict=True):
        if not declared.type.HasField("tensor_type"):
            raise UnsupportedError
        shape = expected.dims if isinstance(expected, TensorProto) else np.asarray(expected).shape
        yield "= " + tensor_type(declared.type.tensor_type.elem_type, shape)
    yield from values(test)


def values(test: Any) -> Iterator[str]:
    """Yield the bytes of the inputs and outputs, where they are few and no texts."""
    node = test.model.graph.node[0]
    if node.op_type in RANDOM:
        return
    lines, count = [], 0
    ends = test.model.graph.input, test.model.graph.output
    for mark, declared, tensors in zip("<>", ends, test.data_sets[0], strict=True):
        for end, given in zip(declared, tensors, strict=True):
            tensor = (
                given
                if isinstance(given, TensorProto)
                else numpy_helper.from_array(np.asarray(given))
            )
            if tensor.data_type == TensorProto.STRING:
                return
            if not tensor.HasField("raw_data"):
                tensor = numpy_helper.from_array(numpy_helper.to_array(tensor))
            count += int(np.prod(tensor.dims))
            lines.append(f"{mark} {end.name} {tensor.raw_data.hex()}")
    if count <= MAX_VALUES:
        yield from lines


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    output = parser.parse_args().output
    warnings.filterwarnings("ignore")
    from onnx.backend.test.loader import load_model_tests

    cases = {}
    for test in load_model_tests(kind="node"):
        if test.model is None or len(test.model.graph.node) != 1 or test.model.graph.node[0].domain:
            continue
        try:
            cases[test.name] = "\n".join(case(test))
        except UnsupportedError:
            continue
    with output.open("w", encoding="utf-8") as file:
        source = f"From the node tests of onnx {onnx.__version__}"
        file.write(f"# {source}; `tests/python/data/onnx_nodes.py` writes this file.\n")
        for name, text in sorted(cases.items()):
            file.write(f"--- {name}\n{text}\n")


if __name__ == "__main__":
    main()
