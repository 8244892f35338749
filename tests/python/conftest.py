"""The order of the tests."""

from collections import Counter

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files that take longest: one that started last would keep one worker busy alone."""
    tests = Counter(item.path for item in items)
    items.sort(
        key=lambda item: (item.get_closest_marker("minutes") is None, -tests[item.path], item.path)
    )
