"""Pages of a model of 3000 nodes, which is exported once: they are small, and open at once."""

import json
import time

import onnx
import pytest
import torch

from tests.python.pages import browser
from tests.python.pages.test_drawings import SVG, exported, looked_at, run
from tests.python.pages.test_reports import Stack


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return a program of 3000 nodes."""
    path = tmp_path_factory.mktemp("large") / "m.pt2"
    return exported(Stack(750), torch.randn(3, 8), at=path)


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
def test_they_are_few_boxes_and_a_small_page(archive, tmp_path):
    model = tmp_path / "m.onnx"
    run("convert", archive, "-o", model, "--metadata", "full", "--no-verify", "-q")
    page, picture = tmp_path / "p.html", tmp_path / "p.svg"
    said = json.loads(run("draw", model, "--depth", 1, "-o", page, "-o", picture, "--json").stdout)
    assert said["nodes"] >= 3000
    assert picture.stat().st_size < 20_000
    assert page.stat().st_size < 3_000_000
    assert len(list(looked_at(picture).iter(f"{SVG}g"))) < 60
    run("draw", model, "--depth", 9, "-o", page)
    assert browser.document(page).count('class="item operator') >= 3000


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
def test_their_report_is_a_small_page(archive, tmp_path):
    model, page = tmp_path / "m.onnx", tmp_path / "m.html"
    options = ("--metadata", "full", "--no-verify", "--report", page)
    run("convert", archive, "-o", model, *options)
    assert len(onnx.load(model).graph.node) >= 3000
    assert page.stat().st_size < 3_000_000
    assert 'class="node here"' in browser.document(page)
    # Opening it costs little more than opening nothing: the best of a few, one after the other.
    empty = tmp_path / "empty.html"
    empty.write_text("<!doctype html><title>nothing</title>")
    times = {empty: [], page: []}
    for _ in range(4):
        for opened, found in times.items():
            before = time.perf_counter()
            browser.document(opened)
            found.append(time.perf_counter() - before)
    assert min(times[page]) < 4 * min(times[empty])
