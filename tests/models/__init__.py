"""Real models as exported programs: `python -m tests.models list|make|census`."""
