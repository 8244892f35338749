"""Weights in lower types and as integers: contents of files, and results in ONNX Runtime."""

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
    """Replace every `DequantizeLinear` by the result of the reference implementation."""
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
        # As products take it; half a step of the coarsest block.
        expected = state(archive)[name] if name == "direct" else state(archive)[name].T
        assert np.abs(value - expected).max() < error * np.abs(value).max(), name
    assert found.tobytes() == run(plain, optimise=False).tobytes()


def product(model: ModelProto, name: str) -> np.ndarray:
    """Multiply the identity by a weight `[K, N]` as `MatMulNBits` takes it."""
    node = next(
        node for node in model.graph.node if node.op_type == "MatMulNBits" and name in node.input
    )
    extent = next(attribute.i for attribute in node.attribute if attribute.name == "K")
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
    form = ("--quantize-form", "matmulnbits", "--accuracy-level", "1")
    model = converted(archive, tmp_path, *scheme, *form)
    assert np.abs(run(model) - run(plain)).max() < 1e-3
    for name in PRODUCTS:
        # Adding zeros to a weight changes no bit of it, but for the sign of zero.
        assert (product(model, name) == restored[name]).all(), name


SCHEMES = [
    "int4",
    "int4:asymmetric",
    "int4:block=channel",
    "int8",
    "int8:asymmetric",
    "int8:block=channel",
]


def optimised(path: Path, folder: Path) -> list[str]:
    """Return the operators of a model as ONNX Runtime runs it."""
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    options.log_severity_level = 3
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    graph = onnx.load(folder / "optimised.onnx", load_external_data=False).graph
    return [node.op_type for node in graph.node]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_written_fuses(archive, tmp_path, scheme):
    model = converted(archive, tmp_path, "--quantize", scheme, "--opset", "21")
    assert not any(
        node.op_type == "Transpose" and "weight" in node.input[0] for node in model.graph.node
    )
    found = optimised(tmp_path / "model.onnx", tmp_path)
    assert found.count("MatMulNBits") == len(PRODUCTS)
    assert "DequantizeLinear" not in found


class Tied(nn.Module):
    """An embedding whose rows are the weight of the head."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(rows, 64)
        self.head = nn.Linear(64, rows, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Rows, and the head's results."""
        rows = self.embed(ids)
        return rows, self.head(rows)


TIED_FORMS = [(scheme, ()) for scheme in SCHEMES] + [
    (f"int{bits}:{kind}", ("--quantize-form", "matmulnbits", "--accuracy-level", "1"))
    for bits in (4, 8)
    for kind in ("symmetric", "asymmetric")
]


@pytest.mark.parametrize(("scheme", "form"), TIED_FORMS)
def test_a_tied_weight_is_stored_once(tmp_path, scheme, form):
    torch.manual_seed(0)
    module = Tied(600).eval()
    ids = torch.tensor([[0, 599, 7], [300, 1, -1]]) % 600
    program = torch.export.export(module, (ids,))
    torch.export.save(program, tmp_path / "tied.pt2")
    options = ("--quantize", scheme, "--opset", "21", *form, "--external-data", "external")
    model = converted(tmp_path / "tied.pt2", tmp_path, *options)
    plain = module.embed.weight.detach().numpy()
    data = sum(path.stat().st_size for path in tmp_path.glob("model.onnx*"))
    bits = 4 if scheme.startswith("int4") else 8
    assert data < plain.size * (bits + 2) / 8
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        tmp_path / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    rows, logits = session.run(None, {session.get_inputs()[0].name: ids.numpy()})
    # Every weight is off by half a step of the largest of its block at most.
    steps = {4: 1 / 7, 8: 1 / 127}[bits]
    assert np.abs(rows - plain[ids]).max() < steps * np.abs(plain).max()
    every = session.run(None, {session.get_inputs()[0].name: np.arange(6).reshape(2, 3)})[0]
    assert every.shape == (2, 3, 64)
    table = np.concatenate(
        [
            session.run(None, {session.get_inputs()[0].name: part.reshape(2, 3)})[0].reshape(6, 64)
            for part in np.arange(600).reshape(100, 6)
        ]
    )
    # Both read the same numbers; only sums are rounded in another order.
    expected = rows.astype(np.float64) @ table.T.astype(np.float64)
    assert np.abs(logits - expected).max() < 1e-4
    names = [node.op_type for node in model.graph.node]
    assert ("GatherBlockQuantized" in names) == bool(form)
    assert optimised(tmp_path / "model.onnx", tmp_path).count("MatMulNBits") == 1


def test_weights_are_turned_for_the_target(archive, tmp_path):
    (tmp_path / "plain").mkdir()
    plain = converted(archive, tmp_path / "plain")
    model = converted(archive, tmp_path, "--optimize", "target")
    stored, own = weights(model), state(archive)
    for name in ("project.weight", "back.weight"):
        assert name not in stored
        assert np.array_equal(stored[f"{name}.T"], own[name].T)
    assert np.array_equal(stored["embed.weight"], own["embed.weight"])
    read = {name for node in model.graph.node if node.op_type == "Transpose" for name in node.input}
    assert not read & set(stored)
    # The products are of the same numbers; kernels for the two layouts may add in another order.
    assert np.abs(run(model, optimise=False) - run(plain, optimise=False)).max() < 1e-5
    assert np.abs(run(model) - run(plain)).max() < 1e-5


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
    assert quantised == ["direct", "project.weight"]
    # Rows are looked up in bytes.
    assert stored["embed.weight"] == TensorProto.UINT8


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
