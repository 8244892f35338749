"""The page of failures has the output of its programs; UPDATE=1 writes it."""

import os

import pytest

from tests.python.failures import page
from tests.python.failures.cases import FAILURES

pytest.importorskip("onnxport._native", reason="run `cargo xtask python`")


def written():
    return page.sections(page.PAGE.read_text()) if page.PAGE.exists() else {}


def replaced(title, text):
    """Put a section into the page."""
    parts = {**written(), "": f"{page.HEAD}\n", title: text}
    page.PAGE.write_text(
        "\n".join(parts[one].rstrip() + "\n" for one in ["", *page.TITLES] if one in parts)
    )


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.program)
def test_the_page_shows_what_is_printed(failure, tmp_path):
    for name in failure.needs:
        pytest.importorskip(name)
    said = page.section(failure, tmp_path)
    if os.environ.get("UPDATE"):
        replaced(failure.title, said)
    assert written()[failure.title].rstrip() == said.rstrip(), "UPDATE=1 writes the page"
    before, _, after = said.partition("The change:")
    if failure.code is None:
        assert "error[" not in said
        assert "warning[" not in said
    else:
        assert f"[{failure.code}]" in before
        assert "help: " in before
        assert "error[" not in after
        assert "warning[" not in after


def test_the_page_has_every_failure_in_order():
    assert list(written()) == ["", *page.TITLES]
    assert written()[""].rstrip() == page.HEAD.rstrip()
    names = {path.stem for path in page.PROGRAMS.glob("*.py")}
    assert names == {failure.program for failure in FAILURES}
    mended = {path.stem for path in (page.PROGRAMS / "mended").glob("*.py")}
    assert mended == {failure.program for failure in FAILURES if failure.after}
