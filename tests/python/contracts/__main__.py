"""Writes the page of counts."""

from tests.python.contracts import counts

counts.README.write_text(counts.text())
