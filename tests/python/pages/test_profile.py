"""Profiles of real programs in ONNX Runtime, and their pages."""

import json
import os
import re
import subprocess

import numpy as np
import pytest
import torch
from PIL import Image

from tests.python.onnx_runtime import binary, library
from tests.python.pages import browser

needs_browser = pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")


def run(*arguments):
    command = [binary(), *map(str, arguments), "--json"]
    environment = {**os.environ, "ORT_DYLIB_PATH": str(library())}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout)


def converted(module, arguments, folder, name, *options):
    """Convert a module; return the path of the model."""
    archive, model = folder / f"{name}.pt2", folder / f"{name}.onnx"
    torch.export.save(torch.export.export(module.eval(), arguments), archive)
    run("convert", archive, "-o", model, "--no-verify", "--metadata", "full", *options)
    return model


class Net(torch.nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3)
        self.act = torch.nn.ReLU()
        self.second = torch.nn.Sequential(torch.nn.Linear(14, wide), torch.nn.Linear(wide, 4))

    def forward(self, x):
        return self.second(self.act(self.first(x)))


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    """Two models that differ in how much one module has to do."""
    folder = tmp_path_factory.mktemp("profiles")
    x = torch.randn(2, 3, 16, 16)
    return [converted(Net(wide), (x,), folder, f"net{wide}") for wide in (4, 4096)]


def test_fused_nodes_count_for_their_modules(nets):
    said = run("profile", nets[0], "--runs", "5", "--threads", "1")
    profile = said["profile"]
    assert profile["modules_from"] == "metadata"
    assert profile["attributed"]["none"] == 0
    names = {row["key"] for row in profile["modules"]}
    assert {"", "first", "second", "second.0", "second.1"} <= names
    # The activation is part of the convolution, whose time it does not get.
    conv = next(node for node in profile["nodes"] if node["operator"] in ("Conv", "FusedConv"))
    assert (conv["module"], conv["how"] in ("derived", "value")) == ("first", True)
    assert conv["class"].endswith("Conv2d")
    assert all(node["line"] for node in profile["nodes"])
    whole = next(row for row in profile["modules"] if row["key"] == "")
    sums = [sum(node["runs"][at] for node in profile["nodes"]) for at in range(5)]
    assert whole["times"]["median"] == pytest.approx(float(np.median(sums)))
    assert whole["share"] == pytest.approx(1)


def test_nodes_of_bodies_are_told_apart(tmp_path):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: (x @ x).sin(), lambda x: x.cos() + 1, (x,))

    model = converted(Branches(), (torch.ones(64, 64),), tmp_path, "branches")
    profile = run("profile", model, "--runs", "3")["profile"]
    operators = [node["operator"] for node in profile["nodes"]]
    branch = next(node for node in profile["nodes"] if node["operator"] == "If")
    # ONNX Runtime draws no values that are negative on the whole for a seed of its own: one is run.
    assert {"MatMul", "Sin"} <= set(operators) or {"Cos", "Add"} <= set(operators)
    inner = [
        node for node in profile["nodes"] if node["operator"] in ("MatMul", "Sin", "Cos", "Add")
    ]
    assert all(node["node"] for node in inner)
    total = profile["total"]["median"]
    assert branch["times"]["median"] + sum(n["times"]["median"] for n in inner) <= 2 * total


@needs_browser
def test_a_page_shows_modules_as_flames(nets, tmp_path):
    page = tmp_path / "page.html"
    said = run("profile", nets[1], "--runs", "5", "--report", page)
    text = page.read_text()
    assert not re.search(r"(src|href)=\"(?!#)", text), "it needs the network"
    document = browser.document(page)
    flames = re.findall(r'class="flame( node)?"[^>]*data-name="([^"]*)"', document)
    modules = {name for is_node, name in flames if not is_node}
    assert {"", "second", "second.0", "second.1"} <= modules
    assert len([name for is_node, name in flames if is_node]) >= 2
    widths = {
        name: float(width)
        for name, width in re.findall(r'data-name="([^"]*)"[^>]*width: ([0-9.]+)%', document)
    }
    assert widths[""] == 100
    nodes = {node["name"]: node["times"]["median"] for node in said["profile"]["nodes"]}
    slowest = max(nodes, key=lambda name: nodes[name])
    assert widths[slowest] == pytest.approx(100 * nodes[slowest] / sum(nodes.values()), rel=1e-3)
    picture = browser.picture(page, tmp_path / "page.png", (1200, 1000))
    colours = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 20


@needs_browser
def test_what_is_slower_is_seen(nets, tmp_path):
    page = tmp_path / "page.html"
    said = run("profile", nets[0], "--against", nets[1], "--runs", "15", "--report", page)
    changes = {row["key"]: row["verdict"] for row in said["changes"]["modules"]}
    assert changes["second.0"] == "slower", said["changes"]
    document = browser.document(page)
    assert re.search(r'class="flame slower"[^>]*data-name="second.0"', document)
    assert "Changes by module" in document
    data = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert json.loads(data[1])["other"] > json.loads(data[1])["time"]
