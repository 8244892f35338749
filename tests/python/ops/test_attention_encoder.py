import torch
from torch import nn

from tests.python.ops.harness import case, f32, suite

torch.manual_seed(0)
ATTENTION = nn.MultiheadAttention(8, 2, batch_first=True).eval()


def attention(x):
    inner = ATTENTION
    weights = (inner.in_proj_weight, inner.in_proj_bias, inner.out_proj.weight, inner.out_proj.bias)
    weights = tuple(w.detach().clone() for w in weights)
    return torch._native_multi_head_attention(x, x, x, 8, 2, *weights, need_weights=False)[0]


class Layer(nn.Module):
    """The fused kernel of an encoder layer, on the layer's own weights."""

    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        options = {"dim_feedforward": 12, "batch_first": True, **options}
        self.inner = nn.TransformerEncoderLayer(8, 2, **options)

    def forward(self, x):
        own, attn = self.inner, self.inner.self_attn
        return torch._transformer_encoder_layer_fwd(
            x,
            8,
            2,
            attn.in_proj_weight,
            attn.in_proj_bias,
            attn.out_proj.weight,
            attn.out_proj.bias,
            own.activation_relu_or_gelu == 2,
            own.norm_first,
            own.norm1.eps,
            own.norm1.weight,
            own.norm1.bias,
            own.norm2.weight,
            own.norm2.bias,
            own.linear1.weight,
            own.linear1.bias,
            own.linear2.weight,
            own.linear2.bias,
        )


OP = "aten._transformer_encoder_layer_fwd.default"

test_ops = suite(
    __file__,
    [
        case("aten._native_multi_head_attention.default", attention, f32(3, 5, 8)),
        case(OP, Layer(), f32(3, 5, 8)),
        case(OP, Layer(activation="gelu", norm_first=True), f32(3, 5, 8), id="first"),
        case(OP, Layer(activation="gelu"), f32(3, 5, 8), id="18", options=("--opset", "18")),
    ],
)
