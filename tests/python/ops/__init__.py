"""One operator at a time: lines of hand-written cases, and PyTorch's own OpInfo samples."""
