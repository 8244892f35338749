"""One program in every way in which it can be written, in ONNX Runtime: the same bits come out."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
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
from torch.export import Dim, export, save
from torchvision.models import shufflenet_v2_x0_5
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from tests.python.models.weights import lively
from tests.python.onnx_runtime import binary, check_model
from tests.python.precision.plugin import weights_plugin


class Logits(nn.Module):
    """Token ids to logits, without a cache."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(input_ids=ids, use_cache=False).logits


class Turned(nn.Module):
    """Parameters and buffers that show the memory of others with their axes in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, 48)
        self.head = nn.Parameter(self.embed.weight.detach().t())
        self.conv = nn.Conv1d(64, 24, 3)
        self.register_buffer("kernel", self.conv.weight.detach().permute(2, 0, 1))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.conv((self.embed(ids) @ self.head).transpose(1, 2))
        return torch.einsum("bct,kci->btki", x, self.kernel)


def llama() -> nn.Module:
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    return Logits(LlamaForCausalLM(config))


def gpt() -> nn.Module:
    config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
    return Logits(GPT2LMHeadModel(config))


IDS = (torch.arange(18).reshape(2, 9) * 7 % 64,)
CASES = {
    "llama": (llama, IDS, {1: Dim("length", min=4, max=16)}),
    "gpt": (gpt, IDS, {0: Dim("batch", max=8)}),
    "shufflenet": (lambda: shufflenet_v2_x0_5(num_classes=10), (torch.rand(2, 3, 64, 64),), {}),
    "turned": (Turned, IDS, {}),
}
PRODUCTS = {"llama": 14, "gpt": 8, "shufflenet": 1, "turned": 0}


class Program:
    """An archive, inputs of its model, and its model, also with weights as they were."""

    def __init__(self, name: str, folder: Path) -> None:
        make, inputs, dims = CASES[name]
        torch.manual_seed(0)
        module = lively(make().eval(), inputs)
        shapes = (dims,) if dims else None
        self.exported = export(module, inputs, dynamic_shapes=shapes)
        self.name, self.folder, self.path = name, folder, folder / "whole.pt2"
        save(self.exported, self.path)
        self.inline = self.convert(folder / "inline.onnx", "--external-data", "inline")
        feed = next(iter(onnx.load(self.inline).graph.input)).name
        self.feeds = {feed: inputs[0].numpy()}
        self.expected = run(self.inline, self.feeds)
        self.own = self.convert(folder / "own.onnx", "--external-data", "reference")
        self.own_expected = run(self.own, self.feeds)
        with torch.no_grad():
            reference = module(*inputs).numpy()
        np.testing.assert_allclose(self.expected, reference, rtol=1e-3, atol=1e-4)

    def convert(self, target: Path, *options: object) -> Path:
        onnxport("convert", self.path, "-o", target, "--no-verify", "--validate", *options)
        check_model(target)
        return target

    def stripped(self, target: Path) -> Path:
        """Take the payloads of all parameters and persistent buffers out of the archive."""
        with zipfile.ZipFile(self.path) as whole, zipfile.ZipFile(target, "w") as out:
            config = next(n for n in whole.namelist() if n.endswith("model_weights_config.json"))
            entries = json.loads(whole.read(config))["config"].values()
            payloads = {f"{Path(config).parent}/{entry['path_name']}" for entry in entries}
            for name in whole.namelist():
                if name not in payloads:
                    out.writestr(name, whole.read(name))
        return target


def onnxport(*arguments: object) -> None:
    command = [binary(), *map(str, arguments), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run(model: Path | ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    """Run a model as it stands: fused and packed, constant weights are summed in another order."""
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model.SerializeToString() if isinstance(model, ModelProto) else model
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def runs_optimised(
    model: Path, program: Program, expected: np.ndarray | None = None, tolerance: float = 1e-4
) -> None:
    """Run a model as ONNX Runtime does by default: it computes about the same."""
    options = ort.SessionOptions()
    # Otherwise it rounds the other factor of some quantised weights to 8 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = session.run(None, program.feeds)[0]
    expected = program.expected if expected is None else expected
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.abs(found - expected).max() <= tolerance * scale


@pytest.fixture(scope="module", params=CASES)
def program(request, tmp_path_factory) -> Program:
    return Program(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def out(program) -> Path:
    """Give a folder beside the archive, and remove it afterwards."""
    folder = program.folder / "out"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "options",
    [
        ("--external-data", "auto"),
        ("--external-data", "external"),
        ("--external-data", "external", "--shard-size", "20kB", "--manifest"),
        ("--external-data", "external", "--max-memory", "1GB", "--opset", "23"),
        ("--initializers-as-inputs",),
        ("--initializers-as-inputs", "--external-data", "external"),
    ],
    ids=" ".join,
)
def test_where_weights_are_changes_no_bit(program, out, options):
    model = program.convert(out / "model.onnx", *options)
    kept = "--initializers-as-inputs" in options
    expected = program.own_expected if kept else program.expected
    if "--opset" in options:
        level = ("--opset", "23", "--external-data", "inline")
        expected = run(program.convert(out / "same.onnx", *level), program.feeds)
    assert run(model, program.feeds).tobytes() == expected.tobytes()
    runs_optimised(model, program)


def test_a_model_that_points_at_its_weights(program):
    model = program.convert(program.folder / "points.onnx", "--external-data", "reference")
    assert run(model, program.feeds).tobytes() == program.own_expected.tobytes()
    runs_optimised(model, program)
    data = program.folder / "points.onnx.data"
    assert not data.exists(), "an archive holds what a model points at, turned or not"


@pytest.mark.parametrize("as_inputs", [False, True])
def test_weights_that_somebody_else_gives(program, out, as_inputs):
    options = ("--no-initializers", *(("--initializers-as-inputs",) if as_inputs else ()))
    path = out / "model.onnx"
    onnxport("convert", program.path, "-o", path, "--no-verify", *options)
    weights = {k: v.detach().numpy() for k, v in program.exported.state_dict.items()}
    weights |= {
        k: v.detach().numpy() for k, v in program.exported.constants.items() if k not in weights
    }
    model = onnx.load(path)
    read = {name for node in model.graph.node for name in node.input}
    given = {k: np.ascontiguousarray(v) for k, v in weights.items() if k in read}
    if as_inputs:
        feeds = given | program.feeds
        assert {value.name for value in model.graph.input} == set(feeds)
        assert run(path, feeds).tobytes() == program.own_expected.tobytes()
    else:
        model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in given.items())
        assert run(model, program.feeds).tobytes() == program.own_expected.tobytes()


@pytest.mark.parametrize("where", ["inline", "external"])
def test_weights_that_are_bound_later(program, out, where):
    stripped = program.stripped(out / "stripped.pt2")
    waiting = out / "waiting.onnx"
    places = ("--external-data", where)
    onnxport("convert", stripped, "-o", waiting, "--weightless", *places)
    bound = out / "bound.onnx"
    onnxport("weights", "bind", waiting, "--from", program.path, "-o", bound, *places)
    check_model(bound)
    assert run(bound, program.feeds).tobytes() == program.own_expected.tobytes()
    runs_optimised(bound, program)
    onnxport(
        "convert", stripped, "-o", out / "given.onnx", "--weights", program.path, "--no-verify"
    )
    assert run(out / "given.onnx", program.feeds).tobytes() == program.own_expected.tobytes()


def test_a_package(program, out):
    onnxport("package", f"one={program.path}", f"two={program.path}", "-o", out / "package")
    for name in ("one", "two"):
        model = out / "package" / f"{name}.onnx"
        check_model(model)
        assert run(model, program.feeds).tobytes() == program.own_expected.tobytes()
        runs_optimised(model, program)


def restored(model: ModelProto) -> dict[str, np.ndarray]:
    """Evaluate the nodes between stored weights and the computation, by weight."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        first = node.input[0] if node.input else ""
        if node.op_type not in ("Cast", "DequantizeLinear") or not set(node.input) <= set(stored):
            continue
        infos = [
            helper.make_tensor_value_info(name, stored[name].data_type, stored[name].dims)
            for name in node.input
        ]
        result = helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)
        tensors = [stored[name] for name in node.input]
        graph = helper.make_graph([node], "one", [], [result], tensors, value_info=infos)
        one = helper.make_model(
            graph, opset_imports=model.opset_import, ir_version=model.ir_version
        )
        found[first] = ReferenceEvaluator(one).run(None, {})[0].astype(np.float32)
    return found


