"""The tutorial and the guides, as a reader follows them.

Every file is made, every command is run, and its output is compared with the page.

`UPDATE=1` writes into the pages what the commands print. `ONNXPORT_GUIDES=all` also follows the
guide of language models, which imports transformers several times.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.python.guide.page import blocks, changed, follow
from tests.python.onnx_runtime import ROOT

pytestmark = pytest.mark.minutes

GUIDE = ROOT / "docs" / "plugin-guide.md"
FOLLOWED = ["tutorial.md", *(f"guides/{path.name}" for path in (ROOT / "docs/guides").glob("*.md"))]
SLOW = {"guides/language-models.md"}
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the pages are for a shell")


@ON_LINUX
@pytest.mark.parametrize("page", sorted(FOLLOWED))
def test_a_page_holds(page: str, tmp_path: Path) -> None:
    if page in SLOW and os.environ.get("ONNXPORT_GUIDES") != "all":
        pytest.skip("it takes 15 seconds: ONNXPORT_GUIDES=all")
    (tmp_path / "onnxport").symlink_to(ROOT)
    follow(ROOT / "docs" / page, tmp_path)


@ON_LINUX
def test_the_plugin_guide_holds(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    (tmp_path / "onnxport").symlink_to(ROOT)
    follow(GUIDE, tmp_path)


def test_the_authors_lines_are_counted() -> None:
    text = GUIDE.read_text()
    own = [line for block in blocks(text) if block.file for line in block.lines]
    count = sum(1 for line in own if line.strip())
    assert f"{count} lines of your code" in text
    assert count < 30


def test_a_change_needs_one_place() -> None:
    assert changed("a\nb\nc\n", [" a", "-b", "+d"]) == "a\nd\nc\n"
    with pytest.raises(AssertionError, match="2 places"):
        changed("b\nb\n", ["-b", "+d"])
