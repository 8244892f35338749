"""Times of models in ONNX Runtime: ours, and other tools' of the same programs."""
