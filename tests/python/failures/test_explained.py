"""The examples of `onnxport explain` are the output of these commands; UPDATE=1 writes it."""

import json
import os
import re

import pytest

from tests.python.failures import page
from tests.python.failures.explained import COMMANDS, prepare

TEXTS = sorted((page.ROOT / "core/ir/src/diagnose/explain").glob("*.txt"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("safetensors")
    pytest.importorskip("torchvision")
    folder = tmp_path_factory.mktemp("explained")
    prepare(folder)
    page.run(f"python {page.PROGRAMS / 'unsupported_operator.py'}", folder)
    page.run("onnxport convert model.pt2 -o done.onnx --no-verify --quiet", folder)
    return folder


def said(code, folder):
    """Return the command of an example and the lines about its code."""
    printed = page.run(f"onnxport {COMMANDS[code]}", folder).splitlines()
    begin = next((at for at, line in enumerate(printed) if f"[{code}]" in line), None)
    assert begin is not None, printed
    shown = [printed[begin]]
    for line in printed[begin + 1 :]:
        if not line.startswith("  ") or line.lstrip().startswith("help: `onnxport explain"):
            break
        # Where it is says nothing to others.
        if not line.startswith(("  -->", "   |", "  = in ")):
            shown.append(line)
    return [f"$ onnxport {COMMANDS[code]}", *shown]


def example(text, code):
    """Return where the example of a code stands in a text."""
    return re.search(rf"^{code}\n(?:.+\n)*?example:\n((?:.+\n?)+)", text, re.MULTILINE)


@pytest.mark.parametrize("code", COMMANDS)
def test_an_example_is_what_is_printed(code, folder):
    path = next(path for path in TEXTS if example(path.read_text(), code))
    found = said(code, folder)
    if os.environ.get("UPDATE"):
        text = path.read_text()
        begin, end = example(text, code).span(1)
        path.write_text(text[:begin] + "\n".join(found) + "\n" + text[end:])
    stated = example(path.read_text(), code)[1].rstrip().splitlines()
    assert stated == found, "UPDATE=1 writes the example; build again after that"


def test_python_says_the_same_on_the_page_and_in_examples():
    shown = page.PAGE.read_text()
    lessons = json.loads(page.run("onnxport explain --json", page.ROOT))["codes"]
    for code in ("OP211", "OP212", "OP213", "OP215", "OP216"):
        (lesson,) = (one for one in lessons if one["code"] == code)
        message = next(line for line in lesson["example"] if f"[{code}]: " in line)
        assert message in shown
