import torch
import torch.nn.functional as F

from tests.python.ops.harness import boolean, case, f16, f32, f64, suite

sdpa = F.scaled_dot_product_attention
OP = "aten.scaled_dot_product_attention.default"
QKV = (f32(2, 4, 5, 8), f32(2, 4, 7, 8), f32(2, 4, 7, 6))
GROUPED = (f32(2, 4, 5, 8), f32(2, 2, 7, 8), f32(2, 2, 7, 8))
AUTO, PLACES = torch.export.Dim.AUTO, torch.export.Dim("places")
SEQUENCE = ({0: AUTO, 2: AUTO}, {0: AUTO, 2: PLACES}, {0: AUTO, 2: PLACES})
ROWS = torch.tensor([[True] * 7] * 4 + [[False] * 7])
CLOSED = torch.zeros(5, 7).masked_fill(~ROWS, float("-inf"))

test_ops = suite(
    __file__,
    [
        case(OP, sdpa, *QKV, dynamic=True),
        case(OP, sdpa, *QKV, id="23", dynamic=True, options=("--opset", "23")),
        case(
            OP,
            lambda q, k, v: sdpa(q, k, v, is_causal=True, scale=0.3, enable_gqa=True),
            *GROUPED,
            id="grouped-23",
            options=("--opset", "23"),
        ),
        case(OP, lambda q, k, v: sdpa(q, k, v, is_causal=True), *QKV, id="causal"),
        case(
            OP,
            lambda q, k, v: sdpa(q, k, v, is_causal=True),
            *QKV,
            id="causal-dynamic",
            dynamic=True,
        ),
        case(
            OP,
            lambda q, k, v: sdpa(q, k, v, is_causal=True),
            f32(1, 2, 80, 4),
            f32(1, 2, 80, 4),
            f32(1, 2, 80, 4),
            id="causal-long",
        ),
        case(OP, sdpa, *QKV, f32(5, 7), id="float-mask", dynamic=True),
        case(OP, sdpa, *QKV, CLOSED, id="closed-rows"),
        case(OP, sdpa, *QKV, boolean(2, 1, 5, 7), id="bool-mask", dynamic=True),
        case(OP, sdpa, *QKV, ROWS, id="bool-closed-rows"),
        case(OP, lambda q, k, v: sdpa(q, k, v, scale=0.3), *QKV, id="scale"),
        case(OP, lambda q, k, v: sdpa(q, k, v, scale=1.0), *QKV, id="unit-scale"),
        case(
            OP,
            lambda q, k, v: sdpa(q, k, v, enable_gqa=True),
            *GROUPED,
            id="grouped",
            dynamic=SEQUENCE,
        ),
        case(
            OP,
            lambda q, k, v, m: sdpa(q, k, v, m, enable_gqa=True),
            *GROUPED,
            boolean(2, 4, 5, 7),
            id="grouped-mask",
        ),
        case(
            OP,
            lambda q, k, v, m: sdpa(q, k, v, m, enable_gqa=True),
            *GROUPED,
            f32(2, 1, 5, 7),
            id="grouped-shared-mask",
        ),
        case(
            OP,
            lambda q, k, v: sdpa(q, k, v, is_causal=True, enable_gqa=True),
            *GROUPED,
            id="grouped-causal",
        ),
        case(OP, sdpa, f32(3, 5, 8), f32(3, 7, 8), f32(3, 7, 8), f32(1, 5, 7), id="three-axes"),
        case(OP, sdpa, f16(2, 4, 5, 8), f16(2, 4, 7, 8), f16(2, 4, 7, 8), boolean(5, 7), id="half"),
        case(
            OP, sdpa, f64(2, 4, 5, 8), f64(2, 4, 7, 8), f64(2, 4, 7, 8), boolean(5, 7), id="double"
        ),
        case(
            "aten._scaled_dot_product_flash_attention_for_cpu.default",
            lambda q, k, v: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q, k, v, 0.0, True
            )[0],
            f32(2, 4, 5, 8),
            f32(2, 4, 5, 8),
            f32(2, 4, 5, 8),
        ),
        case(
            "aten._scaled_dot_product_flash_attention_for_cpu.default",
            lambda q, k, v, m: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q, k, v, attn_mask=m
            ),
            f32(2, 3, 4, 8),
            f32(2, 3, 6, 8),
            f32(2, 3, 6, 8),
            f32(4, 6),
            id="log-sums",
        ),
    ],
)
