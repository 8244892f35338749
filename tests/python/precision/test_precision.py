"""Weights in lower types and as integers: what files hold, and what ONNX Runtime makes of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn

import onnxport
from tests.python.onnx_runtime import ConvertError, check_model, convert, library, reported

FEED = {"ids": np.arange(14).reshape(2, 7) % 50}
PRODUCTS = ("project.weight", "back.weight", "direct")


class Mixed(nn.Module):
    """Products in every way that they read a weight, and weights that are none of theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 96)
        self.norm = nn.LayerNorm(96)
        self.project = nn.Linear(96, 80)
        self.back = nn.Linear(80, 50, bias=False)
        self.direct = nn.Parameter(torch.randn(50, 33))
        self.conv = nn.Conv1d(33, 8, 3)

    def forward(self, ids: Tensor) -> Tensor:
        x = torch.relu(self.project(self.norm(self.embed(ids))))
        return self.conv((self.back(x) @ self.direct).transpose(1, 2))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    program = torch.export.export(Mixed().eval(), (torch.from_numpy(FEED["ids"]),))
    path = tmp_path_factory.mktemp("precision") / "mixed.pt2"
    torch.export.save(program, path)
    return path


def run(model: ModelProto, optimise: bool = True) -> np.ndarray:
    options = ort.SessionOptions()
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    session = ort.InferenceSession(model.SerializeToString(), options, providers=providers)
    return session.run(None, FEED)[0]


def converted(archive: Path, folder: Path, *options: str) -> ModelProto:
    target = folder / "model.onnx"
    convert(archive, target, *options)
    check_model(target)
    return onnx.load(target)


