"""The pages of reports, opened in a browser."""

import os
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary, convert, library
from tests.python.pages import browser

pytestmark = pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")


def reported(*arguments, code=0):
    command = [binary(), *map(str, arguments), "--quiet"]
    environment = {**os.environ, "ORT_DYLIB_PATH": str(library())}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code, done.stderr


def tall(picture, colour, tolerance=40):
    """Return how many pixels are nearly of a colour."""
    pixels = np.asarray(Image.open(picture).convert("RGB"), dtype=np.int64)
    return int((np.abs(pixels - np.array(colour)).max(-1) < tolerance).sum())


def test_a_verification_shows_its_plots(tmp_path):
    archive = load_all()["llama_cache"].make()
    model, page = tmp_path / "model.onnx", tmp_path / "page.html"
    convert(archive, model)
    options = ("--reference", "recorded", "--taps", "--report", page)
    reported("verify", model, "--against", archive, *options)
    assert not re.search(r"(src|href)=\"(?!#)", page.read_text()), "it needs the network"
    document = browser.document(page)
    rows = len(re.findall(r'id="value-\d+"', document))
    assert rows > 100
    assert len(re.findall(r"<circle [^>]*data-at", document)) == rows
    assert len(re.findall(r'<svg class="bars"', document)) > 10
    picture = browser.picture(page, tmp_path / "page.png")
    assert tall(picture, (0x25, 0x63, 0xC9)) > 2000


@pytest.fixture
def faulty(tmp_path):
    """Two models that differ in one weight, after which an error is handed on."""
    paths = []
    for weight in (2.0, 2.5):
        nodes = [
            helper.make_node("Exp", ["x"], ["first"], name="first"),
            helper.make_node("Mul", ["first", "w"], ["second"], name="second"),
            helper.make_node("Relu", ["second"], ["y"], name="third"),
        ]
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
        weights = [numpy_helper.from_array(np.float32(weight), "w")]
        graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], weights)
        opsets = [helper.make_opsetid("", 20)]
        paths.append(tmp_path / f"{weight}.onnx")
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), paths[-1])
    return paths


def test_a_wrong_node_is_seen(faulty, tmp_path):
    page = tmp_path / "page.html"
    right, wrong = faulty
    reported("bisect", wrong, "--against", right, "--all", "--report", page, code=4)
    document = browser.document(page)
    assert "second (Mul)" in document
    assert re.search(r'<circle class="bad"', document)
    picture = browser.picture(page, tmp_path / "page.png")
    assert tall(picture, (0xC2, 0x34, 0x1D)) > 50
