"""Operators that are lowered in Python, and rules and passes.

`functions` are those of a conversion. `registry` knows the lowerings, `rules` the rules and passes,
whose patterns `pattern` builds from functions. `binding` binds the arguments of a call to
functions, `function` and `evaluator` accept functions written with onnxscript.
"""
