"""The tests; `README.md` is the index."""
