"""A terminal as a picture: text with ANSI colours as SVG, in light and dark."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

COLUMNS = 104
WIDTH, HEIGHT, EDGE = 7.83, 19, 16
CODE = re.compile(r"\x1b\[([\d;]*)m")
CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}

STYLE = """\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
text{white-space:pre;fill:#1f2328}
.f{fill:#f6f8fa;stroke:#d0d7de}.p{fill:#6639ba;font-weight:600}.b{font-weight:700}.d{fill:#656d76}
.r{fill:#cf222e}.g{fill:#1a7f37}.y{fill:#9a6700}.c{fill:#0969da}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.f{fill:#161b22;stroke:#30363d}.p{fill:#d2a8ff}
.d{fill:#8b949e}.r{fill:#ff7b72}.g{fill:#3fb950}.y{fill:#d29922}.c{fill:#58a6ff}}
@media(prefers-reduced-motion:no-preference){.s{animation:s .3s both}}
@keyframes s{from{opacity:0}to{opacity:1}}"""


@dataclass(frozen=True)
class Span:
    """Text of one style: the names of its classes."""

    text: str
    style: str = ""


def spans(line: str) -> list[Span]:
    """Return the parts of a line with ANSI codes; an unknown code is an error."""
    found, active, start = [], [], 0
    for code in [*CODE.finditer(line), None]:
        text = line[start : code.start() if code else len(line)]
        if text:
            found.append(Span(text, " ".join(active)))
        if code:
            start = code.end()
            for number in code[1].split(";"):
                if number in ("", "0"):
                    active = []
                elif number not in CLASSES:
                    raise ValueError(f"an unknown code: {code[0]!r}")
                elif CLASSES[number] not in active:
                    active.append(CLASSES[number])
    return found


def rows(parts: list[Span]) -> list[list[Span]]:
    """Break a line where a terminal does."""
    found: list[list[Span]] = [[]]
    room = COLUMNS
    for part in parts:
        text = part.text
        while len(text) > room:
            found[-1].append(Span(text[:room], part.style))
            text, room = text[room:], COLUMNS
            found.append([])
        found[-1].append(Span(text, part.style))
        room -= len(text)
    return found


def picture(session: list[tuple[str, str]], title: str) -> str:
    """Return the picture of commands and what they print.

    The first command and its output are there from the start, the others appear in turn.
    """
    groups, row, delay = [], 0, -1.0
    for command, said in session:
        lines = [[Span("$ ", "p"), Span(command, "b")], *map(spans, said.rstrip("\n").split("\n"))]
        texts = []
        for index, line in enumerate(lines):
            for number, part in enumerate(rows(line)):
                row += 1
                # Rows that continue a line are marked, so that `lines` finds the line again.
                texts.append(text(part, row, continues=number > 0))
            if index == 0:
                groups.append(group(texts, delay))
                texts, delay = [], delay + 0.8 if delay > 0 else delay
        groups.append(group(texts, delay))
        delay = max(delay, 0.0) + 1.8
        row += 1
    width, height = round(COLUMNS * WIDTH + 2 * EDGE), row * HEIGHT + EDGE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{html.escape(title)}">\n<style>{STYLE}</style>\n'
        f'<rect class="f" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
    )
    return head + "".join(groups) + "</svg>\n"


def group(texts: list[str], delay: float) -> str:
    """Return rows that appear together after `delay` seconds, or are there from the start."""
    style = f' class="s" style="animation-delay:{delay:.1f}s"' if delay > 0 else ""
    return f"<g{style}>\n" + "".join(texts) + "</g>\n"


def text(parts: list[Span], row: int, *, continues: bool) -> str:
    """Return a row."""
    shown = "".join(
        f'<tspan class="{part.style}">{html.escape(part.text, quote=False)}</tspan>'
        if part.style
        else html.escape(part.text, quote=False)
        for part in parts
    )
    mark = ' data-continues=""' if continues else ""
    return f'<text x="{EDGE}" y="{row * HEIGHT + 8}" xml:space="preserve"{mark}>{shown}</text>\n'


def lines(svg: str) -> list[str]:
    """Return the lines of a picture, with the classes of their parts, as one text each."""
    found: list[str] = []
    for mark, row in re.findall(r"<text [^>]*preserve\"( data-continues=\"\")?>(.*)</text>", svg):
        if mark:
            found[-1] += row
        else:
            found.append(row)
    # A style that goes on in the next row is one part.
    return [re.sub(r'</tspan><tspan class="([^"]*)">', r"<\1>", line) for line in found]