def parted(weights: dict[str, np.ndarray], own: Path) -> dict[str, np.ndarray]:
    """Take products of one value apart again: their weights stand beside each other."""
    tensors = (tensor for tensor in onnx.load(own).graph.initializer if tensor.dims)
    rows = {tensor.name: tensor.dims[0] for tensor in tensors}
    found = {}
    for joined, value in weights.items():
        names = joined.split("+")
        ends = np.cumsum([rows[name] for name in names[:-1]], dtype=int)
        found |= zip(names, np.split(value, ends, axis=1), strict=True)
    return found


def with_weights(
    inline: Path, weights: dict[str, np.ndarray], as_products_take_them: bool = False
) -> ModelProto:
    """Give the inline form other weights."""
    model = onnx.load(inline)
    turned = set()
    for node in model.graph.node if as_products_take_them else ():
        flags = {attribute.name: attribute.i for attribute in node.attribute}
        if node.op_type == "Transpose":
            turned.add(node.input[0])
        elif node.op_type == "Gemm" and flags.get("transB"):
            turned.add(node.input[1])
    for tensor in model.graph.initializer:
        if tensor.name in weights:
            value = weights[tensor.name]
            value = np.ascontiguousarray(value.T) if tensor.name in turned else value
            assert list(tensor.dims) == list(value.shape)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    return model


