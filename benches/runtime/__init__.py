"""What models take in ONNX Runtime: ours, and what others write of the same programs."""
