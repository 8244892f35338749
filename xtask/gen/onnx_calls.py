"""Write calls of the operators whose bodies hang on the call, with the bodies that ONNX gives them.

Each call is a model of one node. What defines it is the model's function `expected::Body`, which is
missing where ONNX has no body for such a call.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import onnx.defs
from onnx import FunctionProto, GraphProto, ModelProto, TensorProto, TypeProto, helper
from onnx.defs import OpSchema

FLOAT, HALF, BFLOAT, DOUBLE = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.DOUBLE,
)
INT, BOOL = TensorProto.INT64, TensorProto.BOOL
FLOATS = (FLOAT, HALF, BFLOAT, DOUBLE)

Types = list[TypeProto | None]
Call = tuple[Types, dict[str, object], list[bool]]


def tensor(kind: int, *shape: int | None) -> TypeProto:
    """Return the type of a tensor."""
    return helper.make_tensor_type_proto(kind, shape)


def some(draw: random.Random, **attributes: object) -> dict[str, object]:
    """Return some of the attributes; a list stands for one of its items."""
    kept = {key: value for key, value in attributes.items() if draw.random() < 0.5}
    return {k: draw.choice(v) if isinstance(v, list) else v for k, v in kept.items()}


def maybe(draw: random.Random, kind: TypeProto) -> TypeProto | None:
    """Return `kind`, or nothing."""
    return draw.choice([kind, None])


def attention(draw: random.Random, schema: OpSchema) -> Call:
    """Draw a call of `Attention`."""
    kind, packed = draw.choice(FLOATS), draw.random() < 0.5
    heads = {"q_num_heads": 4, "kv_num_heads": draw.choice([1, 2, 4])}
    shape = (2, 3, 24) if packed else (2, 4, 3, 6)
    types: Types = [tensor(kind, *shape)] * 3
    types.append(maybe(draw, tensor(draw.choice([BOOL, kind]), 3, 5)))
    if draw.random() < 0.3:
        types += [tensor(kind, 2, 4, 2, 6)] * 2
    elif schema.since_version >= 24 and draw.random() < 0.5:
        types += [None, None, tensor(INT, 2)]
    attributes = some(
        draw,
        is_causal=[0, 1],
        scale=[0.25, 1.5],
        softcap=[0.0, 2.0],
        qk_matmul_output_mode=[0, 1, 2, 3],
        softmax_precision=[1, 10, 11, 16],
    )
    if schema.since_version >= 25:
        attributes |= some(draw, left_window_size=[-1, 0, 3], right_window_size=[-1, 0, 2])
    if packed or draw.random() < 0.1:
        attributes |= heads
    pair = draw.random() < 0.3
    return types, attributes, [True, pair, pair, draw.random() < 0.5]


def rotary(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `RotaryEmbedding`."""
    kind, packed = draw.choice((FLOAT, HALF)), draw.random() < 0.5
    shape = (2, 3, 32) if packed else (2, 4, 3, 8)
    ids = maybe(draw, tensor(INT, 2, 3))
    caches = [tensor(kind, 9, 4) if ids else tensor(kind, 2, 3, 4)] * 2
    attributes = some(draw, interleaved=[0, 1], rotary_embedding_dim=[0, 4])
    if packed or draw.random() < 0.3:
        attributes["num_heads"] = 4
    return [tensor(kind, *shape), *caches, ids], attributes, [True]


def linear(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `LinearAttention`."""
    kind = draw.choice((FLOAT, HALF, BFLOAT))
    queries, keys = draw.choice([(4, 4), (4, 2), (4, 1), (4, 3)])
    past = maybe(draw, tensor(FLOAT, 2, keys, 8, 8))
    types = [tensor(kind, 2, 3, 8 * n) for n in (queries, keys, keys)]
    rules = ["linear", "gated", "delta", "gated_delta"]
    attributes = some(draw, scale=[0.0, 0.5], chunk_size=[32], update_rule=rules)
    attributes |= {"q_num_heads": queries, "kv_num_heads": keys}
    more = [tensor(kind, 2, 3, 8 * keys), tensor(kind, 2, 3, keys)]
    return [*types, past, *more], attributes, [True, True]


def causal(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `CausalConvWithState`."""
    kind = draw.choice((FLOAT, HALF))
    channels = draw.choice([5, None])
    optional = [maybe(draw, tensor(kind, 5)), maybe(draw, tensor(kind, 2, 5, 2))]
    types = [tensor(kind, 2, channels, 7), tensor(kind, draw.choice([5, 5, None]), 1, 3)]
    attributes = some(draw, activation=["none", "silu", "swish"])
    return [*types, *optional], attributes, [True, True]


def space(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `DepthToSpace` or `SpaceToDepth`."""
    attributes = some(draw, mode=["DCR", "CRD"]) | {"blocksize": draw.choice([1, 2, 3])}
    return [tensor(draw.choice([FLOAT, HALF, INT]), 1, 36, 6, 12)], attributes, [True]


def progression(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `Range`."""
    kind = draw.choice([*FLOATS, INT])
    return [tensor(kind)] * 3, some(draw, stash_type=[1, 11]), [True]


def modifier(draw: random.Random, kind: int) -> GraphProto:
    """Return a graph that changes scores: by one of several means."""
    formal = helper.make_tensor_value_info("x", kind, [None] * 4)
    result = helper.make_tensor_value_info("y", kind, [None] * 4)
    two = helper.make_tensor("two", kind, (), [2.0])
    how = draw.randrange(4)
    if how == 0:
        return helper.make_graph([], "same", [formal], [formal])
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["z"]),
        helper.make_node("Add", ["z", "x"], ["y"]),
    ]
    if how == 1:
        nodes = [helper.make_node("Tanh", ["x"], ["y"], name="bounded")]
        return helper.make_graph(nodes, "bounded", [formal], [result])
    return helper.make_graph(nodes, "scaled", [formal], [result], [two])


