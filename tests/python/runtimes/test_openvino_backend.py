"""OpenVINO as a backend, on real models: ONNX Runtime's OpenVINO provider runs compiled regions."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import NodeProto
from torch import Tensor, nn

from tests.python.runtimes.test_openvino import Square, converted, image_model, run, text_model

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("openvino") is None and not os.environ.get("OPENVINO_DYLIB_PATH"),
        reason="the package openvino is not installed",
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("onnxruntime_ep_openvino") is None,
        reason="the package onnxruntime-ep-openvino is not installed",
    ),
]

BACKEND = ["--backend", "openvino", "--executor-option", "provider=openvino"]


@functools.cache
def devices() -> Sequence[onnxruntime.OrtEpDevice]:
    """Register the provider, and return its CPU."""
    import onnxruntime_ep_openvino as provider

    onnxruntime.register_execution_provider_library("openvino", provider.get_library_path())
    name, cpu = provider.get_ep_name(), onnxruntime.OrtHardwareDeviceType.CPU
    found = onnxruntime.get_ep_devices()
    return [one for one in found if one.ep_name == name and one.device.type == cpu]


def session(model: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # The provider may prefer bfloat16.
    precise = {"load_config": json.dumps({"CPU": {"INFERENCE_PRECISION_HINT": "f32"}})}
    options.add_provider_for_devices(devices(), precise)
    return onnxruntime.InferenceSession(model, options)


def contexts(model: Path) -> list[NodeProto]:
    return [node for node in onnx.load(model).graph.node if node.op_type == "EPContext"]


def difference(module: nn.Module, inputs: tuple[Tensor, ...], model: Path) -> float:
    """Return the largest difference between PyTorch's first result and the model's."""
    runs = session(model)
    names = [one.name for one in runs.get_inputs()]
    feeds = {name: one.numpy() for name, one in zip(names, inputs, strict=True)}
    with torch.no_grad():
        expected = module(*inputs)
    expected = expected if isinstance(expected, Tensor) else expected[0]
    got = runs.run(None, feeds)[0]
    assert got.shape == tuple(expected.shape)
    return float(np.abs(got - expected.numpy()).max())


def images(batch: int) -> tuple[Tensor, ...]:
    return (torch.randn(batch, 3, 64, 64),)


def texts(batch: int, length: int) -> tuple[Tensor, ...]:
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length // 2 :] = 0
    return torch.randint(100, (batch, length)), mask


@pytest.mark.parametrize("blobs", ["embed", "file"])
@pytest.mark.parametrize(
    ("make", "others", "share"),
    [(image_model, [images(1), images(5)], 1.0), (text_model, [texts(1, 3), texts(4, 19)], 0.8)],
)
def test_real_models_agree(
    make: Callable, others: list[tuple[Tensor, ...]], share: float, blobs: str, tmp_path: Path
) -> None:
    made = make()
    archive, model = converted(made, tmp_path)
    placed = ["--blobs", blobs, "--require-verified"]
    code, said = run("convert", archive, "-o", model, *BACKEND, *placed)
    assert code == 0, said["diagnostics"]
    assert "OpenVINO" in said["verification"]["executor"]
    (partition,) = said["backends"]
    regions = partition["regions"]
    taken = sum(region["nodes"] for region in regions)
    left = sum(refusal["count"] for refusal in partition["refusals"])
    assert taken >= share * (taken + left), partition
    nodes = contexts(model)
    assert len(nodes) == len(regions) > 0
    for node, region in zip(nodes, regions, strict=True):
        stated = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        assert stated["source"] == b"OpenVINOExecutionProvider"
        assert stated["embed_mode"] == (blobs == "embed")
        blob = stated["ep_cache_context"]
        if blobs == "file":
            assert [blob.decode()] == region["files"]
            blob = (tmp_path / blob.decode()).read_bytes()
        assert blob.startswith(b"OVEP_BIN")
        assert b"isa=" in blob, "the processor is recorded"
    for inputs in [made[1], *others]:
        assert difference(made[0], inputs, model) < 1e-4


def test_a_compiled_model_is_verified_later(tmp_path: Path) -> None:
    archive, model = converted(image_model(), tmp_path)
    code, said = run("convert", archive, "-o", model, "--backend", "openvino")
    assert code == 0, said["diagnostics"]
    assert "verification" not in said
    assert said["not_verified"], "the CPU provider does not run regions"
    code, said = run("verify", model, "--against", archive, *BACKEND[2:])
    assert code == 0, said["diagnostics"]
    code, said = run("verify", model, "--against", archive, "--executor", "openvino")
    assert code != 0, "OpenVINO itself does not run compiled regions"


def test_equal_commands_give_equal_files(tmp_path: Path) -> None:
    archive, model = converted(text_model(), tmp_path)
    files = []
    for _ in range(2):
        assert run("convert", archive, "-o", model, *BACKEND, "--blobs", "embed")[0] == 0
        files.append(model.read_bytes())
    assert files[0] == files[1]


def test_integers_that_may_be_large_are_not_compiled(tmp_path: Path) -> None:
    x = torch.full((2, 3), 100_000)
    archive, model = converted((Square(), (x,), None), tmp_path)
    # The provider would take the nodes of a model without compiled regions, and cut them itself.
    code, said = run("convert", archive, "-o", model, *BACKEND[:2], "--require-verified")
    assert code == 0, said["diagnostics"]
    assert contexts(model) == []
    reasons = said["backends"][0]["refusals"]
    assert any("64-bit integers in 32 bits" in one["reason"] for one in reasons), reasons
    plain = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert plain.run(None, {"x": x.numpy()})[0].tolist() == [3 * 10**10] * 2


def test_a_model_of_any_origin_is_partitioned_and_compiled(tmp_path: Path) -> None:
    made = text_model()
    archive, model = converted(made, tmp_path)
    assert run("convert", archive, "-o", model, "--no-verify")[0] == 0
    picture, limits = tmp_path / "regions.svg", ["--require-share", "80%", "--max-regions", "1"]
    shown = ["partition", model, "--backend", "openvino", "--picture", picture]
    code, said = run(*shown, *limits)
    assert code == 0, said["diagnostics"]
    assert 0.8 <= said["placement"]["share"] < 1.0
    assert picture.read_text().startswith("<svg")
    code, said = run(*shown, "--require-share", "100%")
    assert (code, said["diagnostics"][-1]["code"]) == (3, "OP507")
    compiled, cache = tmp_path / "compiled.onnx", tmp_path / "cache"
    written = []
    for _ in range(2):
        options = ["--backend-cache", cache, "--verify"]
        code, said = run("optimize", model, "-o", compiled, *BACKEND, *options)
        assert code == 0, said["diagnostics"]
        written.append(compiled.read_bytes())
        assert len(list(cache.iterdir())) == 1
    assert written[0] == written[1]
    for inputs in [made[1], texts(4, 19)]:
        assert difference(made[0], inputs, compiled) < 1e-4
