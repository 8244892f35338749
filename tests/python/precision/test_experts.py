"""The weights of mixtures of experts: a matrix for each, which is quantised by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

from tests.python.onnx_runtime import check_model, convert, library, reported

WIDTH, INSIDE = 64, 96
# Few experts, and so many that those with rows are in branches.
COUNTS = (5, 20)
# Calls by the experts that have rows, and how many.
CALLS = ({0: 3, 2: 2, 3: 1}, {3: 1}, {0: 4}, {4: 2})


class Experts(nn.Module):
    """Two products of each expert, one with its weights transposed, as transformers has them."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.up = nn.Parameter(torch.randn(count, INSIDE, WIDTH) / 8)
        self.down = nn.Parameter(torch.randn(count, INSIDE, WIDTH) / 8)

    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        inside = torch.relu(torch._grouped_mm(x, self.up.mT, ends))
        return torch._grouped_mm(inside, self.down, ends)


def fed(call: dict[int, int], count: int) -> dict[str, np.ndarray]:
    # The last expert has the number of the last of five.
    rows = [call.get(number, 0) for number in range(4)] + [0] * (count - 5) + [call.get(4, 0)]
    x = np.random.default_rng(1).standard_normal((sum(rows), WIDTH)).astype(np.float32)
    return {"x": x, "ends": np.cumsum(rows).astype(np.int32)}


@pytest.fixture(scope="module", params=COUNTS)
def module(request: pytest.FixtureRequest) -> Experts:
    torch.manual_seed(0)
    return Experts(request.param).eval()


@pytest.fixture(scope="module")
def archive(module: Experts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    call = tuple(torch.from_numpy(value) for value in fed(CALLS[0], module.count).values())
    shapes = ({0: torch.export.Dim.DYNAMIC}, None)
    program = torch.export.export(module, call, dynamic_shapes=shapes)
    path = tmp_path_factory.mktemp("experts") / "experts.pt2"
    torch.export.save(program, path)
    return path


def run(module: Experts, session: ort.InferenceSession) -> Iterator[tuple[Any, Any]]:
    """Return the outputs of the model for each call, and PyTorch's."""
    for call in CALLS:
        given = fed(call, module.count)
        with torch.no_grad():
            expected = module(*(torch.from_numpy(value) for value in given.values()))
        yield session.run(None, given)[0], expected.numpy()


def operators(graph: onnx.GraphProto) -> Iterator[str]:
    """Return the operators of a graph and of those inside."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from operators(attribute.g)


def opened(path: Path, folder: Path) -> tuple[ort.InferenceSession, list[str]]:
    """Return a session, and the operators that it runs."""
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    options.log_severity_level = 3
    made = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    model = onnx.load(folder / "optimised.onnx", load_external_data=False)
    return made, list(operators(model.graph))


@pytest.mark.parametrize("level", ["0", "1", "2", "target"])
def test_each_expert_has_a_product(archive, module, tmp_path, level):
    target = tmp_path / "model.onnx"
    convert(archive, target, "--optimize", level)
    check_model(target)
    session, found = opened(target, tmp_path)
    assert found.count("MatMul") == 2 * module.count
    assert "Loop" not in found
    if level != "0":
        # Nothing picks or turns weights when the model runs.
        assert "Transpose" not in found
        assert set(onnx_weights(target)) == {(WIDTH, INSIDE), (INSIDE, WIDTH)}
    for made, expected in run(module, session):
        np.testing.assert_allclose(made, expected, rtol=0, atol=5e-6)


def onnx_weights(path: Path) -> list[tuple[int, ...]]:
    """Return the shapes with more than one axis."""
    stored = onnx.load(path, load_external_data=False).graph.initializer
    return [tuple(one.dims) for one in stored if len(one.dims) > 1 and 0 not in one.dims]


def error(bits: int) -> float:
    """Return how far a weight may be off, by the largest of its block."""
    return 0.5 / (2 ** (bits - 1) - 1)


@pytest.mark.parametrize("form", ["dequantize", "matmulnbits"])
@pytest.mark.parametrize("bits", [4, 8])
def test_experts_are_quantised(archive, module, tmp_path, bits, form):
    target = tmp_path / "model.onnx"
    chosen = ("--quantize", f"int{bits}", "--quantize-form", form, "--opset", "21")
    said = reported("convert", archive, "-o", target, *chosen, "--ort-library", library())
    assert "OP664" not in [one["code"] for one in said["diagnostics"]]
    session, found = opened(target, tmp_path)
    assert found.count("MatMulNBits") == 2 * module.count
    assert "DequantizeLinear" not in found
    stored = sum(path.stat().st_size for path in tmp_path.glob("model.onnx*"))
    plain = 4 * 2 * module.count * INSIDE * WIDTH
    assert stored < plain * (bits + 2) / 32, "codes, scales and little else"
    for made, expected in run(module, session):
        assert made.shape == expected.shape
        apart = np.linalg.norm(made - expected) / np.linalg.norm(expected)
        assert apart < 3 * error(bits)


def test_codes_of_branches_lie_in_the_data_file(module, archive, tmp_path):
    target, again = tmp_path / "model.onnx", tmp_path / "again.onnx"
    chosen = ("--quantize", "int8", "--opset", "21", "--external-data", "external")
    convert(archive, target, *chosen)
    data = tmp_path / "model.onnx.data"
    stored = 2 * module.count * INSIDE * WIDTH
    assert data.stat().st_size >= stored
    assert target.stat().st_size < stored / 4
    # They are read again, and stay there.
    kept = ("--external-data", "external", "--ort-library", library())
    reported("optimize", target, "-o", again, *kept)
    assert (tmp_path / "again.onnx.data").read_bytes() == data.read_bytes()
    providers = ["CPUExecutionProvider"]
    one, other = (ort.InferenceSession(path, providers=providers) for path in (target, again))
    for (made, _), (remade, _) in zip(run(module, one), run(module, other), strict=True):
        np.testing.assert_array_equal(made, remade)


def test_a_stack_is_chosen_by_its_name(archive, module, tmp_path):
    target = tmp_path / "model.onnx"
    form = ("--quantize", "int8", "--quantize-form", "matmulnbits")
    for option, name in (("--quantize-only", "up"), ("--quantize-skip", "down")):
        convert(archive, target, *form, option, name)
        stored = onnx.load(target).graph.initializer
        codes = {one.name for one in stored if one.data_type == onnx.TensorProto.UINT8}
        assert codes == {f"up.{number}" for number in range(module.count)}


class Fallback(nn.Module):
    """The fallback of transformers without a kernel: rows behind the last group are zeros."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, WIDTH, INSIDE) / 8)

    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        return torch.ops.transformers.grouped_mm_fallback(x, self.weight, ends)


@pytest.mark.parametrize("count", COUNTS)
def test_rows_behind_the_last_group_are_zeros(tmp_path, count):
    pytest.importorskip("transformers.integrations.moe")
    torch.manual_seed(0)
    module = Fallback(count).eval()
    x, ends = torch.randn(7, WIDTH), torch.tensor([2, *[3] * (count - 1)], dtype=torch.int32)
    program = torch.export.export(module, (x, ends))
    torch.export.save(program, tmp_path / "fallback.pt2")
    convert(tmp_path / "fallback.pt2", tmp_path / "model.onnx")
    session = ort.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (made,) = session.run(None, {"x": x.numpy(), "ends": ends.numpy()})
    with torch.no_grad():
        expected = module(x, ends).numpy()
    assert not expected[3:].any()
    np.testing.assert_allclose(made, expected, rtol=0, atol=5e-6)
