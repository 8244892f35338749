"""Generated ONNX graphs: the optimizer keeps their results at every level.

`python -m tests.python.generated --graphs --count 1000` tries some seeds and shrinks failures.
"""