@pytest.mark.parametrize("where", ["inline", "external"])
@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        ("f16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("f8e4m3fn", ml_dtypes.float8_e4m3fn),
        ("f8e5m2", ml_dtypes.float8_e5m2),
    ],
)
def test_weights_in_a_lower_type(program, out, dtype, stored, where):
    model = program.convert(out / "model.onnx", "--dtype", dtype, "--external-data", where)
    weights = restored(onnx.load(model))
    own = {t.name: numpy_helper.to_array(t) for t in onnx.load(program.own).graph.initializer}
    assert len(weights) > 1
    for name, value in weights.items():
        expected = own[name].astype(stored).astype(np.float32)
        assert value.tobytes() == expected.tobytes(), name
    plain = run(with_weights(program.own, weights), program.feeds)
    assert run(model, program.feeds).tobytes() == plain.tobytes()
    runs_optimised(model, program, plain)


SCHEMES = ["int4", "int4:block=16,asymmetric", "int8", "int8:block=channel,asymmetric"]


@pytest.mark.parametrize("where", ["inline", "external"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_quantised_weights(program, out, scheme, where):
    options = ("--quantize", scheme, "--opset", "21", "--external-data")
    model = program.convert(out / "model.onnx", *options, where)
    place = ("--opset", "21", "--external-data", "reference")
    own = program.convert(program.folder / "own21.onnx", *place)
    weights = parted(restored(onnx.load(model)), own)
    assert len(weights) >= PRODUCTS[program.name]
    plain = run(with_weights(own, weights, as_products_take_them=True), program.feeds)
    # Products of one value are one product there, whose sums may be rounded in another order.
    assert np.abs(run(model, program.feeds) - plain).max() <= 1e-6 * np.abs(plain).max()
    runs_optimised(model, program, plain)


@pytest.mark.parametrize("where", ["inline", "external"])
def test_weights_that_a_plugin_changes(program, out, where):
    options = ("--plugin", weights_plugin(), "--transform", "binary/signs:*weight")
    model = program.convert(out / "model.onnx", *options, "--external-data", where)
    tensors = {t.name: numpy_helper.to_array(t) for t in onnx.load(program.own).graph.initializer}
    signs = {
        name: np.copysign(np.float32(1), value)
        for name, value in tensors.items()
        if name.endswith("weight")
    }
    assert len(signs) > 1
    plain = run(with_weights(program.own, signs), program.feeds)
    assert run(model, program.feeds).tobytes() == plain.tobytes()


def decoded(model: ModelProto) -> dict[str, np.ndarray]:
    """Decode the weights `[N, K]` of every `MatMulNBits`, as its documentation defines them."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type != "MatMulNBits":
            continue
        given = {attribute.name: attribute.i for attribute in node.attribute}
        inner, columns, bits, block = (given[key] for key in ("K", "N", "bits", "block_size"))
        codes, scales = stored[node.input[1]], stored[node.input[2]]
        blocks = codes.shape[1]

        def unpack(packed: np.ndarray, bits: int = bits) -> np.ndarray:
            if bits == 8:
                return packed
            return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)

        zeros = np.full((columns, blocks), 1 << (bits - 1), np.uint8)
        if len(node.input) > 3:
            zeros = unpack(stored[node.input[3]].reshape(columns, -1))[:, :blocks]
        steps = unpack(codes).astype(np.float32) - zeros[..., None].astype(np.float32)
        values = steps * scales.reshape(columns, blocks, 1)
        found[node.input[1]] = values.reshape(columns, blocks * block)[:, :inner]
    return found


@pytest.mark.parametrize("scheme", ["int4", "int4:asymmetric", "int8", "int8:asymmetric"])
def test_products_of_quantised_weights(program, out, scheme):
    form = ("--quantize-form", "matmulnbits", "--accuracy-level", "1")
    place = ("--external-data", "external")
    path = program.convert(out / "model.onnx", "--quantize", scheme, *form, *place)
    weights = decoded(onnx.load(path))
    options = ("--quantize", scheme, "--opset", "21", "--external-data", "inline")
    plain = onnx.load(program.convert(out / "plain.onnx", *options))
    expected = restored(plain)
    # Rows that are looked up consist of whole blocks there.
    assert set(weights) == (set() if program.name == "turned" else set(expected))
    for name, value in weights.items():
        # `[N, K]` here, and `[K, N]` there.
        assert np.array_equal(value, expected[name].T), name
    if not weights:
        return
    found, reference = run(path, program.feeds), run(plain, program.feeds)
    scale = max(1.0, float(np.abs(reference).max()))
    assert np.abs(found - reference).max() < 2e-4 * scale


def test_a_weight_in_two_layouts_is_stored_once(tmp_path):
    program = Program("turned", tmp_path)
    graph = onnx.load(program.own).graph
    large = {tensor.name for tensor in graph.initializer if np.prod(tensor.dims) > 256}
    assert large == {"embed.weight", "conv.weight"}
    turns = [node for node in graph.node if node.op_type == "Transpose"]
    assert {"embed.weight", "conv.weight"} <= {node.input[0] for node in turns}
    # A tied model of real life: one matrix, read by a `Gather` and, turned, by the last product.
    program = Program("llama", tmp_path)
    graph = onnx.load(program.own).graph
    tables = [tensor.name for tensor in graph.initializer if list(tensor.dims) == [64, 32]]
    assert len(tables) == 1
    readers = sorted(node.op_type for node in graph.node if tables[0] in node.input)
    assert readers == ["Gather", "Transpose"]
