"""Real models as exported programs: `python -m tests.python.models list|make|census`."""
