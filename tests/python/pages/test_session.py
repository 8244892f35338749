"""The session of the README: its picture shows what the commands print."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.python.guide.page import plain
from tests.python.pages import browser
from tests.python.pages.session import PICTURE, record
from tests.python.pages.terminal import COLUMNS, Span, lines, picture, rows, spans


def compared(svg: str) -> list[str]:
    """Return the lines of a picture without times and random sizes."""
    return [re.sub(r"\w+\[\d+, 1, 28, 28\]", "image", plain(line)) for line in lines(svg)]


@pytest.mark.skipif(sys.platform != "linux", reason="the session is for a shell")
def test_the_picture_is_current(tmp_path: Path) -> None:
    fresh = record(tmp_path)
    if "UPDATE" in os.environ:
        PICTURE.write_text(fresh)
    held = PICTURE.read_text()
    assert compared(held) == compared(fresh)
    assert len(held) < 60_000


def test_colours_become_classes() -> None:
    assert spans("\x1b[1;31merror\x1b[0m: a\x1b[2m b") == [
        Span("error", "b r"),
        Span(": a"),
        Span(" b", "d"),
    ]
    with pytest.raises(ValueError, match="unknown code"):
        spans("\x1b[7minverse")


def test_long_lines_are_broken_and_found_again() -> None:
    long = "x" * (COLUMNS + 4)
    assert [len(row[0].text) for row in rows([Span(long)])] == [COLUMNS, 4]
    assert lines(picture([("do", f"{long}\n<b>")], "A title"))[1:] == [long, "&lt;b&gt;"]


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
def test_it_is_drawn_within_its_frame(tmp_path: Path) -> None:
    still = tmp_path / "session.svg"
    still.write_text(PICTURE.read_text().replace("animation:s .3s both", ""))
    shot = browser.picture(still, tmp_path / "session.png", (900, 900))
    shown = np.asarray(Image.open(shot).convert("L"))[:500]
    # Dark text on a light ground, and none right of the frame.
    assert shown[:, :846].min() < 80
    assert shown[:, 850:].min() > 200
