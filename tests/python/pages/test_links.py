"""The pages of the repository: their links hold, and the site has every page of `docs`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[3]
SUMMARY = ROOT / "docs/SUMMARY.md"
SKIPPED = {"target", "node_modules"}
# Templates, whose links are those of a project that is made from them.
TEMPLATES = ROOT / "plugin-sdk/template"
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
SOURCE = re.compile(r"<(?:img|source|a)\b[^>]*?\b(?:src|srcset|href)=\"([^\"]+)\"")


def found(folder: Path) -> list[Path]:
    """Return the Markdown files of the repository."""
    pages = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in SKIPPED and not path.name.startswith("."):
                pages += found(path)
        elif path.suffix == ".md" and TEMPLATES not in path.parents:
            pages.append(path)
    return pages


PAGES = found(ROOT)


def without_code(text: str, *, inline: bool = True) -> str:
    """Blank out fenced blocks, and code in lines."""
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text) if inline else text


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of the headings of a page, as GitHub and mdBook name them."""
    names: list[str] = []
    for line in without_code(page.read_text(), inline=False).splitlines():
        heading = re.match(r"#{1,6} +(.*?) *#*$", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
            count = sum(name == slug for name in names)
            names.append(slug)
            if count:
                names.append(f"{slug}-{count}")
    named = re.findall(r"<a (?:id|name)=\"([^\"]+)\"", page.read_text())
    return frozenset([*names, *named])


def links(page: Path) -> list[str]:
    """Return the targets of the links and pictures of a page."""
    text = without_code(page.read_text())
    return [*LINK.findall(text), *SOURCE.findall(text)]


def broken(page: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    wrong = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        holds = target.exists() and target.is_relative_to(ROOT)
        if anchor and holds:
            holds = target.suffix == ".md" and anchor in anchors(target)
        if not holds:
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_the_site_has_every_page_once() -> None:
    listed = [(SUMMARY.parent / link).resolve() for link in links(SUMMARY)]
    assert len(listed) == len(set(listed))
    docs = {path for path in PAGES if path.is_relative_to(SUMMARY.parent)} - {SUMMARY}
    assert docs - set(listed) == set()
    assert [path for path in listed if not path.exists()] == []


def test_a_broken_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# A `b/1` title\n\n## Twice\n\n## Twice\n")
    good = (
        "[a](other.md#a-b1-title) [b](other.md#twice-1) [c](#here) `[d](none.md)` [e](https://x/)"
    )
    page.write_text(f"# Here\n{good}\n```\n[f](none.md)\n# Not here\n```\n")
    assert broken(page) == []
    page.write_text('[a](none.md) [b](other.md#none) [c](#not-here) <img src="none.svg">\n')
    assert broken(page) == ["none.md", "other.md#none", "#not-here", "none.svg"]
