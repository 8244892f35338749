"""Overloads that programs rarely name: those of kernels, and rare ones."""

import torch
import torch.ao.quantization.fx._decomposed

from tests.python.ops.harness import Random, case, f32, i64, suite

ATEN = torch.ops.aten
PRIMS = torch.ops.prims
QUANTIZED = torch.ops.quantized_decomposed
PLACES = Random(torch.int64, (4,), 0, 5)
GRID = {"low": -1.2, "high": 1.2}
POSITIVE = {"low": 0.5, "high": 2}


test_ops = suite(
    __file__,
    [
        case(
            "aten._batch_norm_no_update.default",
            lambda x, w, m, v: ATEN._batch_norm_no_update(x, w, w, m, v, 0.1, 1e-5)[0],
            f32(3, 4, 5),
            f32(4),
            f32(4),
            f32(4, **POSITIVE),
        ),
        case(
            "aten._batch_norm_with_update_functional.default",
            lambda x, w, m, v: ATEN._batch_norm_with_update_functional(x, w, w, m, v, 0.1, 1e-5),
            f32(3, 4, 5),
            f32(4),
            f32(4),
            f32(4, **POSITIVE),
        ),
        case(
            "aten._convolution_mode.default",
            lambda x, w: ATEN._convolution_mode(x, w, None, [1, 1], "same", [1, 1], 1),
            f32(2, 3, 6, 6),
            f32(4, 3, 3, 3),
        ),
        case(
            "aten._embedding_bag.default",
            lambda w, i: ATEN._embedding_bag(w, i, torch.tensor([0, 2]))[0],
            f32(5, 3),
            PLACES,
        ),
        case(
            "aten._embedding_bag_forward_only.default",
            lambda w, i: ATEN._embedding_bag_forward_only(w, i, torch.tensor([0, 2]))[0],
            f32(5, 3),
            PLACES,
        ),
        case(
            "aten.embedding_bag.default",
            lambda w, i: ATEN.embedding_bag(w, i, torch.tensor([0, 2]))[0],
            f32(5, 3),
            PLACES,
        ),
        case(
            "aten._linalg_det.default",
            lambda x: ATEN._linalg_det(x)[0],
            f32(2, 3, 3),
        ),
        case(
            "aten._scaled_dot_product_attention_math.default",
            lambda q, k, v: ATEN._scaled_dot_product_attention_math(q, k, v)[0],
            *[f32(2, 3, 4, 8)] * 3,
        ),
        case(
            "aten._unsafe_index.Tensor", lambda x, i: ATEN._unsafe_index(x, [i]), f32(5, 3), PLACES
        ),
        case(
            "aten._unsafe_index_put.default",
            lambda x, i, v: ATEN._unsafe_index_put(x, [i], v, True),
            f32(5, 3),
            PLACES,
            f32(4, 3),
        ),
        case(
            "aten._unsafe_masked_index.default",
            lambda x, i: ATEN._unsafe_masked_index(x, i > 1, [i], 0.5),
            f32(5),
            PLACES,
        ),
        case(
            "aten._unsafe_masked_index_put_accumulate.default",
            lambda x, i, v: ATEN._unsafe_masked_index_put_accumulate(x, i > 1, [i], v),
            f32(5),
            PLACES,
            f32(4),
        ),
        case("aten.clip.default", lambda x: ATEN.clip(x, -1, 1), f32(3, 4)),
        case("aten.clip.Tensor", lambda x, y: ATEN.clip(x, y, y + 1), f32(3, 4), f32(4)),
        case(
            "aten.embedding_dense_backward.default",
            lambda g, i: ATEN.embedding_dense_backward(g, i, 5, -1, False),
            f32(4, 3),
            PLACES,
        ),
        case(
            "aten.grid_sampler_2d.default",
            lambda x, g: ATEN.grid_sampler_2d(x, g, 0, 0, False),
            f32(2, 3, 4, 5),
            f32(2, 3, 4, 2, **GRID),
        ),
        case(
            "aten.grid_sampler_3d.default",
            lambda x, g: ATEN.grid_sampler_3d(x, g, 0, 0, True),
            f32(2, 3, 4, 5, 3),
            f32(2, 3, 4, 2, 3, **GRID),
        ),
        case("aten.linspace.Scalar_Tensor", lambda x: torch.linspace(0.5, x, 4), f32()),
        case("aten.linspace.Tensor_Scalar", lambda x: torch.linspace(x, 0.5, 4), f32()),
        case("aten.logspace.Scalar_Tensor", lambda x: torch.logspace(0.5, x, 4), f32()),
        case("aten.logspace.Tensor_Scalar", lambda x: torch.logspace(x, 0.5, 4), f32()),
        case("aten.logspace.Tensor_Tensor", lambda x, y: torch.logspace(x, y, 4), f32(), f32()),
        case(
            "aten.log_sigmoid_forward.default", lambda x: ATEN.log_sigmoid_forward(x)[0], f32(3, 4)
        ),
        case(
            "aten.max_unpool3d.default",
            lambda x: ATEN.max_unpool3d(
                x, torch.tensor([[[[[0, 3], [10, 13]]]]]), [2, 4, 4], [2, 2, 2], [0, 0, 0]
            ),
            f32(1, 1, 1, 2, 2),
        ),
        *(
            case(
                f"aten.{name}.default",
                lambda x, y, name=name: getattr(ATEN, name)(x, y, None, 1, -100),
                f32(*shape),
                Random(torch.int64, (shape[0], *shape[2:]), 0, 5),
            )
            for name, shape in (("nll_loss", (4, 5)), ("nll_loss2d", (4, 5, 3, 2)))
        ),
        *(
            case(
                f"aten.{name}.default",
                lambda x, y, name=name: getattr(ATEN, name)(x, y, None, 1, -100)[0],
                f32(*shape),
                Random(torch.int64, (shape[0], *shape[2:]), 0, 5),
            )
            for name, shape in (("nll_loss_forward", (4, 5)), ("nll_loss2d_forward", (4, 5, 3, 2)))
        ),
        case(
            "aten.norm.ScalarOpt_dim_dtype",
            lambda x: ATEN.norm(x, 2, [1], True, dtype=torch.float64),
            f32(3, 4),
        ),
        case(
            "aten.norm.ScalarOpt_dtype", lambda x: ATEN.norm(x, 3, dtype=torch.float64), f32(3, 4)
        ),
        case(
            "aten.reflection_pad3d.default",
            lambda x: ATEN.reflection_pad3d(x, [1, 2, 0, 1, 1, 1]),
            f32(2, 3, 4, 5),
        ),
        case(
            "aten.replication_pad3d.default",
            lambda x: ATEN.replication_pad3d(x, [1, 2, 0, 1, 1, 1]),
            f32(2, 3, 4, 5),
        ),
        case(
            "aten.scatter.value_reduce",
            lambda x, i: torch.scatter(x, 0, i, 2.0, reduce="multiply"),
            f32(5, 3),
            i64(2, 3, low=0, high=5),
        ),
        case(
            "aten.stft.center",
            lambda x: torch.view_as_real(
                ATEN.stft.center(x, 8, window=torch.ones(8), return_complex=True)
            ),
            f32(2, 40),
        ),
        case(
            "aten.to.device",
            lambda x: ATEN.to.device(x, torch.device("cpu"), torch.float64),
            f32(3),
        ),
        case(
            "aten.view_as_complex_copy.default",
            lambda x: torch.view_as_real(ATEN.view_as_complex_copy(x)) * 2,
            f32(3, 2),
        ),
        case(
            "prims.device_put.default",
            lambda x: PRIMS.device_put(x, torch.device("cpu")) + 1,
            f32(3),
        ),
        case(
            "prims.full.default",
            lambda x: (
                x
                + PRIMS.full(
                    [3], 2.0, dtype=torch.float32, device=torch.device("cpu"), requires_grad=False
                )
            ),
            f32(3),
        ),
        case(
            "prims.full_like.default",
            lambda x: PRIMS.full_like(
                x, 2.0, dtype=torch.float32, device=torch.device("cpu"), requires_grad=False
            ),
            f32(3),
        ),
        case("prims.squeeze.default", lambda x: PRIMS.squeeze(x, [1]) * 2, f32(3, 1)),
        case(
            "prims.empty.default",
            lambda x: (
                x
                + 0
                * PRIMS.empty(
                    [3], dtype=torch.float32, device=torch.device("cpu"), requires_grad=False
                )
            ),
            f32(3),
        ),
        case(
            "prims.empty_permuted.default",
            lambda x: (
                x
                + 0
                * PRIMS.empty_permuted(
                    [3], [0], dtype=torch.float32, device=torch.device("cpu"), requires_grad=False
                )
            ),
            f32(3),
        ),
        case(
            "prims.empty_strided.default",
            lambda x: (
                x
                + 0
                * PRIMS.empty_strided(
                    [3], [1], dtype=torch.float32, device=torch.device("cpu"), requires_grad=False
                )
            ),
            f32(3),
        ),
        case(
            "quantized_decomposed.choose_qparams.tensor",
            lambda x: QUANTIZED.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.choose_qparams_symmetric.tensor",
            lambda x: QUANTIZED.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
            lambda x: QUANTIZED.choose_qparams_per_token_asymmetric(x, torch.int8),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.convert_element_type.no_fuse",
            lambda x: QUANTIZED.convert_element_type.no_fuse(x, torch.float64),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.quantize_per_token.default",
            lambda x: QUANTIZED.quantize_per_token(
                x,
                x.abs().amax(1, True) / 100,
                torch.zeros(3, 1, dtype=torch.int64),
                -128,
                127,
                torch.int8,
            ),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.dequantize_per_token.default",
            lambda x: QUANTIZED.dequantize_per_token(
                x.to(torch.int8),
                torch.full((3, 1), 0.5),
                torch.zeros(3, 1, dtype=torch.int64),
                -128,
                127,
                torch.int8,
                torch.float32,
            ),
            i64(3, 4),
        ),
        case(
            "quantized_decomposed.quantize_per_channel_group.default",
            lambda x: QUANTIZED.quantize_per_channel_group(
                x,
                torch.full((3, 2), 0.25),
                torch.zeros(3, 2, dtype=torch.int64),
                -8,
                7,
                torch.int8,
                2,
            ),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.dequantize_per_channel_group.default",
            lambda x: QUANTIZED.dequantize_per_channel_group(
                x.to(torch.int8),
                torch.full((3, 2), 0.25),
                torch.zeros(3, 2, dtype=torch.int64),
                -8,
                7,
                torch.int8,
                2,
                torch.float32,
            ),
            i64(3, 4),
        ),
        case(
            "quantized_decomposed.fake_quant_per_channel.default",
            lambda x: QUANTIZED.fake_quant_per_channel(
                x, torch.tensor([0.1, 0.2, 0.3]), torch.zeros(3, dtype=torch.int64), 0, -8, 7
            ),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.quantize_per_tensor.tensor2",
            lambda x: QUANTIZED.quantize_per_tensor.tensor2(
                x, torch.tensor(0.1), torch.tensor(0), torch.tensor(-8), torch.tensor(7), torch.int8
            ),
            f32(3, 4),
        ),
        case(
            "quantized_decomposed.dequantize_per_tensor.tensor2",
            lambda x: QUANTIZED.dequantize_per_tensor.tensor2(
                x.to(torch.int8),
                torch.tensor(0.1),
                torch.tensor(0),
                torch.tensor(-8),
                torch.tensor(7),
                torch.int8,
            ),
            i64(3, 4),
        ),
    ],
)
