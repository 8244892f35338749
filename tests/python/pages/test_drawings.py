"""Pictures of graphs: their contents, that nothing overlaps, and that a page draws the same."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET

import onnx
import pytest
import torch
from onnx import TensorProto, helper

from tests.python.models.registry import load_all
from tests.python.onnx_runtime import binary
from tests.python.pages import browser
from tests.python.pages.test_reports import Stack

SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments, code=0):
    command = [binary(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def exported(model, *inputs, at):
    torch.export.save(torch.export.export(model.eval(), inputs), at)
    return at


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """Return a program and its model."""
    folder = tmp_path_factory.mktemp("drawings")
    archive, model = folder / "stack.pt2", folder / "stack.onnx"
    exported(Stack(3), torch.randn(3, 8), at=archive)
    run("convert", archive, "-o", model, "--metadata", "full", "--no-verify", "-q")
    return archive, model


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """Return a model of others: a loop around a branch, a function, names with slashes."""
    folder = tmp_path_factory.mktemp("nested")

    def value(name, kind=TensorProto.FLOAT, shape=(2,)):
        return helper.make_tensor_value_info(name, kind, shape)

    def branch(name, operator):
        node = helper.make_node(operator, ["h"], [f"{name}_out"], name=f"/{name}/{operator}")
        return helper.make_graph([node], name, [], [value(f"{name}_out")])

    body = helper.make_graph(
        [
            helper.make_node("Twice", ["state"], ["h"], domain="mine"),
            helper.make_node(
                "If",
                ["going"],
                ["next"],
                then_branch=branch("then", "Exp"),
                else_branch=branch("else", "Neg"),
            ),
            helper.make_node("Identity", ["going"], ["on"]),
        ],
        "body",
        [value("i", TensorProto.INT64, ()), value("going", TensorProto.BOOL, ()), value("state")],
        [value("on", TensorProto.BOOL, ()), value("next")],
    )
    function = helper.make_function(
        "mine",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="/block/block.0/act/Relu"),
        helper.make_node("Abs", ["r"], ["s"], name="/block/block.0/size/Abs"),
        helper.make_node("Loop", ["n", "", "s"], ["y"], body=body),
    ]
    inputs = [value("x"), value("n", TensorProto.INT64, ())]
    graph = helper.make_graph(nodes, "g", inputs, [value("y")])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=9)
    onnx.save(model, folder / "nested.onnx")
    return folder / "nested.onnx"


def box(rect):
    return tuple(float(rect.get(key)) for key in ("x", "y", "width", "height"))


def boxes(item):
    """Return the boxes of an item and its texts."""
    rects = [rect for rect in item.findall(f"{SVG}rect") if rect.get("class") in ("box", "frame")]
    assert len(rects) == 1
    return box(rects[0])


def inside(inner, outer):
    return (
        inner[0] >= outer[0]
        and inner[1] >= outer[1]
        and inner[0] + inner[2] <= outer[0] + outer[2]
        and inner[1] + inner[3] <= outer[1] + outer[3]
    )


def looked_at(picture):
    """Return the root of a picture in which nothing overlaps and all text stays in its box."""
    root = ET.parse(picture).getroot()
    whole = (0, 0, float(root.get("width")), float(root.get("height")))

    def visit(element, around):
        items = [child for child in element if child.tag == f"{SVG}g"]
        places = [boxes(item) for item in items]
        for at, place in enumerate(places):
            assert inside(place, around)
            for other in places[:at]:
                apart = (
                    place[0] + place[2] < other[0]
                    or other[0] + other[2] < place[0]
                    or place[1] + place[3] < other[1]
                    or other[1] + other[3] < place[1]
                )
                assert apart, (place, other)
        for item, place in zip(items, places, strict=True):
            pills = [box(r) for r in item.findall(f"{SVG}rect") if r.get("class") == "pill"]
            texts = item.findall(f"{SVG}text")
            assert texts
            for text in texts:
                x, y = float(text.get("x")), float(text.get("y"))
                line = (x, y - 8, float(text.get("textLength")), 10)
                assert any(inside(line, home) for home in [place, *pills]), text.text
            visit(item, place)

    visit(root, whole)
    return root


def titles(root):
    found = (text for text in root.iter(f"{SVG}text") if text.get("class") in ("title", "head"))
    return [text.text for text in found]


@pytest.mark.parametrize("kind", [0, 1])
def test_modules_are_boxes_that_open(stack, tmp_path, kind):
    picture = tmp_path / "p.svg"
    run("draw", stack[kind], "-o", picture, "--depth", 1)
    root = looked_at(picture)
    assert [title for title in titles(root) if title.startswith("blocks")] == [
        "blocks.0",
        "blocks.1",
        "blocks.2",
    ]
    text = picture.read_text()
    assert "280 parameters · 4 nodes" in text
    assert "f32[3, 8] → f32[3, 8]" in text

    run("draw", stack[kind], "-o", picture, "--depth", 1, "--module", "blocks.1")
    root = looked_at(picture)
    assert "blocks.1 · Block" in titles(root)
    assert "blocks.2" in titles(root)
    names = {"gemm", "linear", "relu", "add"}
    assert sum(title.lower() in names for title in titles(root)) == 4
    weights = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "weight"]
    expected = {"bias f32[16]", "bias f32[8]", "weight f32[16, 8]", "weight f32[8, 16]"}
    assert (set(weights), len(weights)) == (expected, 4)
    tips = [title.text for title in root.iter(f"{SVG}title")]
    assert any(re.search(r"test_reports\.py:\d+ +return x \+ self\.second", tip) for tip in tips)

    run("draw", stack[kind], "-o", picture, "--only", "blocks.2.first")
    root = looked_at(picture)
    assert len(list(root.iter(f"{SVG}g"))) == 3


def test_no_such_module(stack, tmp_path):
    said = run("draw", stack[1], "-o", tmp_path / "p.svg", "--module", "block.1", code=2).stderr
    assert "no module matches `block.1`" in said
    assert "blocks.1" in said
    run("draw", stack[1], "-o", tmp_path / "p.svg", "--only", "blocks", code=2)
    run("draw", stack[1], "-o", tmp_path / "p.png", code=2)
    assert not list(tmp_path.iterdir())


def test_graphs_in_graphs_and_functions(nested, tmp_path):
    picture = tmp_path / "p.svg"
    said = json.loads(run("draw", nested, "-o", picture, "--depth", 9, "--json").stdout)
    assert said["closed"] == 0
    root = looked_at(picture)
    found = titles(root)
    assert {"Loop", "body", "Twice · function", "If", "then", "else"} <= set(found)
    assert {"Exp", "Neg", "Add", "Relu"} <= set(found)
    # Names with slashes are modules.
    assert {"block", "0"} <= set(found)
    run("draw", nested, "-o", picture, "--depth", 1)
    assert "Exp" not in titles(looked_at(picture))


def test_rules_and_pairs(stack, tmp_path):
    run("draw", "--rule", "layer_norm", "-o", tmp_path / "rule.svg")
    found = titles(looked_at(tmp_path / "rule.svg"))
    assert {"before", "after", "LayerNormalization", "ReduceMean"} <= set(found)
    run("draw", "--rule", "no_such_rule", "-o", tmp_path / "none.svg", code=2)

    dumped = tmp_path / "matches"
    archive = load_all()["mlp"].make()
    options = ("--optimize", "2", "--no-verify", "--dump-matches", dumped, "-q")
    run("convert", archive, "-o", tmp_path / "m.onnx", *options)
    sides = sorted(dumped.glob("0001-*")) or [stack[1], stack[1]]
    run("draw", sides[1], sides[0], "-o", tmp_path / "pair.svg")
    assert {side.name for side in sides[:2]} <= set(titles(looked_at(tmp_path / "pair.svg")))


def test_pictures_are_the_same_each_time(stack, tmp_path):
    for name in ("a", "b"):
        options = ("-o", tmp_path / f"{name}.svg", "-o", tmp_path / f"{name}.html")
        run("draw", stack[1], *options)
    for form in ("svg", "html"):
        assert (tmp_path / f"a.{form}").read_bytes() == (tmp_path / f"b.{form}").read_bytes()


def shapes(text):
    return re.findall(r"<(rect|path|text) ([^>]*?)/?>\s*([^<]*)", text)


def drawn(document):
    """Return the drawing of a page's script."""
    text = document.partition('<svg class="drawing"')[2].partition("</defs>")[2]
    return shapes(text.partition("</svg>")[0])


