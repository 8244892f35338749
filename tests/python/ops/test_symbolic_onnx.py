import torch

from tests.python.ops.harness import case, f32, i64, suite


def leaky_relu(x):
    ops = torch.onnx.ops
    return ops.symbolic("LeakyRelu", (x,), {"alpha": 0.25}, dtype=x.dtype, shape=x.shape) + 1


def contrib(x):
    ops = torch.onnx.ops
    return ops.symbolic("com.microsoft::Gelu", (x,), {}, dtype=x.dtype, shape=x.shape, version=1)


def attributes(x):
    ops = torch.onnx.ops
    attributes = {"mode": "reflect"}
    x = ops.symbolic(
        "Pad", (x, torch.tensor([0, 1, 0, 1])), attributes, dtype=x.dtype, shape=(3, 6)
    )
    return ops.symbolic("Transpose", (x,), {"perm": [1, 0]}, dtype=x.dtype, shape=(6, 3))


def optional(x):
    ops = torch.onnx.ops
    return ops.symbolic("Clip", (x, None, torch.ones(())), {}, dtype=x.dtype, shape=x.shape)


def several(x):
    values, places = torch.onnx.ops.symbolic_multi_out(
        "TopK", (x, torch.tensor([2])), {"largest": 0}, dtypes=(x.dtype, 7), shapes=((3, 2), (3, 2))
    )
    return values * 2, places


def rotary(**attributes):
    def apply(x, cos, sin, ids=None):
        return torch.onnx.ops.rotary_embedding(x, cos, sin, ids, **attributes)

    return apply


def attention(q, k, v):
    return torch.onnx.ops.attention(q, k, v)[0]


def attention_heads(q, k, v):
    return torch.onnx.ops.attention(q, k, v, is_causal=True, q_num_heads=2, kv_num_heads=2)[0]


# PyTorch computes zeros for a symbolic operator: only dtype and shape can be compared.
SHAPE = float("inf")
OPSET = ("--opset", "23")
IDS = i64(2, 3, low=0, high=9)
WITH_IDS = (f32(9, 4), f32(9, 4), IDS)

test_ops = suite(
    __file__,
    [
        case(
            "onnx_symbolic._symbolic.default", leaky_relu, f32(3, 4), dynamic=True, tolerance=SHAPE
        ),
        case("onnx_symbolic._symbolic.default", contrib, f32(3, 4), tolerance=SHAPE, id="contrib"),
        case(
            "onnx_symbolic._symbolic.default",
            attributes,
            f32(3, 4),
            tolerance=SHAPE,
            id="attributes",
        ),
        case(
            "onnx_symbolic._symbolic.default", optional, f32(3, 4), tolerance=SHAPE, id="optional"
        ),
        case("onnx_symbolic._symbolic_multi_out.default", several, f32(3, 4), tolerance=SHAPE),
        *(
            case(
                "onnx.RotaryEmbedding.opset23",
                rotary(**attributes),
                *inputs,
                options=options,
                id=f"{name} {opset}",
            )
            for opset, options in (("20", ()), ("23", OPSET))
            for name, attributes, inputs in (
                ("plain", {}, (f32(2, 2, 3, 8), f32(2, 3, 4), f32(2, 3, 4))),
                ("interleaved", {"interleaved": True}, (f32(2, 2, 3, 8), *WITH_IDS)),
                ("heads", {"num_heads": 2}, (f32(2, 3, 16), *WITH_IDS)),
                ("partial", {"rotary_embedding_dim": 8}, (f32(2, 2, 3, 10), *WITH_IDS)),
            )
        ),
        case(
            "onnx.Attention.opset23",
            attention,
            f32(2, 2, 3, 4),
            f32(2, 2, 3, 4),
            f32(2, 2, 3, 4),
            options=OPSET,
        ),
        case(
            "onnx.Attention.opset23",
            attention_heads,
            f32(2, 3, 8),
            f32(2, 3, 8),
            f32(2, 3, 8),
            options=OPSET,
            id="heads",
        ),
    ],
)
