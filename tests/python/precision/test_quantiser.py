"""A plugin that chooses scales and codes (`examples/weights`): its gain, in both forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tests.python.onnx_runtime import ConvertError
from tests.python.precision.plugin import weights_plugin
from tests.python.precision.test_precision import (
    FEED,
    PRODUCTS,
    Mixed,
    converted,
    inlined,
    product,
    run,
    state,
)


@pytest.fixture(scope="module")
def library() -> Path:
    """Return the plugin, built."""
    return weights_plugin()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose matrices have some large weights, as trained ones do."""
    torch.manual_seed(1)
    model = Mixed().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.copy_(torch.distributions.StudentT(4.0).sample(parameter.shape))
    path = tmp_path_factory.mktemp("quantiser") / "mixed.pt2"
    torch.export.save(torch.export.export(model, (torch.from_numpy(FEED["ids"]),)), path)
    return path


def squared_error(archive: Path, restored: dict[str, np.ndarray]) -> dict[str, float]:
    original = state(archive)
    turned = {name: original[name] if name == "direct" else original[name].T for name in PRODUCTS}
    return {name: float(((restored[name] - turned[name]) ** 2).sum()) for name in PRODUCTS}


@pytest.mark.parametrize(
    ("bits", "kind", "block"),
    [(4, "symmetric", 32), (4, "asymmetric", 16), (4, "asymmetric", 128), (8, "symmetric", 32)],
)
def test_the_plugins_weights_are_closer_in_both_forms(
    archive, library, tmp_path, bits, kind, block
):
    scheme = f"int{bits}:block={block},{kind}"
    _, nearest = inlined(converted(archive, tmp_path, "--quantize", scheme, "--opset", "21"))
    chosen = ("--plugin", library, "--quantize", f"{scheme},by=binary/clip")
    model = converted(archive, tmp_path, *chosen, "--opset", "21")
    found = run(model, optimise=False)
    plain, restored = inlined(model)
    assert found.tobytes() == run(plain, optimise=False).tobytes()
    before, after = squared_error(archive, nearest), squared_error(archive, restored)
    for name in PRODUCTS:
        # Clipping pays at 4 bits; at 8 bits it must not harm.
        assert after[name] < before[name] * (0.99 if bits == 4 else 1.0000001), name
    form = ("--quantize-form", "matmulnbits", "--accuracy-level", "1")
    other = converted(archive, tmp_path, *chosen, *form)
    for name in PRODUCTS:
        assert (product(other, name) == restored[name]).all(), name


def test_half_precision_and_channels(library, tmp_path):
    torch.manual_seed(2)
    linear = nn.Linear(70, 9).half().eval()
    archive = tmp_path / "linear.pt2"
    torch.export.save(torch.export.export(linear, (torch.zeros(2, 70).half(),)), archive)
    original = state(archive)["weight"].astype(np.float32)
    errors = []
    for by in ("", ",by=binary/clip"):
        scheme = f"int4:block=channel,asymmetric{by}"
        options = ("--plugin", library, "--quantize", scheme, "--opset", "21")
        _, restored = inlined(converted(archive, tmp_path, *options))
        errors.append(((restored["weight"] - original.T) ** 2).sum())
    assert errors[1] < errors[0]


def test_what_is_not_there_is_said_with_what_is(archive, library, tmp_path):
    for by, message in [
        ("binary/gptq", "OP662.*no quantiser `gptq`(.|\n)*it has clip"),
        ("binry/clip", "OP662.*no plugin `binry`(.|\n)*there are binary"),
        ("clip", '"clip" is not PLUGIN/NAME'),
    ]:
        options = ("--plugin", library, "--quantize", f"int4:by={by}", "--opset", "21")
        with pytest.raises(ConvertError, match=message):
            converted(archive, tmp_path, *options)
