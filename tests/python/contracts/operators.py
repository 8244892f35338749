"""Operators that PyTorch's tests of export name."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.python.contracts.captures import decomposed, without
from tests.python.contracts.registry import contract, f, i, t


@contract(
    (f(5, 2), f(4, 2), f(3, 2)),
    (f(3, 2), f(6, 2), f(4, 2)),
    dynamic=({0: "n"}, {0: "m"}, {0: "k"}),
    export="pad_sequence",
)
def sequences_of_several_lengths(x, y, z):
    pad = torch._C._nn.pad_sequence
    return pad([x, y, z]), pad([x, y, z], batch_first=True)


@contract((f(4, 3),), export="operator_aten_tensor_mode_variant")
def rounded_division(x):
    return torch.ops.aten.div.Tensor_mode(x, 2, rounding_mode="floor")


@contract(
    (f(2, 4), t([[False, True, False, False], [False, False, False, True]])),
    export="export_then_compile_tensor_ctor",
)
def masked_by_a_constant(scores, mask):
    return scores.masked_fill(mask, torch.tensor(torch.finfo(scores.dtype).min))


@contract(
    (f(5, 4, 3, 2), f(5, 4, 3, 2), f(5, 4, 3, 2)), export="_scaled_dot_product_flash_attention"
)
def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)[0]


@contract((f(16, 4),), (f(9, 4),), dynamic=({0: Dim("n")},), export="sym_sqrt")
def a_root_of_a_size(x):
    return x / torch.sym_sqrt(x.shape[0])


@contract((f(10, 5), i([2, 4, 3, 1, 0], [0, 2, 1, 4, 3]), f(2, 5)), export="check_specialized_int")
def added_at_indices(x, index, src):
    return torch.ops.aten.scatter_add(x, -1, index, src)


@contract((t(10), t(12)), export="predispatch_grad_wrappers")
def gradients_on_and_off(x, y):
    with torch.enable_grad():
        x = x - y
    with torch.no_grad():
        return x * y


@contract((f(4, 4),), tolerance=1e-2, export="export_with_autocast")
def autocast(x):
    with torch.autocast(device_type="cpu", dtype=torch.float16, enabled=True):
        return (x @ x).sin().sum()


@contract((t(1),), (t(5),), export="full_on_scalar_tensor")
def filled_by_a_tensor(value):
    return torch.full((5, 2), value, dtype=torch.float32)


class Baddbmm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 4, 5, dtype=torch.float16))
        self.bias = nn.Parameter(torch.rand(3, 1, 5, dtype=torch.float16))

    def forward(self, x):
        return torch.ops.aten.baddbmm.default(self.bias, x, self.weight)


@contract(
    (f(3, 6, 4, dtype=torch.float16),),
    (f(3, 2, 4, dtype=torch.float16),),
    dynamic=({1: Dim("n")},),
    tolerance=1e-2,
    export="baddbmm",
)
class BatchedProduct(Baddbmm):
    pass


@contract((f(1, 9, 6), f(1, 9, 6)), tolerance=1e-3, export="istft_op")
def an_inverse_spectrum(real, imaginary):
    spec = torch.complex(real, imaginary)
    return torch.istft(spec, n_fft=16, hop_length=8, window=torch.hann_window(16), length=40)


@contract(
    (f(3, 2), i(2, 0, 5)),
    (f(2, 2), i(4, 1)),
    dynamic=({0: Dim("n")}, {0: Dim("n")}),
    export="repeat_interleave",
)
def repeated_numbers(values, counts):
    return torch.repeat_interleave(torch.arange(values.shape[0]), counts)


@contract((f(2, 3, 4, 5),), capture=decomposed, export="default_decomposition_core_cia_ops")
def upsampled(x):
    linear = torch.ops.aten.upsample_bilinear2d.vec(x, None, False, [2, 2])
    return linear, torch.ops.aten.upsample_nearest2d.vec(x, None, [2, 2])


@contract((f(2, 8, 6, 4), f(2, 2, 6, 4), f(2, 2, 6, 4)), export="sdpa_gqa")
def grouped_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


@contract(
    (f(2, 2, 6, 4), f(2, 2, 6, 4), f(2, 2, 6, 4)),
    capture=decomposed,
    export="scaled_dot_product_attention_cpu",
)
def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, None, dropout_p=0.0, is_causal=True)


@contract(
    (f(1, 1, 2, 4), f(1, 16, 2, 4), i(3)),
    (f(1, 1, 2, 4), f(1, 16, 2, 4), i(14)),
    export="unbacked_sdpa",
)
def attention_over_a_part_of_a_cache(query, cache, start):
    n = start.item()
    torch._check(n >= 0)
    torch._check(n <= 14)
    key = cache[:, : n + 1].transpose(1, 2)
    return F.scaled_dot_product_attention(query.transpose(1, 2), key, key * 2)


@contract((f(5),), export="duplicated_getitem")
def the_largest_two(x):
    values, at = torch.topk(x, 2)
    return values, at, at, values


@contract((f(2, 3, 4),), capture=decomposed, export="preserve_non_cia_op")
def elu(x):
    return F.elu(x)


@contract(
    (f(1, 2, 3, 4, 2),),
    capture=without(torch.ops.aten.upsample_trilinear3d.vec),
    export="preserve_cia_op",
)
def resized_volume(x):
    size = (x.shape[2] * 2, x.shape[3] * 3, x.shape[4] * 4)
    return F.interpolate(x, size=size, mode="trilinear", align_corners=False)


@contract((f(3),), export="item")
def numbers_of_constants(y):
    return torch.tensor(5).item() * torch.tensor(0.5).item() * y
