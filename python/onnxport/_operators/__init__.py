"""Operators that are lowered in Python.

`registry` knows the functions, `binding` gives them the arguments of a call, `function` and
`evaluator` take what was written with onnxscript.
"""
