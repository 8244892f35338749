"""The Python package: the promises of PyTorch's exporter, and further ones of onnxport."""