def flex(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `FlexAttention`."""
    kind = draw.choice(FLOATS)
    attributes = some(draw, scale=[0.25, 1.5], softmax_precision=[1, 10, 11, 16])
    default = DOUBLE if kind == DOUBLE else FLOAT
    inner = attributes.get("softmax_precision", default)
    attributes |= some(draw, score_mod=modifier(draw, inner), prob_mod=modifier(draw, inner))
    keys = tensor(kind, 2, draw.choice([1, 2, 4]), 5, 6)
    return [tensor(kind, 2, 4, 3, 6), keys, keys], attributes, [True]


def mapped(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `SequenceMap`."""
    count, results = draw.choice([1, 2, 3]), draw.choice([1, 2])
    types: Types = [helper.make_sequence_type_proto(tensor(FLOAT, None))]
    for _at in range(1, count):
        single = tensor(FLOAT, None)
        types.append(draw.choice([single, helper.make_sequence_type_proto(single)]))
    formal = [helper.make_tensor_value_info(f"x{at}", FLOAT, [None]) for at in range(count)]
    nodes = [helper.make_node("Sum", [f.name for f in formal], ["sum"])]
    nodes.append(helper.make_node("Add", ["sum", "one"], ["y0"]))
    branch = helper.make_graph(
        [helper.make_node("Cast", ["y0"], ["chosen"], to=INT)],
        "branch",
        [],
        [helper.make_tensor_value_info("chosen", INT, None)],
    )
    nodes.append(
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("b", BOOL, (), [1]))
    )
    nodes.append(helper.make_node("If", ["yes"], ["y1"], then_branch=branch, else_branch=branch))
    made = [
        helper.make_tensor_value_info("y0", FLOAT, [None]),
        helper.make_tensor_value_info("y1", INT, [None]),
    ]
    one = helper.make_tensor("one", FLOAT, (1,), [1.0])
    body = helper.make_graph(nodes, "body", formal, made[:results], [one])
    return types, {"body": body}, [True] * results


def norm(draw: random.Random, schema: OpSchema) -> Call:
    """Draw a call of a normalisation."""
    kind = draw.choice(FLOATS)
    group = schema.name == "GroupNormalization"
    biased = group or (schema.name == "LayerNormalization" and draw.random() < 0.5)
    attributes = some(draw, epsilon=[0.25, 1e-3])
    if "stash_type" in schema.attributes:
        attributes |= some(draw, stash_type=[1, 16])
    attributes |= {"num_groups": 2} if group else some(draw, axis=[-2, -1, 0, 1])
    types = [tensor(kind, 2, 4, 6), tensor(kind, 4), *([tensor(kind, 4)] if biased else [])]
    return types, attributes, [True] * len(schema.outputs)


def loss(draw: random.Random, schema: OpSchema) -> Call:
    """Draw a call of a loss of logarithms."""
    kind = draw.choice((FLOAT, HALF, DOUBLE))
    attributes = some(draw, reduction=["none", "sum", "mean"], ignore_index=[-100, 2])
    types = [tensor(kind, 3, 5), tensor(INT, 3), maybe(draw, tensor(kind, 5))]
    return types, attributes, [True, *([True] * draw.randrange(len(schema.outputs)))]


def unary(**attributes: list[object]) -> Callable[[random.Random, OpSchema], Call]:
    """Return a generator of calls of an operator of one float."""
    return lambda draw, _: (
        [tensor(draw.choice((FLOAT, HALF)), 2, 3)],
        some(draw, **attributes),
        [True],
    )