def written(picture):
    """Return the elements of a picture behind its background and title."""
    text = picture.read_text().partition('class="ground"')[2].partition("/>")[2]
    return [shape for shape in shapes(text) if 'class="head" x="16" y="20"' not in shape[1]]


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
@pytest.mark.parametrize("depth", [1, 2, 9])
@pytest.mark.parametrize("model", ["stack", "nested", "llama"])
def test_a_page_draws_what_the_picture_shows(stack, nested, tmp_path, model, depth):
    if model == "llama":
        source = load_all()["llama"].make()
    else:
        source = {"stack": stack[1], "nested": nested}[model]
    page, picture = tmp_path / "p.html", tmp_path / "p.svg"
    run("draw", source, "-o", page, "-o", picture, "--depth", depth)
    text = page.read_text()
    assert not re.search(r"(src|href)=\"(?!#)", text), "it needs the network"
    assert drawn(browser.document(page)) == written(picture)

    # Opening all by a click is opening all by an option.
    click = "<script>document.getElementById('all').click()</script>"
    page.write_text(text.replace("</body>", f"{click}</body>"))
    run("draw", source, "-o", picture, "--depth", 99)
    assert drawn(browser.document(page)) == written(picture)


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
def test_a_picture_is_light_or_dark(stack, tmp_path):
    picture = tmp_path / "p.svg"
    run("draw", stack[1], "-o", picture)
    light = browser.picture(picture, tmp_path / "light.png", (300, 400)).read_bytes()
    dark = tmp_path / "dark.png"
    browser.opened(
        picture,
        f"--screenshot={dark}",
        "--window-size=300,400",
        "--blink-settings=preferredColorScheme=0",
    )
    assert dark.read_bytes() != light
