"""The measured facts of the README are those of the pages that measurements write."""

import os

import pytest

from tests.python.pages.figures import README, found, placed


def test_the_table_is_current() -> None:
    text = README.read_text()
    if "UPDATE" in os.environ:
        README.write_text(placed(text))
    assert README.read_text() == placed(text)


def test_a_fact_that_is_gone_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 places"):
        found("docs/operators.md", "measured on the moon")
