"""Models that other programs wrote: read, checked and written again by onnxport."""
