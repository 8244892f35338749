"""Operators that are lowered in Python, and rules and passes.

`functions` are those of a conversion. `registry` knows the lowerings, `rules` the rules and passes,
whose patterns `pattern` makes of functions. `binding` gives functions the arguments of a call,
`function` and `evaluator` take what was written with onnxscript.
"""
