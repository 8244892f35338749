"""The Python package: what PyTorch's exporter promises, and what onnxport promises beyond it."""