def cropped(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `CenterCropPad`."""
    return [tensor(FLOAT, 4, 5, 6), tensor(INT, 3)], some(draw, axes=[[2, 0, 1]]), [True]


def clipped(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `Clip`."""
    kind = draw.choice((FLOAT, INT))
    return [tensor(kind, 3), maybe(draw, tensor(kind)), maybe(draw, tensor(kind))], {}, [True]


def alike(draw: random.Random, _: OpSchema) -> Call:
    """Draw a call of `CastLike`."""
    return [tensor(draw.choice(FLOATS), 3), tensor(draw.choice([*FLOATS, INT]), 2)], {}, [True]


# How calls are drawn, and how many.
CALLS = {
    "Attention": (attention, 150),
    "Bernoulli": (unary(seed=[0.5], dtype=[1, 11]), 20),
    "CastLike": (alike, 10),
    "CausalConvWithState": (causal, 60),
    "Celu": (unary(alpha=[0.5, 2.0]), 10),
    "CenterCropPad": (cropped, 10),
    "Clip": (clipped, 10),
    "DepthToSpace": (space, 20),
    "FlexAttention": (flex, 80),
    "Gelu": (unary(approximate=["none", "tanh"]), 10),
    "GroupNormalization": (norm, 20),
    "LayerNormalization": (norm, 30),
    "LinearAttention": (linear, 60),
    "LogSoftmax": (unary(axis=[0, 1, -1]), 10),
    "NegativeLogLikelihoodLoss": (loss, 30),
    "RMSNormalization": (norm, 30),
    "Range": (progression, 20),
    "RotaryEmbedding": (rotary, 60),
    "SequenceMap": (mapped, 20),
    "Softmax": (unary(axis=[0, 1, -1]), 10),
    "SoftmaxCrossEntropyLoss": (loss, 30),
    "SpaceToDepth": (space, 20),
}


def body(schema: OpSchema, opset: int, node: onnx.NodeProto, types: Types) -> FunctionProto | None:
    """Return the body of a call in terms of `opset`, with the results that it makes."""
    raw = schema.get_context_dependent_function_with_opset_version(
        opset,
        node.SerializeToString(),
        [(kind or TypeProto()).SerializeToString() for kind in types],
    )
    if not raw:
        return None
    function = FunctionProto.FromString(raw)
    if not function.node:
        return None
    made = {name for inner in function.node for name in inner.output}
    outputs = [name for name in function.output if name in made]
    del function.output[:]
    function.output.extend(outputs)
    function.domain, function.name = "expected", "Body"
    return function


def model(schema: OpSchema, opset: int, call: Call) -> ModelProto:
    """Return the model of a call."""
    types, attributes, asked = call
    while types and types[-1] is None:
        types.pop()
    while not asked[-1]:
        asked.pop()
    inputs = [f"in{at}" if kind else "" for at, kind in enumerate(types)]
    outputs = [f"out{at}" if given else "" for at, given in enumerate(asked)]
    node = helper.make_node(schema.name, inputs, outputs, domain=schema.domain, **attributes)
    named = [(name, kind) for name, kind in zip(inputs, types, strict=True) if kind]
    formal = [helper.make_value_info(name, kind) for name, kind in named]
    results = [helper.make_value_info(name, TypeProto()) for name in outputs if name]
    expected = body(schema, opset, node, types)
    imports = {"": 28 if schema.domain else opset, "expected": 1}
    if schema.domain:
        imports[schema.domain] = opset
    return helper.make_model(
        helper.make_graph([node], "call", formal, results),
        opset_imports=[helper.make_opsetid(*pair) for pair in imports.items()],
        functions=[expected] if expected else [],
    )


def calls() -> Iterator[tuple[str, ModelProto]]:
    """Yield every call, with a name."""
    schemas = onnx.defs.get_all_schemas_with_history()
    schemas = [s for s in schemas if s.has_context_dependent_function and not s.deprecated]
    for schema in sorted(schemas, key=lambda s: (s.name, s.since_version)):
        draw_call, count = CALLS[schema.name]
        for opset in sorted(schema.context_dependent_function_opset_versions):
            draw = random.Random(f"{schema.name} {schema.since_version} {opset}")
            for number in range(count):
                name = f"{schema.name}-{schema.since_version}-{opset}-{number}"
                yield name, model(schema, opset, draw_call(draw, schema))


def main() -> None:
    """Write the calls to the folder given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.onnx"):
        old.unlink()
    for name, call in calls():
        output.joinpath(f"{name}.onnx").write_bytes(call.SerializeToString())


if __name__ == "__main__":
    main()
