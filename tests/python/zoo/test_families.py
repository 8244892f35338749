"""The page of families lists those of the installed transformers."""

from pathlib import Path

from tests.python import known_failures
from tests.python.zoo import families

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_generated():
    found = (DOCS / "families.md").read_text(encoding="utf-8")
    assert found == families.page(), "python -m tests.python.zoo.families > docs/families.md"


def test_reasons_are_those_of_families():
    known = known_failures.load(Path(families.__file__).with_name("families.toml"))
    assert not known_failures.strays(known, set(families.FAMILIES))


def test_most_families_are_equal():
    equal = [family for family, reason in families.results().items() if not reason]
    assert len(equal) >= 130
