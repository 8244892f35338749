"""PyTorch's own operator and module samples: `python -m tests.python.conformance --help`."""
