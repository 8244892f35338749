import subprocess

import pytest
import torch

import onnxport
from tests.python.onnx_runtime import binary, read_cases, reported, run_cases
from tests.python.ops.harness import Random, boolean, c64, case, export, f16, f32, f64, suite

ATEN = torch.ops.aten
PRIMS = torch.ops.prims
DYNAMIC = {"dynamic": True}


def masked(x: torch.Tensor) -> torch.Tensor:
    """Return `x` with a row, and some of another one, that count for nothing."""
    mask = torch.zeros(3, 4)
    mask[1] = mask[2, :2] = -torch.inf
    return x + mask


test_ops = suite(
    __file__,
    [
        case(
            "aten._safe_softmax.default",
            lambda x: ATEN._safe_softmax(masked(x), -1),
            f32(3, 4),
        ),
        case(
            "aten._safe_softmax.default",
            lambda x: ATEN._safe_softmax(x, 1, dtype=torch.float32),
            f16(3, 4),
            id="dtype",
            **DYNAMIC,
        ),
        *(
            case(
                f"aten.{name}.default",
                lambda x, y, name=name: getattr(ATEN, name)(x, y, 1, torch.float32),
                f32(3, 4),
                f32(3, 4, low=-3, high=0),
                **DYNAMIC,
            )
            for name in ("_softmax_backward_data", "_log_softmax_backward_data")
        ),
        case(
            "aten._prelu_kernel_backward.default",
            lambda x, y, z: ATEN._prelu_kernel_backward(x, y, z),
            f32(3, 4),
            f32(3, 4),
            f32(1, 1),
        ),
        case(
            "aten.slow_conv_dilated2d.default",
            lambda x, w, b: ATEN.slow_conv_dilated2d(x, w, [3, 2], b, [2, 1], [1, 2], [2, 1]),
            f32(2, 3, 9, 8),
            f32(4, 3, 3, 2),
            f32(4),
        ),
        case(
            "aten.slow_conv_dilated3d.default",
            lambda x, w: ATEN.slow_conv_dilated3d(x, w, [2, 2, 2]),
            f32(2, 3, 5, 4, 6),
            f32(4, 3, 2, 2, 2),
        ),
        case(
            "aten.slow_conv3d.default",
            lambda x, w, b: ATEN.slow_conv3d(x, w, [2, 2, 2], b, [1, 2, 1], [1, 0, 1]),
            f32(2, 3, 5, 4, 6),
            f32(4, 3, 2, 2, 2),
            f32(4),
        ),
        case(
            "aten.slow_conv_transpose2d.default",
            lambda x, w, b: ATEN.slow_conv_transpose2d(x, w, [3, 2], b, [2, 2], [1, 0], [1, 1]),
            f32(2, 3, 5, 4),
            f32(3, 4, 3, 2),
            f32(4),
        ),
        case(
            "aten.slow_conv_transpose3d.default",
            lambda x, w: ATEN.slow_conv_transpose3d(x, w, [2, 2, 2]),
            f32(2, 3, 5, 4, 3),
            f32(3, 4, 2, 2, 2),
        ),
        case(
            "aten._int_mm.default",
            lambda x, y: ATEN._int_mm(x, y),
            Random(torch.int8, (17, 8), -128, 128),
            Random(torch.int8, (8, 16), -128, 128),
        ),
        case(
            "aten._addmm_activation.default",
            lambda x, y, z: ATEN._addmm_activation(x, y, z, beta=0.5, alpha=2),
            f32(5),
            f32(3, 4),
            f32(4, 5),
        ),
        *(
            case(
                "aten.norm_except_dim.default",
                lambda x: ATEN.norm_except_dim(x, 2, 0),
                f32(*shape),
                id=str(len(shape)),
            )
            for shape in ((3, 4), (3, 4, 2), (3, 2, 2, 3))
        ),
        case(
            "aten.linalg__powsum.default",
            lambda x: ATEN.linalg__powsum(x, 3, [1], True),
            f32(3, 4, 5),
            **DYNAMIC,
        ),
        case("aten._is_all_true.default", lambda x: ATEN._is_all_true(x), boolean(3, 4)),
        case("aten._is_any_true.default", lambda x: ATEN._is_any_true(x), boolean(3, 4)),
        case("aten._logcumsumexp.default", lambda x: ATEN._logcumsumexp(x, 1), f32(3, 4)),
        case("aten._dim_arange.default", lambda x: ATEN._dim_arange(x, 1), f32(3, 4)),
        case(
            "aten._dim_arange.default",
            lambda x: ATEN._dim_arange(x, 0),
            f32(3, 4),
            id="symbolic",
            **DYNAMIC,
        ),
        case("aten._neg_view_copy.default", lambda x: ATEN._neg_view_copy(x), f32(3, 4)),
        case(
            "aten.linalg_diagonal.default",
            lambda x: ATEN.linalg_diagonal(x, offset=1) * 2,
            f32(3, 4, 5),
        ),
        case("prims.sum.default", lambda x: PRIMS.sum(x, [0, 2]), f32(3, 4, 5)),
        case("prims.amax.default", lambda x: PRIMS.amax(x, [1]), f32(3, 4)),
        case("prims.amin.default", lambda x: PRIMS.amin(x, [1]), f32(3, 4)),
        case("prims.var.default", lambda x: PRIMS.var(x, [1], 0), f32(3, 4)),
        case("prims.rev.default", lambda x: PRIMS.rev(x, [1]), f32(3, 4)),
        case("prims.cbrt.default", lambda x: PRIMS.cbrt(x), f64(3, 4)),
        case(
            "prims.fft_r2c.default", lambda x: PRIMS.fft_r2c(x, dim=[1], onesided=True), f32(3, 8)
        ),
        case(
            "prims.fft_c2c.default", lambda x: PRIMS.fft_c2c(x, dim=[1], forward=False), c64(3, 8)
        ),
    ],
)


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        (
            ATEN.fake_quantize_per_channel_affine.default,
            (
                torch.tensor([0.1, 0.03, 0.25]),
                torch.tensor([0, -3, 7], dtype=torch.int32),
                0,
                -100,
                90,
            ),
        ),
        (
            ATEN.fake_quantize_per_channel_affine.default,
            (
                torch.tensor([0.1, 0.03, 0.25]),
                torch.tensor([0, -3, 7], dtype=torch.int32),
                0,
                -200,
                90,
            ),
        ),
        (
            ATEN.fake_quantize_per_tensor_affine.tensor_qparams,
            (torch.tensor(0.03), torch.tensor(5, dtype=torch.int32), 0, 100),
        ),
    ],
    ids=("channels", "channels-wide", "tensors"),
)
def test_fake_quantised(target, arguments, tmp_path):
    # This PyTorch has no meta kernels for these, so that they cannot be traced; others record them.
    tensors = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    numbers = [argument for argument in arguments if not isinstance(argument, torch.Tensor)]
    x = torch.linspace(-6, 6, 60).reshape(3, 20)
    program = export(lambda x, scale, point: x + scale.sum() + point.sum(), (x, *tensors))
    graph = program.graph
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    (output,) = (node for node in graph.nodes if node.op == "output")
    (old,) = output.args[0]
    with graph.inserting_before(old):
        new = graph.call_function(target, (*inputs, *numbers))
    new.meta = dict(old.meta)
    new.name = old.name + "_1"
    old.replace_all_uses_with(new)
    program.graph_signature.replace_all_uses(old.name, new.name)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    archive = tmp_path / "fake.pt2"
    onnxport.save(program, archive)
    said = reported("convert", archive, "-o", tmp_path / "fake.onnx", "--no-verify")
    assert said["decomposed"] == {str(target): 1}
    run_cases(tmp_path / "fake.onnx", list(read_cases(archive)))
    refused = [binary(), "convert", archive, "-o", tmp_path / "no.onnx", "--decompose", "none"]
    done = subprocess.run(refused, capture_output=True, text=True, check=False)
    assert "OP301" in done.stderr + done.stdout


def test_tables_of_users_go_first(tmp_path):
    archive, table = tmp_path / "tanh.pt2", tmp_path / "table.txt"
    onnxport.save(export(torch.tanh, (torch.randn(3, 4),)), archive)
    table.write_text(
        "decomposition aten.tanh.default(self) {\n"
        "  %double = aten.mul.Tensor(self=%self, other=2.0)\n"
        "  %half = aten.sigmoid.default(self=%double)\n"
        "  %wide = aten.mul.Tensor(self=%half, other=2.0)\n"
        "  %out = aten.sub.Tensor(self=%wide, other=1.0)\n"
        "  output %out\n}\n"
    )
    options = ("--no-verify", "--decompositions", table, "--decompose", "all")
    said = reported("convert", archive, "-o", tmp_path / "tanh.onnx", *options)
    assert said["decomposed"] == {"aten.tanh.default": 1}
    run_cases(tmp_path / "tanh.onnx", list(read_cases(archive)))
    table.write_text("decomposition aten.tanh.default(self) {\n  output %other\n}\n")
    command = [binary(), "convert", archive, "-o", tmp_path / "no.onnx", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "OP203" in done.stderr + done.stdout
    assert done.returncode not in (0, 70)