def weights(model: ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def state(archive: Path) -> dict[str, np.ndarray]:
    tensors = torch.export.load(archive).state_dict
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


@pytest.mark.parametrize(
    ("dtype", "numpy_dtype", "tolerance"),
    [
        ("f16", np.float16, 0.01),
        ("bf16", ml_dtypes.bfloat16, 0.05),
        ("f8e4m3fn", ml_dtypes.float8_e4m3fn, 1.0),
        ("f8e5m2", ml_dtypes.float8_e5m2, 2.0),
    ],
)
def test_lower_types(archive, tmp_path, dtype, numpy_dtype, tolerance):
    model = converted(archive, tmp_path, "--dtype", dtype)
    stored = weights(model)
    for name, value in state(archive).items():
        expected = value.astype(numpy_dtype) if value.ndim > 1 else value
        assert stored[name].tobytes() == expected.tobytes(), name
    assert np.abs(run(model) - run(converted(archive, tmp_path))).max() < tolerance
    kept = weights(
        converted(
            archive,
            tmp_path,
            "--dtype",
            dtype,
            "--keep-dtype",
            "emb*",
            "--keep-dtype",
            "back.?eight",
        )
    )
    assert [
        name for name, value in kept.items() if value.dtype == np.float32 and value.ndim > 1
    ] == [
        "embed.weight",
        "back.weight",
    ]


def inlined(model: ModelProto) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Replace every `DequantizeLinear` by what the reference implementation makes of it."""
    found = {}
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in [node for node in model.graph.node if node.op_type == "DequantizeLinear"]:
        infos = [
            helper.make_tensor_value_info(name, stored[name].data_type, stored[name].dims)
            for name in node.input
        ]
        result = helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)
        graph = helper.make_graph(
            [node], "one", [], [result], [stored[name] for name in node.input], value_info=infos
        )
        one = helper.make_model(
            graph, opset_imports=model.opset_import, ir_version=model.ir_version
        )
        value = ReferenceEvaluator(one).run(None, {})[0].astype(np.float32)
        found[node.input[0]] = value
        model.graph.initializer.append(numpy_helper.from_array(value, node.output[0]))
        model.graph.node.remove(node)
    return model, found


@pytest.mark.parametrize(
    ("scheme", "options", "error"),
    [
        ("int4", ("--opset", "21"), 0.15),
        ("int4:block=16,asymmetric", ("--opset", "23"), 0.12),
        ("int8:block=32,asymmetric", ("--opset", "21"), 0.01),
        ("int4:block=channel", ("--opset", "21"), 0.25),
        ("int8:block=channel", (), 0.02),
        ("int8:block=channel,asymmetric", ("--opset", "19"), 0.02),
    ],
)
def test_dequantize(archive, tmp_path, scheme, options, error):
    model = converted(archive, tmp_path, "--quantize", scheme, *options)
    # Optimised, ONNX Runtime fuses the two operators and rounds in another order.
    found = run(model, optimise=False)
    plain, restored = inlined(model)
    assert set(restored) == set(PRODUCTS)
    for name, value in restored.items():
        # Half a step of the coarsest block.
        assert np.abs(value - state(archive)[name]).max() < error * np.abs(value).max(), name
    assert found.tobytes() == run(plain, optimise=False).tobytes()


def product(model: ModelProto, name: str) -> np.ndarray:
    """Multiply the identity by a weight `[K, N]` as `MatMulNBits` takes it."""
    node = next(
        node for node in model.graph.node if node.op_type == "MatMulNBits" and name in node.input
    )
    extent = next(attribute.i for attribute in node.attribute if attribute.name == "K")
    node.attribute.append(helper.make_attribute("accuracy_level", 1))
    stored = [tensor for tensor in model.graph.initializer if tensor.name in node.input]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "one",
        [value(node.input[0], TensorProto.FLOAT, [extent, extent])],
        [value(node.output[0], TensorProto.FLOAT, None)],
        stored,
    )
    one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    session = ort.InferenceSession(one.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {node.input[0]: np.eye(extent, dtype=np.float32)})[0]


@pytest.mark.parametrize(
    ("bits", "kind", "block"),
    list(itertools.product((4, 8), ("symmetric", "asymmetric"), (16, 32, 128))),
)
def test_both_forms_stand_for_the_same_weights(archive, tmp_path, bits, kind, block):
    scheme = ("--quantize", f"int{bits}:block={block},{kind}")
    plain, restored = inlined(converted(archive, tmp_path, *scheme, "--opset", "21"))
    model = converted(archive, tmp_path, *scheme, "--quantize-form", "matmulnbits")
    assert np.abs(run(model) - run(plain)).max() < 1e-3
    for name in PRODUCTS:
        value = restored[name] if name == "direct" else restored[name].T
        # Adding zeros to a weight changes no bit of it, but for the sign of zero.
        assert (product(model, name) == value).all(), name


def test_all_matrices_on_request(archive, tmp_path):
    options = (
        "--quantize",
        "int4",
        "--opset",
        "21",
        "--quantize-only",
        "*",
        "--quantize-skip",
        "back.*",
    )
    stored = {
        tensor.name: tensor.data_type
        for tensor in converted(archive, tmp_path, *options).graph.initializer
    }
    quantised = [name for name, kind in stored.items() if kind == TensorProto.INT4]
    assert quantised == ["direct", "embed.weight", "project.weight"]


def test_overflow_is_the_users_choice(tmp_path):
    linear = nn.Linear(4, 4)
    with torch.no_grad():
        linear.weight[0, 0] = 1e5
    archive = tmp_path / "linear.pt2"
    torch.export.save(torch.export.export(linear, (torch.zeros(2, 4),)), archive)
    with pytest.raises(ConvertError, match="OP660"):
        converted(archive, tmp_path, "--dtype", "f16")
    kept = weights(converted(archive, tmp_path, "--dtype", "f16", "--dtype-overflow", "keep"))
    assert kept["weight"].dtype == np.float32
    allowed = weights(converted(archive, tmp_path, "--dtype", "f16", "--dtype-overflow", "allow"))
    assert np.isinf(allowed["weight"]).sum() == 1


def test_values_that_are_lost_are_a_warning(tmp_path):
    linear = nn.Linear(4, 4)
    with torch.no_grad():
        linear.weight[0, 0] = 1e5
    archive = tmp_path / "linear.pt2"
    onnxport.save(torch.export.export(linear, (torch.ones(2, 4),)), archive)
    arguments = (archive, "-o", tmp_path / "m.onnx", "--ort-library", library(), "--dtype", "f16")
    found = reported("convert", *arguments, "--dtype-overflow", "allow")
    assert found["verification"]["measured"]
    assert [d["severity"] for d in found["diagnostics"] if d["code"] == "OP701"] == ["warning"]
    kept = reported("convert", *arguments, "--dtype-overflow", "keep")
    assert not any(d["code"] == "OP701" for d in kept["diagnostics"])


def test_what_cannot_be_is_a_coded_error(archive, tmp_path):
    for options, code in [
        (("--quantize", "int4"), "OP662"),
        (("--quantize", "int4:block=24", "--quantize-form", "matmulnbits"), "OP662"),
        (("--dtype", "f8e5m2", "--opset", "18"), "OP662"),
        (("--dtype", "f16", "--keep-dtype", "lm_head.*"), "OP663"),
    ]:
        with pytest.raises(ConvertError, match=code):
            converted(archive, tmp_path, *options)
    assert not (tmp_path / "model.onnx").exists()
